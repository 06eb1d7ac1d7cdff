// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/einox"
)

// recordTurn writes the turn that messages end with. An unfinished turn is
// written as far as it is new, that is from the message behind the answer before;
// a finished one as a whole, since message ids make the repeat harmless and a
// write that was lost on the way is made good. With adopt set, messages that were
// never prepared are a turn as well.
func (h *Hooks) recordTurn(ctx context.Context, messages []*schema.Message, done, adopt bool) {
	messages, id := h.turnOf(slices.Clone(messages), adopt)
	if id == "" {
		return
	}
	scope, err := h.ResolveScope(ctx)
	if err != nil {
		h.report(ctx, StageScope, err)
		return
	}
	if adopt {
		messages = h.originals(ctx, scope, messages)
	}
	first, turn := newest(messages, done)
	if len(turn) == 0 && !done { // it was written before it left
		return
	}
	if len(turn) == 0 {
		h.report(ctx, StageRecord, fmt.Errorf("turn %s has nothing to record", id))
		return
	}
	h.write(ctx, &working.Turn{Scope: scope, ID: id, First: first, Messages: turn, Time: h.cfg.Clock(), Done: done})
}

// turnOf returns the turn that messages end with, stamped, and its id; "" when
// there is none. The slice must be the caller's own.
func (h *Hooks) turnOf(messages []*schema.Message, adopt bool) ([]*schema.Message, string) {
	user, id := lastUser(messages), ""
	if user >= 0 {
		id = einox.TurnOf(messages[user])
	}
	if id == "" {
		if carrier, last, ok := carried(messages); ok && h.cfg.Window != nil && (user < 0 || answered(messages, user)) {
			rejoin(messages, carrier, last)
			return ofTurn(messages, carrier), carrier
		}
		if user < 0 || !adopt {
			return nil, ""
		}
		id = h.cfg.IDs()
	}
	start := turnStart(messages, user)
	stamp(messages, start, id)
	return messages[start:], id
}

// newest returns the last messages of a stamped turn, and the place of the first:
// back to the last answer of a model and what it answers, or as far as places follow
// one another if whole is set. What stands in for a message ends it: the log has
// the message.
func newest(messages []*schema.Message, whole bool) (first int, turn []*schema.Message) {
	spoken := false
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if !said(m) {
			continue
		}
		at, _ := einox.IndexOf(m)
		if len(turn) > 0 && at != first-1 || spoken && !whole && m.Role == schema.Assistant || einox.RefOf(m) != "" {
			break
		}
		first, spoken = at, spoken || m.Role == schema.Assistant
		turn = append(turn, einox.Unmark(m))
	}
	slices.Reverse(turn)
	return first, turn
}
