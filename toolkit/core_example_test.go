// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/toolkit"
)

// A model edits a block, and is told what it got wrong.
func ExampleCoreMemory() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	blocks, err := core.New(&core.Config{Records: db, Tools: true, Blocks: []core.Block{
		{Name: "human", Description: "What you know about the user", Limit: 100},
	}})
	if err != nil {
		panic(err)
	}
	tools, err := toolkit.CoreMemory(ctx, &toolkit.CoreConfig{
		Blocks: blocks,
		Scope:  func(context.Context) (backends.Scope, error) { return backends.Scope{UserID: "ann"}, nil },
	})
	if err != nil {
		panic(err)
	}
	for _, call := range []struct {
		tool      int
		arguments string
	}{
		{0, `{"block":"human","text":"Ann lives in Rome."}`},
		{1, `{"block":"human","old_text":"lives in Paris","new_text":"lives in Oslo"}`},
		{1, `{"block":"human","old_text":"lives in Rome","new_text":"lives in Oslo"}`},
	} {
		out, err := tools[call.tool].(tool.InvokableTool).InvokableRun(ctx, call.arguments)
		fmt.Println(out, err)
	}
	// Output:
	// Added to core memory block "human". It holds 18 of 100 characters now, 82 are left:
	// <text>
	// Ann lives in Rome.
	// </text> <nil>
	// Nothing was changed: `old_text` occurs 0 times in core memory block "human". Copy it exactly from what the block holds now:
	// <text>
	// Ann lives in Rome.
	// </text> <nil>
	// Replaced in core memory block "human". It holds 18 of 100 characters now, 82 are left:
	// <text>
	// Ann lives in Oslo.
	// </text> <nil>
}
