// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// turn is a user's words and everything that answers them: the end of a list of messages, from the
// user messages behind the last answer on. It travels with a wrapped run. Elsewhere [Hooks.find]
// finds it again from the marks on the messages, which survive a checkpoint.
type turn struct {
	id       string         // "" if the messages ask nothing
	scope    backends.Scope // the scope whose memory it uses
	messages []einox.Marked // the context; the slice is the turn's own
	start    int            // the index in messages where the turn starts
	user     int            // the index of its user's last message; -1 if another middleware replaced that by a summary
	last     int            // the number of its last message that has one, 0 if all lack one
	said     []einox.Marked // its user's messages until it began, unmarked
	epoch    string         // the epoch in which it began, see epoch.go
	note     *einox.Marked  // the note, as models read it; nil if the search found nothing
}

// find returns the turn that messages end with. Its id is empty if no message carries one: the turn
// begins here, or the messages ask nothing.
//
// Another middleware may replace a whole turn by a summary, the user's message and its marks with
// it. The system message survives that. With a window it carries the turn's id and its count, so
// that later messages join their turn.
func (h *Hooks) find(messages []einox.Marked) *turn {
	t := &turn{messages: slices.Clone(messages), user: lastUser(messages)}
	if t.user >= 0 {
		t.id, t.epoch, t.start = messages[t.user].Turn, messages[t.user].Epoch, turnStart(messages, t.user)
	}
	if at := systemAt(messages); t.id == "" && h.window != nil && at >= 0 && !t.asks() {
		if m := messages[at]; m.Turn != "" && m.Nth > 0 {
			t.id, t.epoch, t.last, t.start, t.user = m.Turn, m.Epoch, m.Nth, 0, -1
		}
	}
	return t
}

// asks reports whether the turn ends with words of its user.
func (t *turn) asks() bool {
	return t.user >= 0 && !slices.ContainsFunc(t.messages[t.user+1:], func(m einox.Marked) bool {
		return said(m) && m.Role != schema.User
	})
}

// dropNotes removes the messages that stale reports; they lie outside the turn's own words.
func (t *turn) dropNotes(stale func(m einox.Marked) bool) {
	t.messages = slices.DeleteFunc(t.messages, stale)
	if t.user >= 0 {
		t.user = lastUser(t.messages)
		t.start = turnStart(t.messages, t.user)
	}
}

// begin makes it a new turn: marks of an earlier run with the same messages go, except privacy.
func (t *turn) begin(id string) {
	t.id, t.epoch = id, ""
	for i, m := range t.messages[t.start:] {
		if said(m) {
			m.Mark = einox.Mark{Private: m.Private}
			t.messages[t.start+i] = m
			t.said = append(t.said, m)
		}
	}
}

// stamp gives each message of the turn the turn's id and its number in it, unless it has them. Once
// a summary replaced the beginning, a later user message is the summary's, and stays unstamped.
// With carry the system message carries the turn, and whether a part of it is private.
func (t *turn) stamp(carry bool) {
	private := false
	for i := t.start; i < len(t.messages); i++ {
		m := &t.messages[i]
		private = private || m.Private != ""
		switch {
		case !said(*m):
		case t.numbers(m):
			t.last = max(t.last, m.Nth)
		case t.user < 0 && (m.Role == schema.User || m.Turn != ""):
		default:
			t.last++
			m.Turn, m.Nth = t.id, t.last
		}
	}
	if t.user >= 0 && t.epoch != "" {
		t.messages[t.user].Epoch = t.epoch
	}
	at := systemAt(t.messages)
	if !carry || at < 0 {
		return
	}
	m := &t.messages[at]
	if !t.numbers(m) || m.Nth < t.last {
		m.Turn, m.Nth = t.id, t.last
		if private && m.Private == "" { // its next words stay private
			m.Private = einox.Private
		}
	}
	if t.epoch != "" {
		m.Epoch = t.epoch
	}
}

// numbers reports whether m has a number in the turn.
func (t *turn) numbers(m *einox.Marked) bool { return m.Turn == t.id && m.Nth > 0 }

// insert puts messages in front of the one at an index.
func (t *turn) insert(at int, messages ...einox.Marked) {
	t.messages = slices.Insert(t.messages, at, messages...)
	if at <= t.start {
		t.start += len(messages)
	}
	if at <= t.user {
		t.user += len(messages)
	}
}

// maxQuery is how many bytes of what a user says are searched for: the two ends of a longer text.
const maxQuery = 8 << 10

