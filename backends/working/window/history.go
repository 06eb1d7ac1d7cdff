// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cloudwego/eino/schema"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/session"
	"github.com/einomem/einomem/internal/work"
)

const (
	// defaultMessages is the default of LoadRequest.Messages.
	defaultMessages = 1000
	// firstPage is how many messages the first read of the log asks for where only tokens bound
	// the history. Each further read doubles the number, up to little more than
	// LoadRequest.Messages.
	firstPage = 100
)

// LoadRequest asks for the end of a conversation.
type LoadRequest struct {
	Scope backends.Scope // names the session. Required.
	// Tokens is how many the turns may have together, as counted when they were appended. The
	// summary and the notice come on top. Optional. Defaults to any number.
	Tokens int
	// Messages is how many messages the turns may have together. Optional. Defaults to
	// 1000.
	Messages int
}

// History is the end of a conversation in the form for a model.
type History struct {
	// Messages are the summary of the messages up to Session.SummaryUpto, a notice of the gap
	// between it and From, and the turns from From on. They are the caller's own.
	Messages []*schema.Message
	Session  *store.Session // nil: the session is missing

	From int64 // the sequence number of the first message of the turns; Upto+1: there are none
	Upto int64 // the last one in the log
}

// Load returns the newest turns of a session that fit. The summary of older turns comes first,
// then a notice of the messages between the two. Archives and the tools of package toolkit read
// these by the reference in the notice, such as "log-12-40". A missing session is an empty
// History.
//
// The history begins with a turn, and always has the newest turn, whatever its size. The
// messages of a turn stand together, where the last one stands: a turn may be interrupted,
// and resumed after others. Of a turn that began before the history, only the part within it is
// shown.
//
// Providers accept the messages: interrupted calls get a result that says so, a result that lost
// its call becomes a user's message, and so on. Unanswered turns stay. Each
// message has a mark with its sequence number in the log, its turn and its number in the turn.
// Providers get the messages without it.
//
// The cost of Load depends on the size of its result, whatever the length of the session.
// Usually it reads the session's state and one page of the log, at the same time.
func (s *Sessions) Load(ctx context.Context, r *LoadRequest) (*History, error) {
	if r == nil || r.Tokens < 0 || r.Messages < 0 {
		return nil, fmt.Errorf("loading a session: %w: no request, or a negative limit", backends.ErrInvalid)
	}
	return s.load(ctx, r.Scope, limits{tokens: r.Tokens, turn: math.MaxInt, messages: cmp.Or(r.Messages, defaultMessages)})
}

// limits are the bounds of a history.
type limits struct {
	tokens   int // 0: any number
	turn     int // the most tokens that one turn counts as
	messages int
}

func (l limits) exceeded(tokens, messages int) bool {
	return messages > l.messages || l.tokens > 0 && tokens > l.tokens
}

