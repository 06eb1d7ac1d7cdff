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
	whole := true
	if adopt {
		messages, whole = h.originals(ctx, scope, messages)
	}
	parts := []piece{newest(messages, done)}
	if !whole {
		parts = pieces(messages)
	}
	if len(parts[0].messages) == 0 && !done { // it was written before it left
		return
	}
	if len(parts[0].messages) == 0 {
		h.report(ctx, StageRecord, fmt.Errorf("turn %s has nothing to record", id))
		return
	}
	for i, p := range parts {
		last := i == len(parts)-1
		h.write(ctx, &working.Turn{Scope: scope, ID: id, First: p.first, Messages: p.messages, Time: h.cfg.Clock(), Done: done && last})
	}
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

// piece is a part of a turn whose places follow one another.
type piece struct {
	first    int // the place of the first message
	messages []*schema.Message
}

// newest returns the last messages of a stamped turn: back to the last answer of a
// model and what it answers, or as far as places follow one another if whole is
// set. What stands in for a message ends it: the log has the message.
func newest(messages []*schema.Message, whole bool) (p piece) {
	spoken := false
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if !said(m) {
			continue
		}
		at, _ := einox.IndexOf(m)
		if len(p.messages) > 0 && at != p.first-1 || spoken && !whole && m.Role == schema.Assistant || einox.RefOf(m) != "" {
			break
		}
		p.first, spoken = at, spoken || m.Role == schema.Assistant
		p.messages = append(p.messages, einox.Unmark(m))
	}
	slices.Reverse(p.messages)
	return p
}

// pieces returns what is left of a stamped turn between the messages that stand in
// for others, in order, and at least one piece.
func pieces(messages []*schema.Message) []piece {
	out := []piece{newest(messages, true)}
	for i := len(messages) - 1; i >= 0; i-- {
		if einox.RefOf(messages[i]) == "" {
			continue
		}
		p := newest(messages[:i], true)
		if n := len(p.messages); n > 0 && (len(out[0].messages) == 0 || p.first+n <= out[0].first) {
			out = append([]piece{p}, out...)
		}
	}
	return slices.DeleteFunc(out, func(p piece) bool { return len(p.messages) == 0 && len(out) > 1 })
}
