// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"cmp"
	"context"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/einox/adkx"
	"github.com/einomem/einomem/internal/speech"
)

// withhold marks the private ones of messages. A message is private if Config.Learn or
// the user asks to leave it out, if it answers a private one in the same turn, or if it is said
// under [backends.Incognito].
func (h *Hooks) withhold(ctx context.Context, messages []einox.Marked) {
	mark := func(i int, how einox.Privacy) { messages[i].Private = cmp.Or(messages[i].Private, how) }
	var before, round []int                     // the indexes of the messages of the round before, and of this one
	hidden, secrets := false, map[string]bool{} // the ids of calls that read a secret: a result may lack the tool's name
	for i, m := range messages {
		if m.Message != nil {
			for _, c := range m.ToolCalls {
				if c.Function.Name == einox.ReadSecret {
					secrets[c.ID] = true
				}
			}
		}
		if !said(m) {
			hidden = hidden || m.Message != nil && m.Role == schema.System && m.Private != "" // see turn.stamp
			continue
		}
		if opens(messages, round, m) {
			before, round, hidden = round, nil, false
		}
		wish := speech.NoWish
		if m.Role == schema.User {
			wish = speech.WishOf(einox.Text(m.Message))
		}
		switch {
		case wish == speech.ForgetThat:
			that, how := round, einox.Private
			if len(round) == 0 {
				that, how = before, einox.Before
			}
			for _, j := range that {
				mark(j, einox.Private)
			}
			mark(i, how)
		case wish == speech.ForgetThis, hidden && m.Role != schema.User, !h.learns(ctx, m),
			m.Role == schema.Tool && (m.ToolName == einox.ReadSecret || secrets[m.ToolCallID]):
			mark(i, einox.Private)
		}
		hidden = hidden || messages[i].Private != ""
		round = append(round, i)
	}
}

// opens reports whether m begins a round behind the messages at these indices.
func opens(messages []einox.Marked, round []int, m einox.Marked) bool {
	if len(round) == 0 || m.Role != schema.User {
		return false
	}
	last := messages[round[len(round)-1]]
	return last.Role != schema.User && (m.Turn == "" || m.Turn != last.Turn)
}

// learns reports whether a message may be remembered. Messages of the log were decided before. A
// panic of Config.Learn makes the message private.
func (h *Hooks) learns(ctx context.Context, m einox.Marked) (ok bool) {
	switch {
	case m.Seq > 0:
		return true
	case backends.IsIncognito(ctx):
		return false
	case h.cfg.Learn == nil:
		return true
	}
	h.guard(ctx, StageRecord, func() { ok = h.cfg.Learn(ctx, m.Message) })
	return ok
}

// turnID returns the id of the turn in which a tool is called under ctx, "" outside of one.
func (h *Hooks) turnID(ctx context.Context) string {
	if r := running(ctx, h); r != nil {
		return r.turn.id
	}
	return h.find(einox.Unfold(adkx.Messages(ctx))).id
}

// isPrivate reports whether the writes of a tool that is called under ctx are private. They are
// under [backends.Incognito], and in a turn with a private message, which the arguments of the call
// may repeat.
func (h *Hooks) isPrivate(ctx context.Context) bool {
	if backends.IsIncognito(ctx) {
		return true
	}
	if r := running(ctx, h); r != nil && slices.ContainsFunc(r.turn.said, func(m einox.Marked) bool { return m.Private != "" }) {
		return true
	}
	messages := einox.Unfold(adkx.Messages(ctx))
	user := lastUser(messages)
	return user >= 0 && slices.ContainsFunc(messages[turnStart(messages, user):], func(m einox.Marked) bool {
		return m.Message != nil && m.Role != schema.Assistant && m.Private != ""
	})
}
