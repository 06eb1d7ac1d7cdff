// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

const (
	// forkPage is how many messages are copied at a time.
	forkPage = 200
	// forkLease is how long after its last step a fork keeps others from learning
	// from what it has copied; the same fork may go on at any time.
	forkLease = 30 * time.Second
	// forkPause is how long nobody learns by itself from a fork that was
	// interrupted: until then it can be repeated without anything learnt twice.
	forkPause = 24 * time.Hour
)

// Fork begins the session newSession, of the same user, with messages 1 to upto of
// the one that the scope names, which stays as it is; upto 0 is all of them. The
// copies have the same ids and numbers, and count as learnt from. The title goes
// along, the end of life, and the summary if it reaches no further than upto;
// archives and interrupted turns do not.
//
// A fork is copied in pages. Repeating one that failed, or whose process died,
// completes it, and repeating a complete one changes nothing; see
// Info.Incomplete. One that is not repeated within a day is learnt from where
// it stopped. Nobody else may write to newSession until Fork returns. If
// there is a session of that name that is not this fork, or if it is the
// session's own, Fork returns ErrConflict. No such session is ErrNotFound, and
// messages that it does not have are ErrInvalid.
func (s *Service) Fork(ctx context.Context, scope backends.Scope, newSession string, upto int64) (*Info, error) {
	from, err := keyOf(scope)
	if err != nil {
		return nil, fmt.Errorf("fork: %w", err)
	}
	to := key{partition: from.partition, id: newSession}
	if err := store.ValidateSession(newSession); err != nil || newSession == "" || upto < 0 {
		return nil, errors.Join(fmt.Errorf("fork: %w: to session %q, up to message %d", backends.ErrInvalid, newSession, upto), err)
	}
	st, err := s.fork(ctx, from, to, upto)
	if err != nil {
		return nil, fmt.Errorf("forking session %s to %q: %w", from, newSession, err)
	}
	return infoOf(st), nil
}

func (s *Service) fork(ctx context.Context, from, to key, upto int64) (*store.Session, error) {
	if from == to {
		return nil, fmt.Errorf("%w: a session is no fork of itself: give another name", backends.ErrConflict)
	}
	source, err := s.cfg.Sessions.Session(ctx, from.partition, from.id)
	if err != nil {
		return nil, err
	}
	if upto > source.LastSeq {
		return nil, fmt.Errorf("%w: the log ends with message %d", backends.ErrInvalid, source.LastSeq)
	}
	f := &fork{Service: s, from: from, to: to, source: source}
	f.id = forkID{Session: source.ID, Born: source.Created.UnixMicro(), Upto: upto}
	for n := 0; ; n++ {
		err = f.try(ctx, upto == 0)
		if !errors.Is(err, backends.ErrConflict) || n == 2 {
			return f.state, err
		}
	}
}

// fork is one fork at work.
type fork struct {
	*Service
	from, to key
	source   *store.Session
	id       forkID
	state    *store.Session // of the new session
	sure     int64          // so many of its messages are known to be the source's
}

// try takes the steps that are left. The same fork may be at work elsewhere: then
// a step may be in conflict, and a second try meets what the other has done.
func (f *fork) try(ctx context.Context, all bool) error {
	done, err := f.claim(ctx, all)
	if done || err != nil {
		return err
	}
	for f.sure < f.id.Upto {
		if f.sure < f.state.LastSeq {
			err = f.check(ctx)
		} else {
			err = f.copyPage(ctx)
		}
		if err != nil {
			return err
		}
	}
	u := store.SessionUpdate{
		Version: f.state.Version, Token: f.state.Lease.Token, Release: true,
		Watermark: &f.id.Upto, Retry: &store.Retry{}, Title: &f.source.Title,
	}
	if f.source.SummaryUpto <= f.id.Upto {
		u.Summary, u.SummaryUpto = &f.source.Summary, &f.source.SummaryUpto
	}
	return f.write(ctx, u)
}

