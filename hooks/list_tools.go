// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
)

// listTools is the list_tools hook: the tools that an agent gets, in a slice of its own
// without spare capacity, since Eino appends to it (trap T12).
func (h *Hooks) listTools() []tool.BaseTool { return slices.Clip(slices.Clone(h.tools)) }

// exitTool is the name of the tool by which Eino's agents end a loop.
const exitTool = "exit"

// othersThan returns the filter of the tools whose calls are learnt from: all but
// memory's own, and those by which agents hand over.
func othersThan(ctx context.Context, own []tool.BaseTool) (func(string) bool, error) {
	left := map[string]bool{adk.TransferToAgentToolName: true, exitTool: true}
	for _, t := range own {
		info, err := t.Info(ctx)
		if err != nil {
			return nil, fmt.Errorf("name of a memory tool: %w", err)
		}
		left[info.Name] = true
	}
	return func(name string) bool { return !left[name] }, nil
}