func (s *Sessions) load(ctx context.Context, scope backends.Scope, l limits) (*History, error) {
	h := &History{From: 1}
	err := on(scope, "loading", func(k session.Key) error {
		st, entries, err := s.end(ctx, k, l)
		if err != nil || st == nil {
			return err
		}
		if entries, err = s.newest(ctx, k, st.SummaryUpto, entries, l); err != nil {
			return err
		}
		h = s.history(k, st, entries)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// end returns the state of a session, nil if it is missing, and the end of its log. It reads
// both at the same time, and the log again if that is older than the state.
func (s *Sessions) end(ctx context.Context, k session.Key, l limits) (st *store.Session, entries []store.Entry, err error) {
	r := store.Range{Limit: l.messages + 1, Last: true} // one more shows where a turn begins
	if l.tokens > 0 {
		r.Limit = min(r.Limit, firstPage)
	}
	g, both := errgroup.WithContext(ctx)
	g.Go(func() error {
		return work.Catch("the store", func() (err error) { st, err = s.find(both, k); return err })
	})
	g.Go(func() error {
		return work.Catch("the store", func() (err error) {
			entries, err = s.cfg.Sessions.Read(both, k.Partition, k.ID, r)
			return err
		})
	})
	if err := g.Wait(); err != nil || st == nil {
		return nil, nil, err
	}
	if lastSeq(entries) < st.LastSeq {
		entries, err = s.cfg.Sessions.Read(ctx, k.Partition, k.ID, r)
		if err == nil && lastSeq(entries) < st.LastSeq {
			err = fmt.Errorf("%w: %w: try again", backends.ErrUnavailable, errDeleted)
		}
	}
	return st, entries, err
}

func lastSeq(entries []store.Entry) int64 {
	if n := len(entries); n > 0 {
		return entries[n-1].Seq
	}
	return 0
}

// newest returns the entries for the history: the newest turns within the limits, after a
// sequence number. It begins with entries, the end of the log, and reads back as far as needed.
func (s *Sessions) newest(ctx context.Context, k session.Key, after int64, entries []store.Entry, l limits) ([]store.Entry, error) {
	for {
		entries = slices.DeleteFunc(entries, func(e store.Entry) bool { return e.Seq <= after })
		whole := len(entries) == 0 || entries[0].Seq == after+1
		if from, ok := s.begin(entries, whole, l); ok {
			return entries[from:], nil
		}
		size := min(len(entries), max(l.messages+1-len(entries), firstPage))
		r := store.Range{After: after, Upto: entries[0].Seq - 1, Limit: size, Last: true}
		page, err := s.cfg.Sessions.Read(ctx, k.Partition, k.ID, r)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return nil, fmt.Errorf("%w: %w: try again", backends.ErrUnavailable, errDeleted)
		}
		entries = append(page, entries...)
	}
}

// begin returns where the longest end of the entries starts that is within the limits and begins
// with a turn. If the newest turn alone exceeds them, that is the start of this turn. It returns
// false if earlier entries are needed to decide; whole says that there are none.
func (s *Sessions) begin(entries []store.Entry, whole bool, l limits) (int, bool) {
	from, next := -1, -1 // the longest so far; the last entry that was counted
	tokens, messages := 0, 0
	turns := make(map[string]int) // tokens of each
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		if einox.SaysNothing(e.Message.Message) {
			continue
		}
		if next >= 0 && entries[next].Turn != e.Turn {
			if from >= 0 && l.exceeded(tokens, messages) {
				return from, true
			}
			from = next
		}
		had := turns[e.Turn]
		turns[e.Turn] += s.tokens(e)
		tokens += min(turns[e.Turn], l.turn) - min(had, l.turn)
		messages++
		next = i
	}
	if from >= 0 && l.exceeded(tokens, messages) {
		return from, true
	}
	return 0, whole
}

// tokens returns the size of an entry as counted when it was appended, or counts it.
func (s *Sessions) tokens(e *store.Entry) int {
	if e.Tokens > 0 {
		return e.Tokens
	}
	return s.cfg.Budget.Counter.Message(e.Message.Message)
}

// history builds the History from a session's state and entries.
func (s *Sessions) history(k session.Key, st *store.Session, entries []store.Entry) *History {
	h := &History{Session: st, From: st.LastSeq + 1, Upto: st.LastSeq}
	if n := len(entries); n > 0 {
		h.From, h.Upto = entries[0].Seq, entries[n-1].Seq
	}
	turns, newest := turnsOf(entries), st.Summary
	if n := len(turns); n > 0 {
		newest = einox.Text(turns[n-1][0].Message.Message)
	}
	t := phrasesIn[s.cfg.Language.For(newest)]
	var messages []einox.Marked
	if st.SummaryUpto > 0 {
		messages = append(messages, placeholder(st.Summary, 1, st.SummaryUpto))
	}
	if n := h.From - 1 - st.SummaryUpto; n > 0 {
		notice := fmt.Sprintf(t.earlier, n, einox.LogRef(st.SummaryUpto+1, h.From-1))
		messages = append(messages, placeholder(notice, st.SummaryUpto+1, h.From-1))
	}
	for _, turn := range turns {
		for _, e := range turn {
			messages = append(messages, einox.Logged(e.Message.Message, e.Seq, e.Turn, e.ID))
		}
	}
	messages = einox.Repair(messages, t.repair)
	for i := range messages {
		if m := &messages[i]; m.Seq > 0 && m.Kind == einox.Summary && m.Ref == "" { // a result that lost its call
			m.Ref = einox.LogRef(m.Seq, m.Seq)
		}
	}
	tie(messages, k.Tag())
	h.Messages = einox.Encode(messages)
	return h
}

// turnsOf groups the entries with content by turn, in the order of the turns' last entries.
func turnsOf(entries []store.Entry) [][]store.Entry {
	groups := make(map[string][]store.Entry)
	for i := range entries {
		if e := &entries[i]; !einox.SaysNothing(e.Message.Message) {
			groups[e.Turn] = append(groups[e.Turn], *e)
		}
	}
	turns := slices.SortedFunc(maps.Values(groups), func(a, b []store.Entry) int { return cmp.Compare(lastSeq(a), lastSeq(b)) })
	for _, t := range turns { // several processes may have appended parts of a turn
		slices.SortStableFunc(t, func(a, b store.Entry) int {
			return cmp.Compare(einox.LogIndex(a.Turn, a.ID), einox.LogIndex(b.Turn, b.ID))
		})
	}
	return turns
}

// placeholder returns the message that stands for a range of the log.
func placeholder(text string, from, upto int64) einox.Marked {
	m := schema.UserMessage(text)
	m.Name = "working_memory"
	return einox.Marked{Message: m, Mark: einox.Mark{Kind: einox.Summary, Seq: upto, Ref: einox.LogRef(from, upto)}}
}
