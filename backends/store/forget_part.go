// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// selection is what a Forget erases: everything, or a part of a user's words, as the log
// has them.
type selection struct {
	part     *backends.Part // nil: everything
	messages map[source]bool
	turns    map[source]bool
	from, to time.Time       // of the messages
	texts    []string        // of the messages and the memories, as [text.Fold] returns them
	quoted   map[source]bool // turns with an answer that quotes one of them
}

// source is a message or a turn of a session.
type source struct{ session, id string }

// Forget waits at most learning for a process that learns from a session, and looks again
// after each pause. A tool may note something down until afterLast after the last message of
// its turn.
const (
	learning  = time.Minute
	pause     = 100 * time.Millisecond
	afterLast = 10 * time.Minute
)

// part erases the selected words and their quotations. Data that leads to the rest goes
// last, so a call that ended half-way can be repeated.
func (f *forgetting) part() {
	part := f.said.part
	switch {
	case f.err != nil:
		return
	case f.owner.Kind != backends.PartitionUser:
		f.err = fmt.Errorf("a part: %w: of users alone; forget a workspace or an agent as a whole, or delete its memories", backends.ErrInvalid)
	case len(part.Messages) > 0 && part.Session == nil:
		f.err = fmt.Errorf("messages: %w: name their session", backends.ErrInvalid)
	case part.Session == nil && part.From.IsZero() && part.To.IsZero():
		f.err = fmt.Errorf("a part: %w: name a session or a time; without a part everything is forgotten", backends.ErrInvalid)
	}
	for _, id := range f.quoting() {
		f.session(id, f.said.quotes)
	}
	if part.Session != nil {
		f.session(*part.Session, f.said.add)
		return
	}
	f.sessions(f.owner, func(s Session) { f.session(s.ID, f.said.add) })
}

// session erases the part of a session that choose reports, while all learning from it
// waits.
func (f *forgetting) session(id string, choose func(session string, e *Entry) bool) {
	if f.err != nil {
		return
	}
	release, err := f.acquire(id)
	if errors.Is(err, backends.ErrNotFound) || !f.ok(err) {
		return
	}
	defer release()
	erased := f.messages(f.owner, id, func(e *Entry) bool { return choose(id, e) })
	f.receipt.Messages += erased
	switch {
	case f.err != nil:
	case f.said.whole() && id == *f.said.part.Session:
		if f.ok(f.s.Delete(f.ctx, f.owner, id)) {
			f.receipt.Sessions++
		}
	case erased > 0 || f.said.has(id): // what left the context may repeat erased words
		f.receipt.Blobs += f.archives(f.owner, id, nil)
	}
}

// archives erases the blobs of a session, except where keep reports otherwise, and returns how
// many.
func (w *walk) archives(p backends.Partition, session string, keep func(name string) bool) (n int) {
	w.blobs(p, session, func(b BlobInfo) {
		if (keep == nil || !keep(b.Name)) && w.ok(w.s.PutBlob(w.ctx, p, session, b.Name, nil)) {
			n++
		}
	})
	return n
}

// EraseTurns erases turns of a session from its log: each that has one of the ids, or a message
// with one. The blobs of the session go too, since they may repeat the turns. An interrupted turn
// stays.
func EraseTurns(ctx context.Context, s Store, p backends.Partition, session string, ids ...string) error {
	w := &walk{ctx: ctx, s: s, owner: p}
	turns := map[string]bool{}
	named := func(e *Entry) bool {
		return slices.Contains(ids, e.ID) || slices.Contains(ids, e.Turn) || turns[e.Turn]
	}
	w.entries(p, session, func(e *Entry) {
		if e.Turn != "" && named(e) {
			turns[e.Turn] = true
		}
	})
	if w.messages(p, session, named) > 0 {
		w.archives(p, session, func(name string) bool { return strings.HasPrefix(name, openTurns) })
	}
	if w.err != nil {
		return fmt.Errorf("erasing turns of session %q: %w", session, w.err)
	}
	return nil
}

// openTurns begins the names of the blobs of interrupted turns.
const openTurns = "open-turn/"

// acquire takes the lease of a session, once the process that learns from it is done.
func (f *forgetting) acquire(id string) (release func(), err error) {
	owner := "forget-" + backends.NewID()
	for waited := time.Duration(0); ; waited += pause {
		s, err := f.s.Update(f.ctx, f.owner, &SessionUpdate{Session: id, Acquire: &Acquire{Owner: owner, For: learning}})
		switch {
		case err == nil:
			return func() {
				_, _ = f.s.Update(f.ctx, f.owner, &SessionUpdate{Session: id, Token: s.Lease.Token, Release: true}) // else it expires, or went with its session
			}, nil
		case !errors.Is(err, backends.ErrConflict) || waited >= learning:
			return nil, err
		}
		select {
		case <-f.ctx.Done():
			return nil, f.ctx.Err()
		case <-time.After(pause):
		}
	}
}

// whole reports whether sessions go as a whole.
func (s *selection) whole() bool {
	return len(s.part.Messages) == 0 && s.part.From.IsZero() && s.part.To.IsZero()
}

