// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/modes"
	"github.com/einomem/einomem/toolkit"
)

// build makes the parts that a configuration names: the window, the tools, the log, and the hooks
// around them.
func build(ctx context.Context, cfg *Config) (*MemoryMiddleware, error) {
	c, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	plan, err := c.Mode.Plan(c.Backend)
	if err != nil {
		return nil, err
	}
	m := &MemoryMiddleware{backend: c.Backend}
	c.Sessions, _ = sessionsOf(c) // a part that needs sessions reports their lack
	if m.window, err = newWindow(c); err != nil {
		return nil, err
	}
	tools := func(s *backends.ToolSetup) ([]tool.BaseTool, error) { return m.newTools(ctx, c, plan, s) }
	if !plan.Record && m.window == nil {
		if c.Reflect != nil {
			return nil, fmt.Errorf("Config.Reflect: %w: it needs a mode that records turns, which %s does not with this backend", backends.ErrInvalid, c.Mode)
		}
		m.Hooks, err = hooks.New(ctx, c, nil, nil, tools)
		return m, err
	}
	if m.sessions = c.Sessions; c.Working != nil && c.Working.Sessions != nil {
		m.sessions = c.Working.Sessions
	}
	if m.log, err = newLog(ctx, c, plan); err != nil {
		return nil, err
	}
	if m.Hooks, err = hooks.New(ctx, c, m.log, m.window, tools); err == nil {
		err = m.startReflecting(c)
	}
	if err != nil {
		return nil, errors.Join(err, m.log.Close(ctx))
	}
	return m, nil
}

// startReflecting tidies memory in the background, if the configuration asks for it.
func (m *MemoryMiddleware) startReflecting(c *Config) (err error) {
	if c.Reflect == nil {
		return nil
	}
	shared := common(c)
	if w, ok := m.window.(interface{ CoreBlocks() store.Blocks }); ok {
		shared.Blocks = w.CoreBlocks()
	}
	if m.reflection, err = c.Reflect.StartReflection(shared); err == nil && m.reflection != nil {
		m.AfterTurn(m.reflection.After)
	}
	return err
}

// common returns what the parts of the middleware share.
func common(c *Config) *store.Common {
	d := &store.Common{
		Backend: c.Backend, Core: c.Core, Language: c.Language, Clock: c.Clock, OnError: c.OnError, Timeout: c.SearchTimeout,
	}
	if c.Working != nil {
		d.Redact = c.Working.Redact
	}
	work.Default(&d.Redact, c.Redact)
	return d
}

// sessionsOf returns the log of turns: as configured, else the one beside the backend's memories,
// so that both can change in one atomic write.
func sessionsOf(c *Config) (store.Sessions, error) {
	if c.Sessions != nil {
		return c.Sessions, nil
	}
	if c.Working != nil && c.Working.Sessions != nil {
		return c.Working.Sessions, nil
	}
	if own, ok := backends.As[interface{ Sessions() store.Sessions }](c.Backend); ok {
		if s := own.Sessions(); s != nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("mode %s records turns, and backend %T keeps no log of them: %w: set Config.Sessions to a store, such as sqlitestore.Open returns, or use mode %s",
		c.Mode, c.Backend, backends.ErrInvalid, modes.AgentControl)
}

// newLog returns the log of turns, and starts its workers. If the mode learns nothing from turns,
// the log keeps them for the next run alone.
func newLog(ctx context.Context, c *Config, plan modes.Plan) (*working.Memory, error) {
	w := *cmp.Or(c.Working, &working.Config{})
	var err error
	if w.Sessions, err = sessionsOf(c); err != nil {
		return nil, err
	}
	switch always, _ := backends.AlwaysLearning(c.Backend); {
	case !plan.Record, w.Backend == nil && c.Mode == modes.AgentControl:
		w.Backend = always
	case w.Backend == nil:
		w.Backend = c.Backend
	}
	work.Default(&w.Redact, c.Redact)
	work.Default(&w.Confirm, c.Confirm)
	work.Default(&w.OnError, c.OnError)
	work.Default(&w.OnLearned, c.OnLearned)
	work.Default(&w.Budget.Location, c.Location)
	work.Default(&w.Clock, c.Clock)
	work.Default(&w.IDs, c.IDs)
	return working.New(ctx, &w)
}

// newWindow returns the working memory that the configuration asks for, or nil.
func newWindow(c *Config) (backends.Window, error) {
	if c.Window == nil {
		return nil, nil
	}
	shared := common(c)
	var missing error
	shared.Sessions, missing = sessionsOf(c)
	w, err := c.Window.OpenWindow(shared)
	if err != nil {
		return nil, errors.Join(missing, err)
	}
	return w, nil
}

// newTools returns the tools that agents get: the tools of the mode, and in any mode the ones that
// read text outside the context and edit the core blocks. The hooks exist by the time that a tool
// searches.
func (m *MemoryMiddleware) newTools(ctx context.Context, c *Config, plan modes.Plan, setup *backends.ToolSetup) ([]tool.BaseTool, error) {
	t := &toolkit.Config{
		ToolSetup: *setup,
		Search: func(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
			return m.Search(ctx, r)
		},
		Limit:     min(c.TopK, toolkit.MaxLimit), // 0 here and there: 10
		ToolNames: c.ToolNames,
		Clock:     c.Clock,
		IDs:       c.IDs,
	}
	if plan.Tools {
		t.Backend, t.Update, t.Delete, t.Forget = c.Backend, c.UpdateTool, c.DeleteTool, c.ForgetTool
	}
	var tools []tool.BaseTool
	var err error
	if t.Backend != nil {
		if tools, err = toolkit.New(ctx, t); err != nil {
			return nil, err
		}
	}
	if m.window == nil {
		return tools, nil
	}
	reads, err := m.window.Tools(ctx, setup)
	return append(tools, reads...), err
}
