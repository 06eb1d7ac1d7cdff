// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/work"
)

// stageCompact is window.StageCompact.
const stageCompact = "compact"

// loadHistory puts the session's messages in front of a turn that begins. It leaves alone a turn
// whose caller passes its own history, and an agent that another one calls as a tool.
func (h *Hooks) loadHistory(ctx context.Context, t *turn) {
	if h.window == nil || nested(ctx) || slices.ContainsFunc(t.messages, func(m einox.Marked) bool { return earlier(m, t.id) }) {
		return
	}
	within, cancel := h.within(ctx)
	defer cancel()
	var history []*schema.Message
	err := h.hangs()
	if err == nil {
		history, err = h.window.History(within, t.scope)
	}
	if err != nil {
		h.report(ctx, StageHistory, err)
		return
	}
	t.insert(t.start, einox.Decode(history)...)
}

// fit returns messages as models read them: notes inside the user's messages, private ones marked
// as by [Hooks.withhold], and all made to fit the window. It returns an error only for messages
// that exceed the window: the provider would refuse or cut them. Any other failure leaves them as
// they are.
func (h *Hooks) fit(ctx context.Context, s backends.Scope, messages []einox.Marked) (out []*schema.Message, over error) {
	h.withhold(ctx, messages)
	if h.window == nil {
		return einox.Fold(messages), nil
	}
	if s.IsZero() { // a turn goes on, after a call that skipped the search
		s = h.quietScope(ctx)
	}
	ctx = h.inEpochOf(ctx, s, messages)
	out = einox.Encode(messages)
	if err := work.Catch("fit", func() error { out, over = h.window.Fitted(ctx, s, out); return nil }); err != nil {
		h.report(ctx, stageCompact, err)
	}
	if over != nil {
		over = fmt.Errorf("memory: %w", over)
	}
	return einox.Fold(einox.Decode(out)), over
}

// fitting is fit for the scope of the run that ctx belongs to.
func (h *Hooks) fitting(ctx context.Context, messages []einox.Marked) ([]*schema.Message, error) {
	var s backends.Scope
	if r := running(ctx, h); r != nil {
		r.offerScope(ctx)
		s = r.scope()
	}
	return h.fit(detach(ctx), s, messages)
}

// restored returns a turn with the originals of its placeholders, for the log. It reports an
// unreadable one, which stays a placeholder and out of the log.
func (h *Hooks) restored(ctx context.Context, t *turn) *turn {
	if h.window == nil {
		return t
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	messages, err := h.window.Restore(within, t.scope, einox.Encode(t.messages[t.start:]))
	if err != nil {
		h.report(ctx, StageRecord, fmt.Errorf("what left the context could not be read back, the log gets what is left: %w", err))
		return t
	}
	return &turn{id: t.id, messages: einox.Decode(messages)}
}
