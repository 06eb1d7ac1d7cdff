// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/flows"
)

// What a client of ReMe sends to /summary_task_memory and /retrieve_task_memory.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	chatModel := testkit.New(testkit.Learn) // any Eino chat model
	backend, err := reme.New(ctx, &reme.Config{Store: db, Model: chatModel})
	if err != nil {
		panic(err)
	}
	f, err := flows.New(&flows.Config{Backend: backend, Model: chatModel})
	if err != nil {
		panic(err)
	}
	open := func(s backends.Scope, _ access.Mode) (backends.Scope, error) {
		if s.Workspace != "shop" {
			return s, backends.ErrDenied
		}
		return s.Normalize()
	}

	_, err = f.Call(ctx, "summary_task_memory", open, "", []byte(`{"workspace_id": "shop", "trajectories": [{"score": 1.0, "messages": [
		{"role": "user", "content": "Refund order 7."},
		{"role": "assistant", "content": "LESSON refunding an order | check the payment first"}]}]}`))
	if err != nil {
		panic(err)
	}
	r, err := f.Call(ctx, "retrieve_task_memory", open, "", []byte(`{"workspace_id": "shop", "query": "a customer wants to refund an order", "top_k": 1}`))
	if err != nil {
		panic(err)
	}
	fmt.Print(r.Answer)
	_, err = f.Call(ctx, "retrieve_task_memory", open, "", []byte(`{"workspace_id": "other", "query": "refund"}`))
	fmt.Println(err)
	fmt.Println(backend.Close(ctx), db.Close())
	// Output:
	// Memory 1 :
	//  When to use: refunding an order
	//  Content: check the payment first
	// retrieve_task_memory: denied
	// <nil> <nil>
}