// query returns the text to search for: the user's words in the turn, joined by newlines. It
// replaces invalid UTF-8, and searches for the rest.
func (t *turn) query() string {
	var texts []string
	for _, m := range t.messages[t.start : t.user+1] {
		if !said(m) || m.Role != schema.User {
			continue
		}
		if s := einox.Text(m.Message); s != "" {
			texts = append(texts, s)
		}
	}
	return strings.ToValidUTF8(text.Ends(strings.Join(texts, "\n"), maxQuery), "\uFFFD")
}

// before returns the user's last messages before the turn that the context shows, oldest first, at
// most three.
func (t *turn) before() (out []string) {
	const most = 3
	for _, m := range slices.Backward(t.messages[:max(0, t.start)]) {
		if said(m) && m.Role == schema.User && len(out) < most {
			out = append(out, strings.ToValidUTF8(text.Ends(einox.Text(m.Message), maxQuery), "\uFFFD"))
		}
	}
	slices.Reverse(out)
	return out
}

// visible is the part of a conversation that a model sees already, apart from memory.
type visible struct {
	turns map[string]bool // ids of the turns in the context, the one under way among them
	said  map[string]bool // role and text of earlier messages that lack an id, such as a caller's own history
}

// visible returns the part that the context of a turn shows. A placeholder counts as absent.
func (t *turn) visible() visible {
	v := visible{turns: map[string]bool{}, said: map[string]bool{}}
	for i, m := range t.messages {
		if !said(m) || m.Role == schema.Tool || m.Ref != "" {
			continue
		}
		if m.Turn != "" {
			v.turns[m.Turn] = true
		} else if i < t.start {
			v.said[string(m.Role)+text.Fold(einox.Text(m.Message))] = true
		}
	}
	return v
}

// shows reports whether the context holds the source of a hit: the same turn, or the same words of
// the same speaker. It lacks earlier states of a memory, and notes of an agent.
func (v visible) shows(hit *backends.Hit) bool {
	if hit.Before != nil || hit.Origin.Author == backends.AuthorAgent {
		return false
	}
	return v.turns[hit.Origin.Turn] || len(v.said) > 0 && hit.Kind == backends.KindEpisode && v.said[hit.Origin.Role+text.Fold(hit.Text)]
}

// part is a stretch of a turn whose numbers follow one another, free of marks but privacy.
type part struct {
	offset   int // of the first message in the turn
	messages []*schema.Message
}

// parts divides the messages of a stamped turn at its gaps: messages that are missing, or
// placeholders for messages of the log, or unreadable.
func (t *turn) parts() []part {
	var out []part
	for _, m := range t.messages[t.start:] {
		if !t.numbers(&m) || !said(m) || m.Ref != "" {
			continue
		}
		if n := len(out); n == 0 || out[n-1].offset+len(out[n-1].messages) != m.Nth-1 {
			out = append(out, part{offset: m.Nth - 1})
		}
		last := &out[len(out)-1]
		last.messages = append(last.messages, einox.Mark{Private: m.Private}.On(m.Message))
	}
	return out
}

// news returns the end of a part that may be new to the log: the last answer, the messages that it
// answers, and the messages behind it.
func (p part) news() part {
	answers := 0
	for i, m := range slices.Backward(p.messages) {
		if m.Role != schema.Assistant {
			continue
		}
		if answers++; answers == 2 {
			return part{offset: p.offset + i + 1, messages: p.messages[i+1:]}
		}
	}
	return p
}

// said reports whether m is part of the conversation: a message of a user, an assistant or a tool.
// Notes, system messages, summaries and transfers between agents are not.
func said(m einox.Marked) bool {
	if m.Message == nil || m.Kind != "" || m.Digest || m.Retold {
		return false
	}
	return m.Role == schema.User || m.Role == schema.Assistant || m.Role == schema.Tool
}

// lastUser returns the index of the last message that a user said, or -1.
func lastUser(messages []einox.Marked) int {
	for i, m := range slices.Backward(messages) {
		if said(m) && m.Role == schema.User {
			return i
		}
	}
	return -1
}

// turnStart returns the index where the turn starts whose last user message is at index user.
func turnStart(messages []einox.Marked, user int) int {
	start, id := user, messages[user].Turn
	for i, m := range slices.Backward(messages[:user]) {
		switch {
		case !said(m):
		case earlier(m, id):
			return start
		default:
			start = i
		}
	}
	return start
}

