// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme/toolmem"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/keeper"
)

// A tool fails in a way that its calls show; without a model the guideline follows
// from rules.
func Example() {
	ctx := context.Background()
	clock := func() time.Time { return time.Date(2026, 3, 12, 9, 0, 0, 0, time.UTC) }
	st, err := sqlitestore.Open(ctx, ":memory:", &sqlitestore.Config{Clock: clock})
	if err != nil {
		panic(err)
	}
	defer func() { _ = st.Close() }()
	ranker, err := recall.New(ctx, &recall.Config{Records: st, Keys: keeper.Keys})
	if err != nil {
		panic(err)
	}
	defer func() { _ = ranker.Close() }()
	keep, err := keeper.New(&keeper.Config{Name: "example", Store: st, Ranker: ranker, Clock: clock})
	if err != nil {
		panic(err)
	}
	memory, err := toolmem.New(&toolmem.Config{Keeper: keep, Clock: clock, RefreshAfter: 3})
	if err != nil {
		panic(err)
	}

	team := backends.Scope{Workspace: "team"}
	recorder := memory.NewRecorder(nil) // writes, and refreshes guidelines, beside the tools
	err = recorder.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: team, Calls: []backends.ToolCall{
		{Tool: "search", Arguments: `{"q":"tea","limit":10}`, Result: "10 results", Took: time.Second, Tokens: 40},
		{Tool: "search", Arguments: `{"q":"milk","limit":100}`, Error: "limit must be at most 50", Took: time.Second, Tokens: 12},
		{Tool: "search", Arguments: `{"q":"milk","limit":100}`, Error: "limit must be at most 50", Took: time.Second, Tokens: 12},
	}})
	if err != nil {
		panic(err)
	}
	if err := recorder.Close(ctx); err != nil {
		panic(err)
	}
	known, err := memory.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, ToolNames: "search, fetch"})
	if err != nil {
		panic(err)
	}
	fmt.Println(known.Answer)
	fmt.Println("unknown:", known.Unknown)
	// Output:
	// # search
	// - 1 of the last 3 calls served their purpose.
	// - An input that worked: {"limit":10,"q":"tea"}
	// - 2 calls failed (invalid argument), such as with "limit must be at most 50". Check names, types and ranges of the arguments against the tool's description.
	// - 2 of 2 calls with limit=100 went badly: avoid it, or check it first.
	// - 2 of 2 calls with q="milk" went badly: avoid it, or check it first.
	// - One call was made 2 times with the same failure (limit must be at most 50): {"limit":100,"q":"milk"}. Never repeat a failed call unchanged.
	// - Expect about 1.0 s; nine of ten calls take at most 1.0 s.
	// - These are few calls: take this as a hint.
	//
	// ## Statistics
	// - Calls: the last 3 of 3, 2026-03-12 to 2026-03-12
	// - Success rate: 33.33%
	// - Average score: 0.333 (3 judged)
	// - Average time: 1.000 s (p50 1.000, p90 1.000, p99 1.000)
	// - Average tokens: 21.33 (3 known)
	// - Errors: invalid argument 2
	// - Repeated calls: 1 (33.33%)
	// unknown: [fetch]
}
