// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/einox/adkx"
	"github.com/einomem/einomem/internal/speech"
)

// Private returns a private copy of m, such as a message of a user or a tool's result; m stays as
// it is. The log and the archive store a placeholder for it. Learning skips it, and the agent's
// answers behind it in the same turn, which may repeat it. The mark is a string in Extra; it
// survives a checkpoint and stays out of requests to models. Mark a tool's result where messages
// pass: before [Hooks.Prepare] or [Hooks.Finish]. Config.Learn does it everywhere, by the name of
// the tool.
func Private(m *schema.Message) *schema.Message {
	if m == nil {
		return nil
	}
	return einox.MarkPrivate(m)
}

// withhold returns messages with the private ones marked. A message is private if Config.Learn or
// the user asks to leave it out, if it answers a private one in the same turn, or if it is said
// under [backends.Incognito]. It returns messages itself if they all stay as they are.
func (h *Hooks) withhold(ctx context.Context, messages []*schema.Message) []*schema.Message {
	out := messages
	mark := func(i int, how func(*schema.Message) *schema.Message) {
		if einox.IsPrivate(out[i]) {
			return
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		out[i] = how(out[i])
	}
	var before, round []int // the indexes of the messages of the round before, and of this one
	hidden := false
	for i, m := range messages {
		if !said(m) {
			hidden = hidden || m != nil && m.Role == schema.System && einox.IsPrivate(m) // see turn.stamp
			continue
		}
		if opens(messages, round, m) {
			before, round, hidden = round, nil, false
		}
		wish := speech.NoWish
		if m.Role == schema.User {
			wish = speech.WishOf(einox.Text(m))
		}
		switch {
		case wish == speech.ForgetThat:
			that, how := round, einox.MarkPrivate
			if len(round) == 0 {
				that, how = before, einox.MarkPrivateBefore
			}
			for _, j := range that {
				mark(j, einox.MarkPrivate)
			}
			mark(i, how)
		case wish == speech.ForgetThis, hidden && m.Role != schema.User, !h.learns(ctx, m):
			mark(i, einox.MarkPrivate)
		}
		hidden = hidden || einox.IsPrivate(out[i])
		round = append(round, i)
	}
	return out
}

// opens reports whether m begins a round behind the messages in these places.
func opens(messages []*schema.Message, round []int, m *schema.Message) bool {
	if len(round) == 0 || m.Role != schema.User {
		return false
	}
	last := messages[round[len(round)-1]]
	return last.Role != schema.User && (einox.TurnOf(m) == "" || einox.TurnOf(m) != einox.TurnOf(last))
}

// learns reports whether a message may be remembered. Messages of the log were decided before. A
// panic of Config.Learn makes the message private.
func (h *Hooks) learns(ctx context.Context, m *schema.Message) (ok bool) {
	switch {
	case einox.SeqOf(m) > 0:
		return true
	case backends.IsIncognito(ctx):
		return false
	case h.cfg.Learn == nil:
		return true
	}
	h.guard(ctx, StageRecord, func() { ok = h.cfg.Learn(ctx, m) })
	return ok
}

// TurnID returns the id of the turn in which a tool is called under ctx, "" outside of one.
func (h *Hooks) TurnID(ctx context.Context) string {
	if r := running(ctx, h); r != nil {
		return r.turn.id
	}
	return h.find(adkx.Messages(ctx)).id
}

// IsPrivate reports whether the writes of a tool that is called under ctx are private. They are
// under [backends.Incognito], and in a turn with a private message, which the arguments of the call
// may repeat.
func (h *Hooks) IsPrivate(ctx context.Context) bool {
	if backends.IsIncognito(ctx) {
		return true
	}
	if r := running(ctx, h); r != nil && slices.ContainsFunc(r.turn.said, einox.IsPrivate) {
		return true
	}
	messages := adkx.Messages(ctx)
	user := lastUser(messages)
	return user >= 0 && slices.ContainsFunc(messages[turnStart(messages, user):], func(m *schema.Message) bool {
		return m != nil && m.Role != schema.Assistant && einox.IsPrivate(m)
	})
}
