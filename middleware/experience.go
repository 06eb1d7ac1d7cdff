// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"

	"github.com/einomem/einomem/backends"
)

// exitTool is the name of the tool by which Eino's agents end a loop.
const exitTool = "exit"

// recordTool returns the filter of the tools whose calls are learnt from.
func (c *Config) recordTool(ctx context.Context, own []tool.BaseTool) (func(string) bool, error) {
	if c.RecordTool != nil {
		return c.RecordTool, nil
	}
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

// ToolMiddleware records how calls of tools went, for graphs and for agents that take
// no [MemoryMiddleware.AgentMiddleware], which has it. See [hooks.Hooks.ToolMiddleware].
func (m *MemoryMiddleware) ToolMiddleware() compose.ToolMiddleware { return m.hooks.ToolMiddleware() }

// RecordOutcome tells a backend that is a [backends.Judge], as reme's is, how a turn
// went, so that the workspace learns from it: at once, in the caller's goroutine. Parts
// of the scope that the request lacks come from the context and the configuration. The
// turn is written to the log, and learnt from as turns are, before.
//
// Errors: ErrInvalid where the backend is no Judge or nothing is recorded, ErrNoScope
// where no workspace is named, ErrNotFound for a turn that is not in the session, and
// the backend's. The call may be repeated.
func (m *MemoryMiddleware) RecordOutcome(ctx context.Context, r *backends.OutcomeRequest) (*backends.AddResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("memory middleware: outcome of a turn: %w: no request", backends.ErrInvalid)
	}
	judge, ok := m.backend.(backends.Judge)
	if !ok || m.log == nil {
		return nil, fmt.Errorf("memory middleware: outcome of a turn: %w: it needs a backend that learns from outcomes, as reme's does, and a mode that records turns", backends.ErrInvalid)
	}
	resolved, err := m.hooks.ResolveScope(backends.WithScope(ctx, r.Scope.Or(scopeFrom(ctx))))
	if err != nil {
		return nil, fmt.Errorf("memory middleware: outcome of a turn: %w", err)
	}
	if _, err := m.log.Consolidate(ctx, resolved); err != nil {
		return nil, fmt.Errorf("memory middleware: outcome of a turn: the log comes first: %w", err)
	}
	asked := *r
	asked.Scope = resolved
	return judge.RecordOutcome(ctx, &asked)
}

func scopeFrom(ctx context.Context) backends.Scope {
	s, _ := backends.ScopeFrom(ctx)
	return s
}
