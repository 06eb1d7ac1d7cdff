// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// A tool fails in a way that its calls show; without a model the guideline follows from
// rules.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	clock := func() time.Time { return time.Date(2026, 3, 12, 9, 0, 0, 0, time.UTC) }
	backend, err := reme.New(ctx, &reme.Config{Store: db, Clock: clock, Tools: tool.Config{RefreshAfter: 3}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = backend.Close(ctx) }()

	scope := backends.Scope{Workspace: "team"}
	err = backend.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: scope, Calls: []backends.ToolCall{
		{Tool: "search", Arguments: `{"q":"tea","limit":10}`, Result: "10 results", Took: time.Second, Tokens: 40},
		{Tool: "search", Arguments: `{"q":"milk","limit":100}`, Error: "limit must be at most 50", Took: time.Second, Tokens: 12},
		{Tool: "search", Arguments: `{"q":"milk","limit":100}`, Error: "limit must be at most 50", Took: time.Second, Tokens: 12},
	}})
	if err != nil {
		panic(err)
	}
	if err := backend.Flush(ctx); err != nil {
		panic(err)
	}
	known, err := backend.Tools().Retrieve(ctx, &tool.RetrieveRequest{Scope: scope, Tools: []string{"search", "fetch"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(known.Answer)
	fmt.Println("unknown:", known.Unknown)
	// Output:
	// # search
	// - 1 of the last 3 calls were useful.
	// - An input that worked: {"limit":10,"q":"tea"}
	// - 2 calls failed (invalid argument), such as with "limit must be at most 50".
	// - 2 of the calls with limit=100 went badly, 0 went well: avoid it, or check it first.
	// - 2 of the calls with q="milk" went badly, 0 went well: avoid it, or check it first.
	// - 1 failed calls were repeated unchanged, and failed again: never do that.
	//
	// ## Statistics
	// - Calls: the last 3 of 3, 2026-03-12 to 2026-03-12
	// - Success rate: 33.33%
	// - Average score: 0.333 (3 judged)
	// - Average time: 1.000 s
	// - Average tokens: 21.33 (3 known)
	// - Errors: invalid argument 2
	// - Repeated calls: 1
	// unknown: [fetch]
}