// earlier reports whether m was said before the turn: it comes from an assistant, a tool or the
// log, or carries another turn's mark.
func earlier(m einox.Marked, turn string) bool {
	return said(m) && (m.Role != schema.User || m.Seq > 0 || m.Turn != "" && m.Turn != turn)
}

// systemAt returns the index of the first system message of the program, or -1. It skips memory's.
func systemAt(messages []einox.Marked) int {
	return slices.IndexFunc(messages, func(m einox.Marked) bool {
		return m.Message != nil && m.Role == schema.System && m.Kind == ""
	})
}

// Prepare is the on_reply hook for graphs, and for handler interfaces of newer Eino releases. It
// returns messages with the note in its place and the turn marked. It may be called before every
// call of a model with the messages that it returned before: it searches once a turn, and messages
// that left to fit the window stay away. The returned user's message has the note inside: show
// people the message that you gave.
//
// With Config.Window it returns an error if even the shortened messages exceed the window. The
// error says by how much (compaction.OverError). Failures of memory go to Config.OnError.
func (h *Hooks) Prepare(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error) {
	return h.fitting(ctx, h.prepare(ctx, einox.Unfold(messages), true))
}

// Finish records the turn that messages end with: the messages that Prepare returned and all that
// came after them. A second call with the same messages changes nothing, because they carry the
// turn's id. Messages that Prepare never saw are a new turn each time.
//
// The error is always nil; failures of memory go to Config.OnError.
func (h *Hooks) Finish(ctx context.Context, messages []*schema.Message) error {
	h.guard(ctx, StageRecord, func() { h.record(ctx, einox.Unfold(messages), true, true) })
	return nil
}

// MessageModifier returns a modifier for flow/agent/react (its react.AgentConfig.MessageModifier).
// The model sees the note at every call, and the agent's state stays free of it. next, which may be
// nil, runs first.
//
// A modifier sees each call alone, so it searches for each call of the model in a turn. Record
// turns by [Hooks.Finish]. With Config.Window each call is made to fit. The caller keeps the
// history. A call that does not fit goes on, as with [Hooks.MessageRewriter].
func (h *Hooks) MessageModifier(next func(ctx context.Context, input []*schema.Message) []*schema.Message) func(context.Context, []*schema.Message) []*schema.Message {
	return h.modifier(next, func(ctx context.Context, input []*schema.Message) ([]*schema.Message, error) {
		messages := einox.Unfold(input)
		h.guard(ctx, StageSearch, func() { messages = h.show(ctx, messages) })
		return h.fitting(ctx, messages)
	})
}

// MessageRewriter returns a rewriter for flow/agent/react (its react.AgentConfig.MessageRewriter):
// the session's history, the note, and all of it made to fit. The agent's state keeps the result,
// so that it searches once a turn and summarises once. next, which may be nil, runs first. A
// rewriter has no error to return: a context that does not fit goes on, and Config.OnError is
// called. Wrap the model by [Hooks.WrapModel] to refuse it.
//
// It leaves the record to the caller, who knows how the turn ends. Record it by [Hooks.Finish],
// with the agent's input and output (see react.WithMessageFuture). Messages that left the context
// until then are in the archive.
func (h *Hooks) MessageRewriter(next func(ctx context.Context, input []*schema.Message) []*schema.Message) func(context.Context, []*schema.Message) []*schema.Message {
	return h.modifier(next, func(ctx context.Context, input []*schema.Message) ([]*schema.Message, error) {
		return h.fitting(ctx, h.prepare(ctx, einox.Unfold(input), false))
	})
}

// modifier calls next, which may be nil, and then do. It reports do's error.
func (h *Hooks) modifier(next func(context.Context, []*schema.Message) []*schema.Message, do func(context.Context, []*schema.Message) ([]*schema.Message, error)) func(context.Context, []*schema.Message) []*schema.Message {
	return func(ctx context.Context, input []*schema.Message) []*schema.Message {
		if next != nil {
			input = next(ctx, input)
		}
		out, err := do(ctx, input)
		if err != nil {
			h.report(ctx, stageCompact, err)
		}
		return out
	}
}

// show returns messages with the note for the user's last message, answered or still open.
func (h *Hooks) show(ctx context.Context, messages []einox.Marked) []einox.Marked {
	t := h.find(messages)
	if !h.plan.Search || t.user < 0 {
		return messages
	}
	var err error
	if t.scope, err = h.ResolveScope(ctx); err != nil {
		h.report(ctx, StageScope, err)
		return messages
	}
	h.inject(ctx, t)
	return t.messages
}
