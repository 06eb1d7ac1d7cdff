// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// The program searches and records, or the agent does by its tools, or both do.
func Example_mode() {
	ctx := context.Background()
	for _, mode := range []modes.Mode{modes.StaticControl, modes.AgentControl, modes.Both} {
		mem := lunch(middleware.Config{Mode: mode})
		talk(asAnn, mem, "I am allergic to peanuts.")
		tools, err := mem.Tools(ctx)
		check(err)
		asked := "Am I allergic to something?"
		fmt.Println(mode, "has a note:", talk(asAnn, mem, asked) != asked, "and tools:", len(tools))
		check(mem.Close(ctx))
	}
	// Output:
	// static_control has a note: true and tools: 0
	// agent_control has a note: false and tools: 2
	// both has a note: true and tools: 2
}
