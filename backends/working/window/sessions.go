// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/session"
)

// Sessions loads conversations for models, and manages them for people. It keeps no state
// of its own: any number of processes may work on one store. It is safe for concurrent use.
//
// A session that does not exist is ErrNotFound, where nothing else is said; a store that
// does not answer is ErrUnavailable, and never an empty session.
type Sessions struct {
	cfg *Config
}

// on calls f with the session that a scope names. Its error says what was being done.
func on(s backends.Scope, doing string, f func(k session.Key) error) error {
	k, _, err := session.KeyOf(s)
	if err != nil {
		return fmt.Errorf("%s a session: %w", doing, err)
	}
	if err := f(k); err != nil {
		return fmt.Errorf("%s session %s: %w", doing, k, err)
	}
	return nil
}

// change is on for what writes: see [store.Begin].
func (s *Sessions) change(ctx context.Context, scope backends.Scope, doing string, f func(ctx context.Context, k session.Key) error) error {
	return on(scope, doing, func(k session.Key) error {
		ctx, err := store.Begin(ctx, s.cfg.Sessions, k.Partition)
		if err != nil {
			return err
		}
		return f(ctx, k)
	})
}

// find returns the state of a session, nil if there is none.
func (s *Sessions) find(ctx context.Context, k session.Key) (*store.Session, error) {
	st, err := s.cfg.Sessions.Session(ctx, k.Partition, k.ID)
	if errors.Is(err, backends.ErrNotFound) {
		return nil, nil
	}
	return st, err
}

// update changes the state of a session.
func (s *Sessions) update(ctx context.Context, k session.Key, u store.SessionUpdate) (*store.Session, error) {
	u.Session = k.ID
	return s.cfg.Sessions.Update(ctx, k.Partition, &u)
}

// List returns a page of the sessions of the scope's user, or of its agent where it names no
// user, in the order in which they began. Each is met once, whether it changes or not.
func (s *Sessions) List(ctx context.Context, scope backends.Scope, page store.Page) (*store.SessionPage, error) {
	p, err := scope.Speaker()
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	found, err := s.cfg.Sessions.List(ctx, store.SessionQuery{Partition: &p, Page: page})
	if err != nil {
		return nil, fmt.Errorf("listing the sessions of %s: %w", p, err)
	}
	return found, nil
}

// Get returns the state of the session that the scope names: its title, how long it is, its
// summary, how far it was learnt from.
func (s *Sessions) Get(ctx context.Context, scope backends.Scope) (st *store.Session, err error) {
	err = on(scope, "looking up", func(k session.Key) error {
		st, err = s.cfg.Sessions.Session(ctx, k.Partition, k.ID)
		return err
	})
	return st, err
}

// Read returns a range of the log as it was said: for people who read on, and back. Entries
// that only mark the end of a turn are left out, so that there may be less than r.Limit;
// sequence numbers have no gaps otherwise. A session that does not exist has none.
func (s *Sessions) Read(ctx context.Context, scope backends.Scope, r store.Range) (entries []store.Entry, err error) {
	err = on(scope, "reading", func(k session.Key) error {
		entries, err = s.cfg.Sessions.Read(ctx, k.Partition, k.ID, r)
		return err
	})
	return slices.DeleteFunc(entries, func(e store.Entry) bool { return einox.SaysNothing(e.Message.Message) }), err
}

// openTurn is how long after its last message a turn that is not done may still go on, as
// in package working.
const openTurn = 2 * time.Minute

// KeepSummary stores with the session a text that covers it from its first message up to
// the one with that sequence number, by compare-and-swap: messages that are appended
// meanwhile are not covered.
//
// A turn that may still go on is not covered: where upto reaches into or past one, the
// summary counts as ending before it, although its text may know more. A turn goes on until
// it is done, or its last message is two minutes old.
//
// It returns false where nothing was stored: there is a summary that reaches as far,
// another one came first, or no complete turn is covered. Repeating a call that failed is
// harmless. A message that the log does not have is ErrInvalid.
func (s *Sessions) KeepSummary(ctx context.Context, scope backends.Scope, upto int64, text string) (kept bool, err error) {
	if text == "" || upto < 1 {
		return false, fmt.Errorf("keeping a summary: %w: needs a text, and the last message that it covers", backends.ErrInvalid)
	}
	err = s.change(ctx, scope, "keeping a summary of", func(ctx context.Context, k session.Key) error {
		st, err := s.cfg.Sessions.Session(ctx, k.Partition, k.ID)
		if err != nil {
			return err
		}
		if upto > st.LastSeq {
			return fmt.Errorf("%w: it covers message %d, and the log ends with %d", backends.ErrInvalid, upto, st.LastSeq)
		}
		upto, err := s.complete(ctx, k, st, upto)
		if err != nil || upto <= st.SummaryUpto {
			return err
		}
		_, err = s.update(ctx, k, store.SessionUpdate{Summarised: &st.SummaryUpto, Summary: &text, SummaryUpto: &upto})
		kept = err == nil
		if errors.Is(err, backends.ErrConflict) {
			return nil
		}
		return err
	})
	return kept, err
}

// complete returns how far a summary may reach before the first turn that may still go on.
func (s *Sessions) complete(ctx context.Context, k session.Key, st *store.Session, upto int64) (int64, error) {
	var log []store.Entry
	for after := st.SummaryUpto; after < st.LastSeq; after = lastSeq(log) {
		page, err := s.cfg.Sessions.Read(ctx, k.Partition, k.ID, store.Range{After: after, Upto: st.LastSeq})
		if err != nil {
			return 0, err
		}
		if len(page) == 0 {
			return 0, fmt.Errorf("%w: %w", backends.ErrNotFound, errDeleted)
		}
		log = append(log, page...)
	}
	if n, _ := session.Complete(log, s.cfg.Clock(), openTurn); n < len(log) {
		upto = min(upto, log[n].Seq-1)
	}
	return upto, nil
}
