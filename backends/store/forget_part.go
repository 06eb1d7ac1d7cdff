// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// selection is what a Forget of a part found in the log of its user.
type selection struct {
	part     *backends.Part
	messages map[source]bool
	turns    map[source]bool
	from, to time.Time // of the messages
}

// source is a message or a turn of a session.
type source struct{ session, id string }

// learning is how long a Forget waits for a process that learns from a session, and afterLast
// how long after a message a tool of its turn may have noted something down.
const (
	learning  = time.Minute
	afterLast = 10 * time.Minute
)

// part erases what was said, and what came of it.
func (f *forgetting) part(part *backends.Part) error {
	switch {
	case f.p.Kind != backends.PartitionUser:
		return fmt.Errorf("a part: %w: of users alone; forget a workspace or an agent as a whole, or delete its memories", backends.ErrInvalid)
	case len(part.Messages) > 0 && part.Session == nil:
		return fmt.Errorf("messages: %w: name their session", backends.ErrInvalid)
	case part.Session == nil && part.From.IsZero() && part.To.IsZero():
		return fmt.Errorf("a part: %w: name a session or a time; without a part everything is forgotten", backends.ErrInvalid)
	}
	f.said = selection{part: part, messages: map[source]bool{}, turns: map[source]bool{}}
	f.owner = "forget-" + backends.NewID()
	if part.Session != nil {
		if err := f.session(*part.Session); err != nil {
			return err
		}
	} else {
		if err := f.eachSession(f.p, func(s Session) error { return f.session(s.ID) }); err != nil {
			return err
		}
	}
	var err error
	f.receipt.Memories, err = f.memories(f.p)
	if err != nil {
		return err
	}
	return f.elsewhere()
}

// session erases the part that a session has, while nothing learns from it.
func (f *forgetting) session(id string) error {
	release, err := f.acquire(id)
	if errors.Is(err, backends.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	seqs, err := f.selected(f.p, id, func(e *Entry) bool { return f.said.add(id, e) })
	if err != nil {
		return err
	}
	if f.said.whole() {
		f.receipt.Sessions, f.receipt.Messages = f.receipt.Sessions+1, f.receipt.Messages+len(seqs)
		return f.s.Delete(f.ctx, f.p, id)
	}
	if len(seqs) == 0 {
		return nil
	}
	n, err := f.s.EraseMessages(f.ctx, f.p, id, seqs...)
	f.receipt.Messages += n
	if err != nil {
		return err
	}
	return f.blobs(id)
}

// acquire takes the lease of a session, once whoever learns from it is done.
func (f *forgetting) acquire(id string) (release func(), err error) {
	for waited := time.Duration(0); ; waited += pause {
		s, err := f.s.Update(f.ctx, f.p, &SessionUpdate{Session: id, Acquire: &Acquire{Owner: f.owner, For: learning}})
		switch {
		case err == nil:
			return func() {
				_, _ = f.s.Update(f.ctx, f.p, &SessionUpdate{Session: id, Token: s.Lease.Token, Release: true}) // else it expires, or went with its session
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

const pause = 100 * time.Millisecond

// blobs removes the blobs of a session: what left the context may be what was erased.
func (f *forgetting) blobs(session string) error {
	return f.eachBlob(f.p, session, func(name string) error {
		f.receipt.Blobs++
		return f.s.PutBlob(f.ctx, f.p, session, name, nil)
	})
}

// whole reports whether sessions go as a whole.
func (s *selection) whole() bool {
	return len(s.part.Messages) == 0 && s.part.From.IsZero() && s.part.To.IsZero()
}

// add reports whether a message is selected, and notes it. A call of a tool and its result
// go together, with all the calls of their turn.
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

// names reports whether the part has a message, or its turn, as far as it names any.
func (s *selection) names(e *Entry) bool {
	named := s.part.Messages
	return len(named) == 0 || slices.Contains(named, e.ID) || e.Turn != "" && slices.Contains(named, e.Turn)
}

// in reports whether a time is in the range of the part.
func (s *selection) in(t time.Time) bool {
	return !t.Before(s.part.From) && (s.part.To.IsZero() || t.Before(s.part.To))
}

// during reports whether something happened while the messages were said.
func (s *selection) during(t time.Time) bool {
	return len(s.messages) > 0 && !t.Before(s.from) && !t.After(s.to.Add(afterLast))
}

// selects reports whether a memory is to be erased.
func (f *forgetting) selects(p backends.Partition, m *backends.Memory) bool {
	return f.owns(p, m) && (f.all || f.said.taught(m))
}

// taught reports whether a memory comes from what was selected.
func (s *selection) taught(m *backends.Memory) bool {
	from := m.Origin.Session
	if s.part.Session != nil && from != *s.part.Session {
		return false
	}
	for _, id := range m.Origin.MessageIDs {
		if s.messages[source{from, id}] {
			return true
		}
	}
	noted := m.Origin.Author == backends.AuthorAgent && s.during(m.Created)
	switch {
	case s.whole() || noted:
		return true
	case m.Origin.Turn != "":
		return len(m.Origin.MessageIDs) == 0 && s.turns[source{from, m.Origin.Turn}]
	}
	return s.part.Session == nil && len(m.Origin.MessageIDs) == 0 && s.in(m.Since())
}
