// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"

	"github.com/cloudwego/eino/schema"
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
	return h.prepared(ctx, messages, true)
}

// prepared is Prepare. With keep set what the turn has come to is written, which is
// right where the messages that come back here are those that Finish gets.
func (h *Hooks) prepared(ctx context.Context, messages []*schema.Message, keep bool) ([]*schema.Message, error) {
	out := messages
	h.harmless(ctx, StageSearch, func() {
		if run := h.running(ctx); run != nil && !nested(ctx) {
			out = h.restore(ctx, run, messages)
			return
		}
		out = h.prepare(ctx, messages, false).Messages
		if keep {
			h.keep(ctx, out)
		}
	})
	return h.fitting(ctx, out)
}

// Finish records the turn that messages end with: those that Prepare returned,
// with everything that was produced since. Called again with the same messages it
// changes nothing, because they carry the turn's id; messages that Prepare never
// saw are a new turn each time.
//
// The error is always nil; failures of memory go to Config.OnError.
func (h *Hooks) Finish(ctx context.Context, messages []*schema.Message) error {
	if !h.records() || nested(ctx) || h.running(ctx) != nil {
		return nil
	}
	h.harmless(ctx, StageRecord, func() { h.recordTurn(ctx, messages, true, true) })
	return nil
}
