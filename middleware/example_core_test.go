// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/middleware"
)

// A block is always in the prompt, and the agent writes into it.
func Example_core() {
	ctx := context.Background()
	mem := lunch(middleware.Config{
		Window: &window.Config{Budget: compaction.Budget{Window: 8000}},
		Core:   &core.Config{Tools: true, Blocks: []core.Block{{Name: "human", Description: "What you know about the user"}}},
	})
	defer mem.Close(ctx)
	fmt.Println(use(asAnn, mem, "core_memory_append", `{"block":"human","text":"Ann is a vegetarian."}`))
	messages, err := mem.Prepare(asAnn, []*schema.Message{schema.UserMessage("What is for dinner?")})
	check(err)
	_, block, _ := strings.Cut(messages[0].Content, "<block ")
	fmt.Println("<block " + block)
	// Output:
	// Added to core memory block "human". It holds 20 of 2000 characters now, 1980 are left:
	// <text>
	// Ann is a vegetarian.
	// </text>
	// <block name="human" chars="20/2000">
	// <description>What you know about the user</description>
	// <text>
	// Ann is a vegetarian.
	// </text>
	// </block>
	// </core_memory>
	//
	// What is for dinner?
}