// claim makes the new session this fork's, or finds that it is.
func (f *fork) claim(ctx context.Context, all bool) (done bool, err error) {
	if f.state, err = f.find(ctx, f.to); err != nil {
		return false, err
	}
	if f.state == nil {
		scope := f.source.Scope
		scope.SessionID = f.to.id
		if f.state, err = f.cfg.Sessions.Append(ctx, f.to.partition, f.to.id, &store.Append{Scope: scope}); err != nil {
			return false, err
		}
	}
	ours, complete, err := f.known(ctx, all)
	if err != nil || complete {
		return complete, err
	}
	if !ours && (f.state.LastSeq > 0 || f.state.Title != "") {
		return false, fmt.Errorf("%w: there is another session of that name: give a new one, or delete it", backends.ErrConflict)
	}
	if f.id.Upto == 0 {
		f.id.Upto = f.source.LastSeq
	}
	if err := f.write(ctx, f.hold(store.SessionUpdate{Version: f.state.Version, Expires: &f.source.Expires})); err != nil {
		return false, err
	}
	return false, f.cfg.Sessions.PutBlob(ctx, f.to.partition, f.to.id, forkBlob, []byte(f.id.String()))
}

// known reports whether the new session is this fork, or a complete one. A fork of
// all messages is known by its source, and goes on to where it was to end.
func (f *fork) known(ctx context.Context, all bool) (ours, complete bool, err error) {
	same := func(text string) bool {
		id, ok := parseFork(text)
		if all {
			f.id.Upto = id.Upto
		}
		return ok && id == f.id
	}
	if _, ok := parseFork(f.state.Retry.Reason); ok {
		return same(f.state.Retry.Reason), false, nil
	}
	text, err := f.cfg.Sessions.GetBlob(ctx, f.to.partition, f.to.id, forkBlob)
	if errors.Is(err, backends.ErrNotFound) {
		return false, false, nil
	}
	return false, err == nil && f.state.LastSeq > 0 && same(string(text)), err
}

// hold adds to an update that nobody learns from the fork while it is at work, or
// for a while if it dies.
func (f *fork) hold(u store.SessionUpdate) store.SessionUpdate {
	u.Acquire = &store.Acquire{Owner: f.id.String(), For: forkLease}
	u.Retry = &store.Retry{Upto: f.id.Upto + 1, After: f.cfg.Clock().Add(forkPause), Reason: f.id.String()}
	return u
}

// copyPage copies the messages behind those that are there.
func (f *fork) copyPage(ctx context.Context) error {
	entries, err := f.cfg.Sessions.Read(ctx, f.from.partition, f.from.id, store.Range{After: f.state.LastSeq, Upto: f.id.Upto, Limit: forkPage})
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return fmt.Errorf("%w: the session was deleted meanwhile", backends.ErrNotFound)
	}
	st, err := f.cfg.Sessions.Append(ctx, f.to.partition, f.to.id, &store.Append{Entries: entries, Scope: f.state.Scope})
	if err != nil {
		return err
	}
	last := entries[len(entries)-1].Seq
	if st.LastSeq == last {
		f.sure = last
	}
	return f.write(ctx, f.hold(store.SessionUpdate{Token: f.state.Lease.Token, Watermark: &last}))
}

// check looks whether what the new session ends with stands there in the source.
// Then the same holds for all before: copies are appended in order, each once.
func (f *fork) check(ctx context.Context) error {
	last := store.Range{After: f.state.LastSeq - 1, Upto: f.state.LastSeq}
	there, err := f.cfg.Sessions.Read(ctx, f.to.partition, f.to.id, last)
	if err != nil {
		return err
	}
	want, err := f.cfg.Sessions.Read(ctx, f.from.partition, f.from.id, last)
	if err != nil {
		return err
	}
	if len(there) != 1 || len(want) != 1 || there[0].ID != want[0].ID {
		return fmt.Errorf("%w: somebody else writes to the new session: delete it, or give another name", backends.ErrConflict)
	}
	f.sure = f.state.LastSeq
	return nil
}

func (f *fork) write(ctx context.Context, u store.SessionUpdate) error {
	st, err := f.update(ctx, f.to, u)
	if err == nil {
		f.state = st
	}
	return err
}
