// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
)

// A result of a tool that does not fit leaves the context, and is found again.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	archives, err := archive.New(&archive.Config{Sessions: db})
	if err != nil {
		panic(err)
	}
	kept, err := archives.Of(backends.Scope{UserID: "ann", SessionID: "s1"})
	if err != nil {
		panic(err)
	}

	quarters := budget.Tokenizer(func(text string) int { return len(text) / 4 }) // a real tokenizer is better
	compactor, err := compaction.New(&compaction.Config{Budget: budget.Budget{Window: 8000, Counter: quarters}, Steps: compaction.Free()})
	if err != nil {
		panic(err)
	}
	call := schema.ToolCall{ID: "c1", Function: schema.FunctionCall{Name: "read_log", Arguments: `{"day":"monday"}`}}
	result, err := compactor.Compact(ctx, &compaction.Request{Archive: kept, Messages: []*schema.Message{
		schema.UserMessage("When did the server stop?"),
		schema.AssistantMessage("", []schema.ToolCall{call}),
		schema.ToolMessage(strings.Repeat("10:00 all is well\n", 20_000), "c1"),
	}})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Before.Tokens, "tokens, now", result.After.Tokens, "of", result.After.Limit)
	fmt.Println(result.Messages[2].Content[:80])

	original, err := kept.Restore(ctx, result.Messages)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(original[2].Content), "bytes are kept")
	// Output:
	// 90024 tokens, now 186 of 6000
	// [Moved to the archive: the result of read_log({"day":"monday"}), about 90004 tok
	// 360000 bytes are kept
}
