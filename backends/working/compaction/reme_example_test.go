// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working/compaction"
)

// The example of ReMe's README: two messages are kept, and the huge one is the
// second-last.
func ExampleReMe() {
	p := compaction.DefaultParams()
	p.WorkingSummaryMode = compaction.ModeCompact
	p.KeepRecentCount = 2
	cfg, err := compaction.ReMe(p)
	if err != nil {
		panic(err)
	}
	c, err := compaction.New(cfg)
	if err != nil {
		panic(err)
	}
	call := schema.ToolCall{ID: "c1", Function: schema.FunctionCall{Name: "web_search", Arguments: `{"q":"pumps"}`}}
	result, err := c.Compact(context.Background(), &compaction.Request{
		Messages: []*schema.Message{
			schema.UserMessage("What is known about pumps?"),
			schema.AssistantMessage("", []schema.ToolCall{call}),
			schema.ToolMessage(strings.Repeat("The pump must not run dry. ", 5000), "c1", schema.WithToolName("web_search")),
			schema.AssistantMessage("It must not run dry.", nil),
		},
		Archive: newVault(), // archive.Archives.Of(scope) keeps it in a store
	})
	if err != nil {
		panic(err)
	}
	text, _, _ := strings.Cut(result.Messages[2].Content, ", about")
	fmt.Println(text)
	fmt.Println(result.After.Tokens < 200)
	// Output:
	// [Moved to the archive: the result of web_search({"q":"pumps"})
	// true
}