// add reports whether a message is selected, and notes it. A tool call and its result go
// together, with all the calls of their turn.
func (s *selection) add(session string, e *Entry) bool {
	turn := source{session, e.Turn}
	rounds := (len(e.ToolCalls) > 0 || e.ToolCallID != "") && s.turns[turn]
	if !rounds && (!s.names(e) || !s.in(e.Time)) {
		return false
	}
	s.messages[source{session, e.ID}] = true
	if e.Turn != "" {
		s.turns[turn] = true
	}
	if s.from.IsZero() || e.Time.Before(s.from) {
		s.from = e.Time
	}
	if e.Time.After(s.to) {
		s.to = e.Time
	}
	return true
}

// has reports whether a message of a session is selected.
func (s *selection) has(session string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(s.messages)), func(m source) bool { return m.session == session })
}

// names reports whether the part names a message or its turn. A part without names has
// all messages.
func (s *selection) names(e *Entry) bool {
	named := s.part.Messages
	return len(named) == 0 || slices.Contains(named, e.ID) || e.Turn != "" && slices.Contains(named, e.Turn)
}

// in reports whether a time is in the range of the part.
func (s *selection) in(t time.Time) bool {
	return !t.Before(s.part.From) && (s.part.To.IsZero() || t.Before(s.part.To))
}

// during reports whether a time lies within the time of the selected messages.
func (s *selection) during(t time.Time) bool {
	return s.part == nil || len(s.messages) > 0 && !t.Before(s.from) && !t.After(s.to.Add(afterLast))
}

// changed reports whether a selected message taught a change of a memory.
func (s *selection) changed(e *backends.Event) bool {
	return slices.ContainsFunc(e.Messages, func(id string) bool { return s.messages[source{e.Session, id}] })
}

// taught reports whether a memory comes from the selection.
func (s *selection) taught(m *backends.Memory) bool {
	from := m.Origin.Session
	switch {
	case s.part == nil:
		return true
	case slices.ContainsFunc(m.Origin.MessageIDs, func(id string) bool { return s.messages[source{from, id}] }),
		m.Origin.Author == backends.AuthorAgent && text.Quotes(text.Fold(m.Text), s.texts): // an agent wrote down words that are to be forgotten
		return true
	case !s.inSession(from):
		return false
	case s.whole(), m.Origin.Author == backends.AuthorAgent && s.during(m.Created):
		return true
	case len(m.Origin.MessageIDs) > 0:
		return false
	case m.Origin.Turn != "":
		return s.turns[source{from, m.Origin.Turn}]
	}
	return s.part.Session == nil && s.in(m.Since())
}

// spoken returns all texts of a message.
func spoken(m *schema.Message) string {
	all := []string{m.Content, m.ReasoningContent}
	for _, part := range einox.Parts(m) {
		all = append(all, part.Text)
	}
	for _, call := range m.ToolCalls {
		all = append(all, call.Function.Arguments)
	}
	return strings.Join(all, "\n")
}

// quoting notes the words and memories to be forgotten. It returns the sessions with answers
// that hold the whole text of one such message or memory. A text that the user repeats
// elsewhere does not count as a quotation.
func (f *forgetting) quoting() (sessions []string) {
	var kept []string
	drop := func() { // drops texts that are too short, or said elsewhere
		f.said.texts = slices.DeleteFunc(f.said.texts, func(s string) bool {
			return len(s) < text.QuoteFrom || slices.ContainsFunc(kept, func(k string) bool { return strings.Contains(k, s) })
		})
	}
	f.logged(func(session string, e *Entry) {
		switch selected := f.said.inSession(session) && f.said.add(session, e); {
		case e.Erased || e.Role != schema.User:
		case selected:
			f.said.texts = append(f.said.texts, text.Fold(spoken(e.Message.Message)))
		default:
			kept = append(kept, text.Fold(spoken(e.Message.Message)))
		}
	})
	drop()
	if f.err != nil {
		return nil
	}
	m, _ := f.selected(f.owner)
	f.gone = m.gone
	for id, r := range m.all {
		if f.gone[id] {
			f.said.texts = append(f.said.texts, text.Fold(r.Text))
		} else if r.Origin.Role == string(schema.User) && r.Origin.Author != backends.AuthorAgent {
			kept = append(kept, text.Fold(r.Text))
		}
	}
	drop()
	if len(f.said.texts) == 0 {
		return nil
	}
	f.logged(func(session string, e *Entry) {
		if f.said.quotes(session, e) && !slices.Contains(sessions, session) {
			sessions = append(sessions, session)
		}
	})
	return sessions
}

// logged calls do for every message of the user.
func (f *forgetting) logged(do func(session string, e *Entry)) {
	f.sessions(f.owner, func(s Session) {
		f.entries(f.owner, s.ID, func(e *Entry) { do(s.ID, e) })
	})
}

// quotes reports whether a message outside the selection is an answer that quotes the selection,
// and notes it. The tool calls of its turn go with it.
func (s *selection) quotes(session string, e *Entry) bool {
	id, turn := source{session, e.ID}, source{session, e.Turn}
	switch {
	case e.Erased || e.Role == schema.User || s.inSession(session) && s.messages[id]:
		return s.messages[id]
	case (len(e.ToolCalls) > 0 || e.ToolCallID != "") && s.quoted[turn]:
	case !text.Quotes(text.Fold(spoken(e.Message.Message)), s.texts):
		return false
	}
	s.messages[id], s.quoted[turn] = true, true
	return true
}

// inSession reports whether a part may be of a session.
func (s *selection) inSession(session string) bool {
	return s.part.Session == nil || *s.part.Session == session
}
