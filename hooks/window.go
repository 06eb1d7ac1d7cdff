// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/einox"
)

// open puts what the session holds in front of a turn that begins, and returns
// where the turn's last user message is then. A caller that passes what was said
// before knows it better: then nothing is loaded. Nor is it in an agent that
// another one calls as a tool.
func (h *Hooks) open(ctx context.Context, r *Reply, user int) int {
	if h.cfg.Window == nil || nested(ctx) || slices.ContainsFunc(r.Messages, r.before) {
		return user
	}
	if h.cfg.SearchTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.cfg.SearchTimeout)
		defer cancel()
	}
	var history []*schema.Message
	err := safely("history", func() (err error) { history, err = h.cfg.Window.History(ctx, r.Scope); return err })
	if err != nil {
		h.report(ctx, StageHistory, err)
		return user
	}
	r.Messages = slices.Insert(r.Messages, turnStart(r.Messages, user), history...)
	return user + len(history)
}

// before reports whether m was said before the turn, which begins.
func (r *Reply) before(m *schema.Message) bool {
	return said(m) && (m.Role != schema.User || earlier(m, r.Turn))
}

// fit returns messages as they fit the window. Its only error is that they do
// not: sent all the same they would be refused by the provider, or cut by it.
// Whatever else goes wrong leaves them as they are.
func (h *Hooks) fit(ctx context.Context, s backends.Scope, messages []*schema.Message) (out []*schema.Message, over error) {
	if h.cfg.Window == nil {
		return messages, nil
	}
	out = messages
	err := safely("fit", func() error {
		res, err := h.cfg.Window.Fit(ctx, s, messages)
		if res != nil {
			out = res.Messages
		}
		return err
	})
	if errors.Is(err, compaction.ErrOver) {
		return out, fmt.Errorf("memory: %w", err)
	}
	if err != nil {
		h.report(ctx, window.StageCompact, err)
	}
	return out, nil
}

// fitting is fit for whom ctx says that the run is made.
func (h *Hooks) fitting(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error) {
	if h.cfg.Window == nil {
		return messages, nil
	}
	var s backends.Scope
	if run := h.running(ctx); run != nil {
		run.offer(ctx, h)
		s = run.scope()
	}
	return h.fit(einox.Detach(ctx, "Memory", backends.ComponentOfMemory), h.orResolved(ctx, s), messages)
}

// orResolved returns s, or what ctx says where nobody needed to know it before: a
// turn goes on, and nothing is searched for. An error was told of when the scope was
// first looked for.
func (h *Hooks) orResolved(ctx context.Context, s backends.Scope) backends.Scope {
	if s.IsZero() && h.cfg.Window != nil {
		_ = safely("scope", func() (err error) { s, err = h.ResolveScope(ctx); return err })
	}
	return s
}

// keep writes what a turn has come to before anything in it is replaced, here or
// by another middleware, so that the log gets the originals.
func (h *Hooks) keep(ctx context.Context, messages []*schema.Message) {
	if h.cfg.Window == nil || !h.records() || nested(ctx) || h.running(ctx) != nil {
		return
	}
	h.recordTurn(ctx, messages, false, false)
}

// originals returns a turn with what left it put back, as the log is to have it, and
// whether that was possible.
func (h *Hooks) originals(ctx context.Context, s backends.Scope, turn []*schema.Message) ([]*schema.Message, bool) {
	if h.cfg.Window == nil {
		return turn, true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	out, err := h.cfg.Window.Restore(ctx, s, turn)
	if err != nil {
		h.report(ctx, StageRecord, fmt.Errorf("what left the context could not be read back, the log gets what is left: %w", err))
		return turn, false
	}
	return out, true
}

// MessageRewriter returns a rewriter for flow/agent/react (its
// react.AgentConfig.MessageRewriter): what was said before, the note, and all of it
// made to fit, kept in the agent's state, so that the search is made once a turn
// and a summary once. next, which may be nil, runs first. A rewriter cannot fail: a
// context that does not fit goes on, and Config.OnError is told; wrap the model
// by [Hooks.WrapModel] to have it refused.
//
// It records nothing: only the caller knows how the turn ends. Record it by
// [Hooks.Finish], with what the agent was given and what it produced (see
// react.WithMessageFuture). What left the context until then is in the archive.
func (h *Hooks) MessageRewriter(next func(ctx context.Context, input []*schema.Message) []*schema.Message) func(context.Context, []*schema.Message) []*schema.Message {
	return func(ctx context.Context, input []*schema.Message) []*schema.Message {
		if next != nil {
			input = next(ctx, input)
		}
		out, err := h.prepared(ctx, input, false)
		if err != nil {
			h.report(ctx, window.StageCompact, err)
		}
		return out
	}
}

// WrapModel returns m with every context that it is given made to fit the window,
// or refused with a compaction.OverError: for agents that take no middleware, and for
// graphs. Without Config.Window it returns m.
//
// What it is given stays as it is, so that each call compacts anew; a summary is
// made once, because the compactor remembers it.
func (h *Hooks) WrapModel(m model.ToolCallingChatModel) model.ToolCallingChatModel {
	if h.cfg.Window == nil {
		return m
	}
	return window.Model(m, h.fitting)
}
