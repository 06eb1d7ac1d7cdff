// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working/window"
)

// MessageModifier returns a modifier for flow/agent/react (its
// react.AgentConfig.MessageModifier): the model sees the note at every call, and
// the agent's state never holds it. next, which may be nil, runs first.
//
// A modifier sees each call alone, so the search is made for each call of the
// model in a turn. Record turns by [Hooks.Finish]. With Config.Window each call is made
// to fit; what was said before is the caller's, and one that does not fit goes on, as
// with [Hooks.MessageRewriter].
func (h *Hooks) MessageModifier(next func(ctx context.Context, input []*schema.Message) []*schema.Message) func(context.Context, []*schema.Message) []*schema.Message {
	return func(ctx context.Context, input []*schema.Message) []*schema.Message {
		if next != nil {
			input = next(ctx, input)
		}
		out := input
		h.harmless(ctx, StageSearch, func() { out = h.show(ctx, input) })
		out, err := h.fitting(ctx, out)
		if err != nil {
			h.report(ctx, window.StageCompact, err)
		}
		return out
	}
}

// show returns messages with the note for the last thing that the user said,
// answered or not, and without any mark.
func (h *Hooks) show(ctx context.Context, messages []*schema.Message) []*schema.Message {
	user := lastUser(messages)
	if !h.cfg.Plan.Search || user < 0 || slices.ContainsFunc(messages, h.cfg.Note.owns) {
		return messages
	}
	query := queryOf(messages[turnStart(messages, user) : user+1])
	if query == "" {
		return messages
	}
	scope, err := h.ResolveScope(ctx)
	if err != nil {
		h.report(ctx, StageScope, err)
		return messages
	}
	note := h.cfg.Note.build(h.search(ctx, scope, query))
	if note == nil {
		return messages
	}
	return h.cfg.Note.place(messages, user, note)
}
