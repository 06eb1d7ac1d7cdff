// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/toolkit"
)

// A long tool result left the context; the agent finds a line of it again.
func ExampleWorkingMemory() {
	ctx := backends.WithScope(context.Background(), backends.Scope{UserID: "ann", SessionID: "s1"})
	db, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	archives, err := archive.New(&archive.Config{Sessions: db})
	if err != nil {
		panic(err)
	}
	scope := func(ctx context.Context) (backends.Scope, error) {
		s, _ := backends.ScopeFrom(ctx)
		return s, nil
	}
	tools, err := toolkit.WorkingMemory(ctx, &toolkit.WorkingConfig{Archives: archives, Scope: scope})
	if err != nil {
		panic(err)
	}

	s, _ := scope(ctx)
	x, err := archives.Of(s)
	if err != nil {
		panic(err)
	}
	id, err := x.Put(ctx, []*schema.Message{schema.ToolMessage("starting\nport 8080 is taken\nexit 1", "call-1")})
	if err != nil {
		panic(err)
	}
	fmt.Println(id)
	for i, arguments := range []string{`{"pattern":"port"}`, `{"archive":"` + id + `","line":2}`} {
		out, err := tools[i].(tool.InvokableTool).InvokableRun(ctx, arguments)
		fmt.Println(out, err)
	}
	// Output:
	// a-or7svtgufokkj7t6wskt
	// Matches: 1. Messages searched: 1.
	// [a-or7svtgufokkj7t6wskt]
	// 2: port 8080 is taken
	// To read around a match, call read_working_memory with the id in brackets as archive and the number before the match as line, or for a long line its byte as byte. <nil>
	// [a-or7svtgufokkj7t6wskt: lines 2 to 3 of 3, bytes 9 to 33 of 34]
	// port 8080 is taken
	// exit 1
	// [end of a-or7svtgufokkj7t6wskt] <nil>
}
