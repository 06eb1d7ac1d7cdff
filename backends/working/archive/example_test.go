// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
)

// What left a context is searched, read around a match, and put back.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	archives, err := archive.New(&archive.Config{Sessions: db})
	if err != nil {
		panic(err)
	}
	x, err := archives.Of(backends.Scope{UserID: "ann", SessionID: "s1"})
	if err != nil {
		panic(err)
	}

	id, err := x.Put(ctx, []*schema.Message{
		schema.AssistantMessage("I'll start it.", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "run", Arguments: `{"cmd":"serve"}`}}}),
		schema.ToolMessage("starting\nport 8080 is taken\nexit 1", "c1", schema.WithToolName("run")),
	})
	fmt.Println(id, err)

	found, err := x.Grep(ctx, &archive.GrepRequest{Pattern: "PORT"})
	if err != nil {
		panic(err)
	}
	for _, m := range found.Matches {
		fmt.Printf("%s line %d: %s\n", m.Ref, m.Line, m.Text)
		page, err := x.Read(ctx, &archive.ReadRequest{Ref: m.Ref, Line: m.Line, Lines: 2})
		fmt.Printf("%q of %d lines %v\n", page.Text, page.TotalLines, err)
	}
	whole, err := x.Read(ctx, &archive.ReadRequest{Ref: id})
	fmt.Print(whole.Text, err, "\n")

	messages, err := x.Messages(ctx, id)
	fmt.Println(len(messages), err)
	// Output:
	// a-rzlbipmhmum4eenkroa2 <nil>
	// a-rzlbipmhmum4eenkroa2#1 line 2: port 8080 is taken
	// "port 8080 is taken\nexit 1" of 3 lines <nil>
	// [#0] assistant
	// I'll start it.
	// call run({"cmd":"serve"})
	// [#1] tool run
	// starting
	// port 8080 is taken
	// exit 1
	// <nil>
	// 2 <nil>
}
