// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// Another middleware may put a summary in the place of everything that a turn has
// come to, the user's message and its marks with it. What none of them takes away
// is the system message: it carries the turn's id and how far it was counted, so
// that what follows joins the turn that it belongs to.

// carry marks the first system message. The slice is the caller's own; the
// message is copied.
func carry(messages []*schema.Message, id string) {
	at := systemAt(messages)
	if at < 0 {
		return
	}
	last := -1
	for _, m := range messages {
		if i, ok := indexIn(m, id); ok {
			last = max(last, i)
		}
	}
	if i, ok := indexIn(messages[at], id); ok && i >= last || last < 0 {
		return
	}
	messages[at] = einox.MarkIndex(einox.MarkTurn(messages[at], id), last)
}

// carried returns the turn that the system message carries, and the place of its
// last message that was counted.
func carried(messages []*schema.Message) (id string, last int, ok bool) {
	at := systemAt(messages)
	if at < 0 {
		return "", 0, false
	}
	id = einox.TurnOf(messages[at])
	last, ok = indexIn(messages[at], id)
	return id, last, ok && id != ""
}

// rejoin gives the answers and results that have no place yet one in the turn,
// behind its last. What a user seems to say here is a summary's. The slice is the
// caller's own; messages are copied.
func rejoin(messages []*schema.Message, id string, last int) {
	for i, m := range messages {
		switch at, ok := indexIn(m, id); {
		case ok:
			if m.Role != schema.System {
				last = max(last, at)
			}
		case said(m) && m.Role != schema.User && einox.TurnOf(m) == "":
			last++
			messages[i] = einox.MarkIndex(einox.MarkTurn(m, id), last)
		}
	}
	carry(messages, id)
}

// ofTurn returns the messages that have a place in the turn.
func ofTurn(messages []*schema.Message, id string) []*schema.Message {
	var out []*schema.Message
	for _, m := range messages {
		if _, ok := indexIn(m, id); ok && said(m) {
			out = append(out, m)
		}
	}
	return out
}

// indexIn returns the place of m in the turn, if it has one there.
func indexIn(m *schema.Message, id string) (int, bool) {
	if m == nil || einox.TurnOf(m) != id {
		return 0, false
	}
	return einox.IndexOf(m)
}

func systemAt(messages []*schema.Message) int {
	for i, m := range messages {
		if m != nil && m.Role == schema.System && !einox.IsNote(m) {
			return i
		}
	}
	return -1
}

// counted returns messages with the answer that they end with in its place.
func (h *Hooks) counted(messages []*schema.Message) []*schema.Message {
	if h.cfg.Window == nil || systemAt(messages) < 0 {
		return messages
	}
	out := slices.Clone(messages)
	if turn, id := h.turnOf(slices.Clone(messages), false); id != "" {
		out[len(out)-1] = turn[len(turn)-1]
		carry(out, id)
	}
	return out
}

// goOn is prepare for messages in which nobody asks anything: an approval, the
// result of a call, or a turn whose beginning another middleware summarised.
func (h *Hooks) goOn(ctx context.Context, r *Reply) *Reply {
	id, last, ok := carried(r.Messages)
	if !ok || h.cfg.Window == nil {
		return r
	}
	var err error
	if err = safely("scope", func() error { r.Scope, err = h.ResolveScope(ctx); return err }); err != nil {
		h.report(ctx, StageScope, err)
		return r
	}
	r.Turn = id
	r.Messages = h.withoutStaleNotes(r.Messages, id)
	rejoin(r.Messages, id, last)
	return r
}
