// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/toolkit"
)

// MemoryMiddleware is one backend in one mode, ready for Eino's agents. One value
// serves any number of agents, users and goroutines: whose memory a run has is
// looked up in each run.
type MemoryMiddleware struct {
	backend backends.Backend
	hooks   *hooks.Hooks
	tools   []tool.BaseTool
	log     *working.Memory // nil where nothing is recorded
	window  *window.Window  // nil without Config.Window
}

// New returns a middleware. Where the mode records turns it starts the workers
// that learn from them; [MemoryMiddleware.Close] stops them. ctx bounds New
// alone.
//
// It returns ErrInvalid for a configuration that cannot work, and the store's
// errors where the log cannot be opened.
func New(ctx context.Context, cfg *Config) (*MemoryMiddleware, error) {
	m, err := newMiddleware(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("memory middleware: %w", err)
	}
	return m, nil
}

func newMiddleware(ctx context.Context, cfg *Config) (*MemoryMiddleware, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	plan, err := c.plan()
	if err != nil {
		return nil, err
	}
	m := &MemoryMiddleware{backend: c.Backend}
	h := c.hooks(plan)
	if m.window, err = c.newWindow(); err != nil {
		return nil, err
	}
	if err = m.equip(ctx, c, h); err != nil {
		return nil, err
	}
	h.Plan.Record = plan.Record || m.window != nil
	if !h.Plan.Record {
		m.hooks, err = hooks.New(h)
		return m, err
	}
	w, err := c.working()
	if err != nil {
		return nil, err
	}
	if !plan.Record {
		w.Backend = unlearning{c.Backend}
	}
	if m.log, err = working.New(ctx, w); err != nil {
		return nil, err
	}
	h.Log = m.log
	if m.hooks, err = hooks.New(h); err != nil {
		return nil, errors.Join(err, m.log.Close(ctx))
	}
	return m, nil
}

// equip gives the hooks the window and the tools.
func (m *MemoryMiddleware) equip(ctx context.Context, c *Config, h *hooks.Config) (err error) {
	// The tools ask the hooks, which exist by the time that a tool is called.
	scope := func(ctx context.Context) (Scope, error) { return m.hooks.ResolveScope(ctx) }
	if h.Plan.Tools {
		if h.Tools, err = toolkit.New(ctx, c.toolkit(scope)); err != nil {
			return err
		}
	}
	h.Window = m.window
	if h.WindowTools, err = c.windowTools(ctx, m.window, scope); err != nil {
		return err
	}
	m.tools = slices.Concat(h.Tools, h.WindowTools)
	if recorder, ok := c.Backend.(backends.ToolRecorder); ok {
		h.ToolCalls = recorder
		h.RecordTool, err = c.recordTool(ctx, m.tools)
	}
	return err
}

// AgentMiddleware returns what makes an [adk.ChatModelAgent] remember: one entry
// of its Middlewares, and nothing else is needed. See [hooks.Hooks.AgentMiddleware].
func (m *MemoryMiddleware) AgentMiddleware() adk.AgentMiddleware { return m.hooks.AgentMiddleware() }

// WrapRunner returns a runner that remembers for whatever agent r runs: workflows,
// supervisors, plan-execute, and runs that are interrupted and resumed. Together
// with AgentMiddleware the work is done once. See [hooks.Hooks.WrapRunner].
func (m *MemoryMiddleware) WrapRunner(r *adk.Runner) *hooks.Runner { return m.hooks.WrapRunner(r) }

// Tools returns the tools that an agent gets: those of the mode, none under
// modes.StaticControl, and those of Config.Window. It is for agents that take no
// middleware. The slice is the caller's own.
func (m *MemoryMiddleware) Tools(context.Context) ([]tool.BaseTool, error) {
	return slices.Clip(slices.Clone(m.tools)), nil
}

// Prepare returns messages with the note of what is remembered, for graphs and
// for handlers of newer Eino releases. It searches once a turn, however often it
// is called. See [hooks.Hooks.Prepare].
func (m *MemoryMiddleware) Prepare(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error) {
	return m.hooks.Prepare(ctx, messages)
}

// Finish records the last turn of messages. See [hooks.Hooks.Finish].
func (m *MemoryMiddleware) Finish(ctx context.Context, messages []*schema.Message) error {
	return m.hooks.Finish(ctx, messages)
}

// MessageModifier returns a modifier for react.AgentConfig that shows the note
// and then does what next does, which may be nil. See [hooks.Hooks.MessageModifier].
func (m *MemoryMiddleware) MessageModifier(next func(context.Context, []*schema.Message) []*schema.Message) func(context.Context, []*schema.Message) []*schema.Message {
	return m.hooks.MessageModifier(next)
}

// MessageRewriter returns a rewriter for react.AgentConfig that shows what was
// said before and the note, and makes it fit the window; next may be nil.
// See [hooks.Hooks.MessageRewriter].
func (m *MemoryMiddleware) MessageRewriter(next func(context.Context, []*schema.Message) []*schema.Message) func(context.Context, []*schema.Message) []*schema.Message {
	return m.hooks.MessageRewriter(next)
}

// WrapModel returns cm with every context that it is given made to fit the
// window, or refused: for agents that take no middleware, and for graphs. With a
// backend that is a [backends.ToolGuide], as reme's is, the tools that are offered to
// the model are described with what is known of them: that is for every agent.
// See [hooks.Hooks.WrapModel].
func (m *MemoryMiddleware) WrapModel(cm model.ToolCallingChatModel) model.ToolCallingChatModel {
	cm = m.hooks.WrapModel(cm)
	if guide, ok := m.backend.(backends.ToolGuide); ok {
		return guide.GuideTools(cm, m.hooks.ResolveScope)
	}
	return cm
}

// AsRetriever returns memory as a retriever node for graphs.
// See [hooks.Hooks.AsRetriever].
func (m *MemoryMiddleware) AsRetriever() retriever.Retriever { return m.hooks.AsRetriever() }

// Backend returns the backend, for what the middleware does not do itself.
func (m *MemoryMiddleware) Backend() backends.Backend { return m.backend }

// Window returns the working memory, for what the middleware does not do itself:
// sessions to list, rename, fork or delete, how full a context is. It is nil without
// Config.Window.
func (m *MemoryMiddleware) Window() *window.Window { return m.window }

// Working returns the log of turns, for what the middleware does not do itself:
// failures and their retry. It is nil where nothing is recorded.
func (m *MemoryMiddleware) Working() *working.Memory { return m.log }

// Flush waits until every turn recorded so far is in the log and learnt from, and
// every call of a tool stored, or has failed and was reported: then it returns the failure, and the turn waits in
// the log. It ends with ctx, and after Close it returns working.ErrClosed.
func (m *MemoryMiddleware) Flush(ctx context.Context) error {
	var errs []error
	if m.log != nil {
		errs = append(errs, m.log.Flush(ctx))
	}
	if r, ok := m.backend.(backends.ToolRecorder); ok {
		errs = append(errs, r.Flush(ctx))
	}
	return errors.Join(errs...)
}

// Close writes every recorded turn to the log and stops the workers. Turns that
// were not learnt from yet stay in the log, for the next middleware on the same
// store; call Flush before to wait for them. The backend and its store stay open:
// close them after. Closing again returns what the first time did.
func (m *MemoryMiddleware) Close(ctx context.Context) error {
	if m.log == nil {
		return nil
	}
	return m.log.Close(ctx)
}
