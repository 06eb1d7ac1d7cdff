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

// Sessions loads conversations for models, and shows them to people. It is stateless: any number
// of processes may work on one store. It is safe for concurrent use.
//
// A missing session is ErrNotFound, unless a method says otherwise. A store that is down is
// ErrUnavailable, never an empty session.
type Sessions struct {
	cfg *Config
}

// on calls f with the session that a scope names. Its error names the operation.
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

// change is on for writes: see [store.Begin].
func (s *Sessions) change(ctx context.Context, scope backends.Scope, doing string, f func(ctx context.Context, k session.Key) error) error {
	return on(scope, doing, func(k session.Key) error {
		ctx, err := store.Begin(ctx, s.cfg.Sessions, k.Partition)
		if err != nil {
			return err
		}
		return f(ctx, k)
	})
}

// find returns the state of a session, nil if it is missing.
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

// List returns a page of the sessions of the scope's user, in the order in which they began. If
// the user is empty, it lists the agent's. Each appears once, even if it changes meanwhile.
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

// Get returns the state of the session that the scope names: its title, its length, its summary,
// and how far it was learnt from.
func (s *Sessions) Get(ctx context.Context, scope backends.Scope) (st *store.Session, err error) {
	err = on(scope, "looking up", func(k session.Key) error {
		st, err = s.cfg.Sessions.Session(ctx, k.Partition, k.ID)
		return err
	})
	return st, err
}

// Read returns a range of the log in the original words, for people who read back and forth. It
// leaves out entries that only mark the end of a turn, so that it may return fewer than r.Limit.
// Only these make gaps in the sequence numbers. A missing session has no entries.
func (s *Sessions) Read(ctx context.Context, scope backends.Scope, r store.Range) (entries []store.Entry, err error) {
	err = on(scope, "reading", func(k session.Key) error {
		entries, err = s.cfg.Sessions.Read(ctx, k.Partition, k.ID, r)
		return err
	})
	return slices.DeleteFunc(entries, func(e store.Entry) bool { return einox.SaysNothing(e.Message.Message) }), err
}

// Rename gives the session a title for people, of at most 256 runes; the empty title
// removes it.
func (s *Sessions) Rename(ctx context.Context, scope backends.Scope, title string) error {
	return s.change(ctx, scope, "renaming", func(ctx context.Context, k session.Key) error {
		_, err := s.update(ctx, k, store.SessionUpdate{Title: &title})
		return err
	})
}

// Expire ends the session after ttl from now, with everything that belongs to it; 0 lets it live
// for ever. A log with a time to live of its own moves the end with each message.
func (s *Sessions) Expire(ctx context.Context, scope backends.Scope, ttl time.Duration) error {
	if ttl < 0 {
		return fmt.Errorf("expiring a session: %w: %s is negative: use DeleteSession", backends.ErrInvalid, ttl)
	}
	var end time.Time
	if ttl > 0 {
		end = s.cfg.Clock().Add(ttl)
	}
	return s.change(ctx, scope, "expiring", func(ctx context.Context, k session.Key) error {
		_, err := s.update(ctx, k, store.SessionUpdate{Expires: &end})
		return err
	})
}

// openTurn is how long after its last message a turn that is not done may still go on, as in
// package working.
const openTurn = 2 * time.Minute

// KeepSummary stores text with the session as the summary of the messages up to sequence number
// upto. It does so by compare-and-swap: messages appended meanwhile stay outside the summary.
//
// A summary covers complete turns only. A turn goes on until it is done, or its last message is
// two minutes old. If upto reaches into or past such a turn, the summary counts as ending before
// it, although its text may know more.
//
// It returns false if it stored nothing: a summary that reaches as far exists, another one came
// first, or upto covers no complete turn. Repeating a failed call is harmless. A message beyond
// the log is ErrInvalid.
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

// forkPage is how many messages Fork copies at a time.
const forkPage = 200

// Fork begins the session newSession, of the same user, with messages 1 to upto of the scope's
// session, which stays as it is; upto 0 is all of them. The copies have the same ids and
// sequence numbers, and learning skips them. The fork also gets the title, the end of life, and
// a summary that reaches no further than upto. Archives and interrupted turns stay behind.
//
// Messages are copied in pages, title and summary last. The same call completes an interrupted
// fork; deleting it works too. Until Fork returns, only Fork may write to newSession: if it has
// other messages than the first ones of this fork, Fork returns ErrConflict. A message beyond
// the session's log, and an illegal name, are ErrInvalid.
func (s *Sessions) Fork(ctx context.Context, scope backends.Scope, newSession string, upto int64) (fork *store.Session, err error) {
	err = s.change(ctx, scope, "forking", func(ctx context.Context, from session.Key) error {
		source, err := s.cfg.Sessions.Session(ctx, from.Partition, from.ID)
		if err != nil {
			return err
		}
		if upto == 0 {
			upto = source.LastSeq
		}
		if newSession == "" || upto < 1 || upto > source.LastSeq {
			return fmt.Errorf("%w: to session %q, up to message %d of %d", backends.ErrInvalid, newSession, upto, source.LastSeq)
		}
		to := session.Key{Partition: from.Partition, ID: newSession}
		after, err := s.copied(ctx, to, from, upto)
		for err == nil && after < upto {
			after, err = s.copyPage(ctx, to, from, source.Scope, after, upto)
		}
		if err != nil {
			return err
		}
		u := store.SessionUpdate{Title: &source.Title, Expires: &source.Expires}
		if source.SummaryUpto <= upto {
			u.Summary, u.SummaryUpto = &source.Summary, &source.SummaryUpto
		}
		fork, err = s.update(ctx, to, u)
		return err
	})
	return fork, err
}

// copied returns how many messages a fork has: its last one must be the source's at the same
// place.
func (s *Sessions) copied(ctx context.Context, to, from session.Key, upto int64) (int64, error) {
	there, err := s.cfg.Sessions.Read(ctx, to.Partition, to.ID, store.Range{Limit: 1, Last: true})
	if err != nil || len(there) == 0 {
		return 0, err
	}
	last := lastSeq(there)
	want, err := s.cfg.Sessions.Read(ctx, from.Partition, from.ID, store.Range{After: last - 1, Upto: last})
	if err == nil && (from == to || last > upto || len(want) != 1 || want[0].ID != there[0].ID) {
		err = fmt.Errorf("%w: session %q holds something else: give another name, or delete it", backends.ErrConflict, to.ID)
	}
	return last, err
}

// copyPage copies messages behind the fork's last one, and returns how many it has then.
func (s *Sessions) copyPage(ctx context.Context, to, from session.Key, scope backends.Scope, after, upto int64) (int64, error) {
	page, err := s.cfg.Sessions.Read(ctx, from.Partition, from.ID, store.Range{After: after, Upto: upto, Limit: forkPage})
	if err != nil {
		return after, err
	}
	if len(page) == 0 {
		return after, fmt.Errorf("%w: %w", backends.ErrNotFound, errDeleted)
	}
	scope.SessionID = to.ID
	st, err := s.cfg.Sessions.Append(ctx, to.Partition, to.ID, &store.Append{Entries: page, Scope: scope, Learnt: true})
	if err == nil && st.LastSeq != lastSeq(page) {
		err = fmt.Errorf("%w: another caller writes to session %q: give another name, or delete it", backends.ErrConflict, to.ID)
	}
	return lastSeq(page), err
}
