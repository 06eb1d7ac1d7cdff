// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working/window"
)

// Prepare is the on_reply hook for graphs, and for handler interfaces of newer
// Eino releases: it returns messages with the note in its place and the turn
// marked. It may be called before every call of a model with the messages it
// returned before: the search is made once a turn, and what left the messages to
// make them fit the window stays away.
//
// The error is nil, or a compaction.OverError where Config.Window is set and even the
// messages returned do not fit it; failures of memory go to Config.OnError.
func (h *Hooks) Prepare(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error) {
	return h.prepare(ctx, messages, true)
}

// Finish records the turn that messages end with: those that Prepare returned,
// with everything that was produced since. Called again with the same messages it
// changes nothing, because they carry the turn's id; messages that Prepare never
// saw are a new turn each time.
//
// The error is always nil; failures of memory go to Config.OnError.
func (h *Hooks) Finish(ctx context.Context, messages []*schema.Message) error {
	h.guard(ctx, StageRecord, func() { h.record(ctx, messages, true, true) })
	return nil
}

// MessageModifier returns a modifier for flow/agent/react (its
// react.AgentConfig.MessageModifier): the model sees the note at every call, and
// the agent's state never holds it. next, which may be nil, runs first.
//
// A modifier sees each call alone, so the search is made for each call of the
// model in a turn. Record turns by [Hooks.Finish]. With Config.Window each call is made
// to fit; what was said before is the caller's, and one that does not fit goes on, as
// with [Hooks.MessageRewriter].
func (h *Hooks) MessageModifier(next func(ctx context.Context, input []*schema.Message) []*schema.Message) func(context.Context, []*schema.Message) []*schema.Message {
	return h.modifier(next, func(ctx context.Context, input []*schema.Message) ([]*schema.Message, error) {
		out := input
		h.guard(ctx, StageSearch, func() { out = h.show(ctx, input) })
		return h.fitting(ctx, out)
	})
}

// MessageRewriter returns a rewriter for flow/agent/react (its
// react.AgentConfig.MessageRewriter): what was said before, the note, and all of it
// made to fit, kept in the agent's state, so that the search is made once a turn
// and a summary once. next, which may be nil, runs first. A rewriter cannot fail: a
// context that does not fit goes on, and Config.OnError is called; wrap the model
// by [Hooks.WrapModel] to have it refused.
//
// It records nothing: only the caller knows how the turn ends. Record it by
// [Hooks.Finish], with what the agent was given and what it produced (see
// react.WithMessageFuture). What left the context until then is in the archive.
func (h *Hooks) MessageRewriter(next func(ctx context.Context, input []*schema.Message) []*schema.Message) func(context.Context, []*schema.Message) []*schema.Message {
	return h.modifier(next, func(ctx context.Context, input []*schema.Message) ([]*schema.Message, error) {
		return h.prepare(ctx, input, false)
	})
}

// modifier calls next, which may be nil, and then do. The only error is reported.
func (h *Hooks) modifier(next func(context.Context, []*schema.Message) []*schema.Message, do func(context.Context, []*schema.Message) ([]*schema.Message, error)) func(context.Context, []*schema.Message) []*schema.Message {
	return func(ctx context.Context, input []*schema.Message) []*schema.Message {
		if next != nil {
			input = next(ctx, input)
		}
		out, err := do(ctx, input)
		if err != nil {
			h.report(ctx, window.StageCompact, err)
		}
		return out
	}
}

// show returns messages with the note for the last thing that the user said,
// answered or not, and without any mark.
func (h *Hooks) show(ctx context.Context, messages []*schema.Message) []*schema.Message {
	t := &turn{messages: messages, user: lastUser(messages)}
	if !h.plan.Search || t.user < 0 || h.hasNote(messages) {
		return messages
	}
	t.start = turnStart(messages, t.user)
	query := t.query()
	if query == "" {
		return messages
	}
	scope, err := h.ResolveScope(ctx)
	if err != nil {
		h.report(ctx, StageScope, err)
		return messages
	}
	note := h.search(ctx, scope, query)
	if note == nil {
		return messages
	}
	return h.withNote(messages, t.user, note)
}
