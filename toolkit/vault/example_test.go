// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package vault_test

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/toolkit/vault"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Ann's door code is read by an agent after she agreed.
func Example() {
	ctx, ann := context.Background(), backends.Scope{UserID: "ann"}
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	check(err)
	defer db.Close()
	key := make([]byte, vault.KeySize) // from your own store of keys, and the same at each start
	_, _ = rand.Read(key)
	v, err := vault.New(&vault.Config{Store: db, Keys: [][]byte{key}})
	check(err)
	check(v.Put(ctx, ann, "door code", []byte("4711")))

	tools, err := v.Tools(&backends.ToolSetup{
		Scope: func(context.Context) (backends.Scope, error) { return ann, nil }, // with middleware: mem.ResolveScope
		Confirm: func(_ context.Context, c backends.Change) (bool, error) {
			fmt.Println("May the assistant read your", c.Read+"?")
			return true, nil
		},
	})
	check(err)
	result, err := tools[0].(tool.InvokableTool).InvokableRun(ctx, `{"name":"door code"}`)
	check(err)
	fmt.Println(result)
	// Output:
	// May the assistant read your door code?
	// 4711
}
