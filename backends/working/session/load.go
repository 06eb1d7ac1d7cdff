// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
)

// mostMessages is the default of LoadRequest.Messages.
const mostMessages = 1000

// LoadRequest asks for the end of a conversation.
type LoadRequest struct {
	Scope backends.Scope // names the session. Required.
	// Tokens is how many the turns may have together, as counted when they were
	// appended; the summary and notices are not counted. Optional. Defaults to
	// any number.
	Tokens int
	// TurnTokens is the most that one turn counts as: a caller who makes large turns
	// smaller afterwards need not have them hide what was said before. Optional.
	// Defaults to what the turn has.
	TurnTokens int
	// Messages is how many messages the turns may have together. Optional.
	// Defaults to 1000.
	Messages int
}

// History is the end of a conversation as a model may be shown it.
type History struct {
	// Messages are the summary of what was said up to Session.SummaryUpto, a
	// notice of what lies between it and From, and the turns from From on, whole.
	// They are the caller's own.
	Messages []*schema.Message
	Session  *store.Session // nil: there is no such session

	From    int64 // the sequence number of the first message of the turns; Upto+1: there are none
	Upto    int64 // the last one in the log
	Earlier int64 // how many lie between the summary and From
	Tokens  int   // of Messages, those of the log as they were counted when appended
}

// Load returns the newest whole turns of a session that fit, behind what is
// known of those before. A session that does not exist is an empty History.
//
// The newest turn is there even if it is larger than what was asked for. A turn
// that was resumed after others had begun is put together where it began, if
// that lies in the window; if it lies before, the window begins after the resumed
// part instead, unless that costs more than half of it: then the part stands
// alone, and a tool's result whose call is not in sight becomes a user's message.
// Where the newest turn is such a one, the window goes back to where it began,
// with what others said in between, as far as that is among the last
// LoadRequest.Messages messages.
//
// Calls without a result get one that says so, and a list that would begin with
// an assistant begins with a user's message that says that, so that providers
// accept it. Turns without an answer stay. A single message that a provider would
// refuse, such as one of a role of its own, stays as it was said.
//
// What Load reads depends on what it returns, not on how long the session is:
// usually the session's state and one stretch of the log, at the same time.
func (s *Service) Load(ctx context.Context, r *LoadRequest) (*History, error) {
	if r == nil || r.Tokens < 0 || r.TurnTokens < 0 || r.Messages < 0 {
		return nil, fmt.Errorf("load: %w: no request, or a negative limit", backends.ErrInvalid)
	}
	k, err := keyOf(r.Scope)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	t := &tail{Service: s, key: k, limit: limit{tokens: r.Tokens, turn: r.TurnTokens, messages: r.Messages}}
	if t.limit.messages == 0 {
		t.limit.messages = mostMessages
	}
	if err := t.read(ctx); err != nil {
		return nil, fmt.Errorf("loading session %s: %w", k, err)
	}
	if t.state == nil {
		return &History{From: 1}, nil
	}
	return s.history(t.state, t.window()), nil
}

// history puts together what a model is shown.
func (s *Service) history(st *store.Session, window []store.Entry) *History {
	h := &History{Session: st, From: st.LastSeq + 1, Upto: st.LastSeq}
	if n := len(window); n > 0 {
		h.From, h.Upto = window[0].Seq, window[n-1].Seq
	}
	h.Earlier = h.From - 1 - st.SummaryUpto
	if st.SummaryUpto > 0 {
		h.Messages = append(h.Messages, s.summary(st.Summary, st.SummaryUpto))
	}
	if h.Earlier > 0 {
		h.Messages = append(h.Messages, s.notice(st.SummaryUpto+1, h.From-1))
	}
	for _, t := range turnsOf(window) {
		h.Messages = append(h.Messages, s.paired(t)...)
	}
	if len(h.Messages) > 0 && h.Messages[0].Role != schema.User {
		h.Messages = slices.Insert(h.Messages, 0, s.opening())
	}
	tag := key{st.Partition, st.ID}.tag()
	for i, m := range h.Messages {
		if einox.IsTied(m) { // a caller may carry it to another session
			h.Messages[i] = einox.MarkSession(m, tag)
		}
		if seq := einox.SeqOf(m); seq > 0 && !einox.IsNote(m) {
			h.Tokens += s.tokens(&window[seq-h.From]) // sequence numbers have no gaps
		} else {
			h.Tokens += s.cfg.Counter.Message(m)
		}
	}
	return h
}
