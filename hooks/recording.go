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
	user := lastUser(messages)
	if user < 0 {
		return
	}
	id := einox.TurnOf(messages[user])
	if id == "" {
		if !adopt {
			return
		}
		id = h.cfg.IDs()
	}
	scope, err := h.ResolveScope(ctx)
	if err != nil {
		h.report(ctx, StageScope, err)
		return
	}
	messages = slices.Clone(messages)
	start := turnStart(messages, user)
	stamp(messages, start, id)
	if adopt {
		messages, start = h.originals(ctx, scope, messages[start:]), 0
	}
	first, turn := newest(messages[start:], done)
	if len(turn) == 0 {
		h.report(ctx, StageRecord, fmt.Errorf("turn %s has nothing to record", id))
		return
	}
	h.write(ctx, &working.Turn{Scope: scope, ID: id, First: first, Messages: turn, Time: h.cfg.Clock(), Done: done})
}

// newest returns the last messages of a stamped turn, back to the answer before
// the last one, or as far as places follow one another if whole is set, and the
// place of the first. What stands in for a message ends it: the log has the message.
func newest(messages []*schema.Message, whole bool) (first int, turn []*schema.Message) {
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if !said(m) {
			continue
		}
		at, _ := einox.IndexOf(m)
		if len(turn) > 0 && (at != first-1 || !whole && m.Role == schema.Assistant || einox.RefOf(m) != "") {
			break
		}
		first = at
		turn = append(turn, einox.Unmark(m))
	}
	slices.Reverse(turn)
	return first, turn
}
