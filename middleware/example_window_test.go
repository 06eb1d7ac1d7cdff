// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/middleware"
)

// A run passes the new message alone, and every context fits. What left it is read again by a tool.
func Example_window() {
	ctx := context.Background()
	mem := lunch(middleware.Config{Window: &window.Config{Budget: compaction.Budget{Window: 2000}}})
	defer mem.Close(ctx)

	talk(asAnn, mem, "The code of the cellar is 4711.")
	for n := range 12 {
		talk(asAnn, mem, fmt.Sprintf("Page %d. %s", n, strings.Repeat("Nothing of interest happens here. ", 40)))
	}
	messages, err := mem.Prepare(asAnn, []*schema.Message{schema.UserMessage("Do you still know the code?")})
	check(err)
	tokens := 0
	for _, m := range messages {
		tokens += compaction.Estimate(m.Content)
	}
	fmt.Println("it fits:", tokens < 2000)
	fmt.Println(use(asAnn, mem, "grep_working_memory", `{"pattern":"code of the cellar"}`))
	// Output:
	// it fits: true
	// Matches: 1. Messages searched: 27.
	// [log-1]
	// 1: The code of the cellar is 4711.
	// To read around a match, call read_working_memory with the id in brackets as archive and the number before the match as line, or for a long line its byte as byte.
}
