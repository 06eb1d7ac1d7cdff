// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Update implements [store.Sessions].
func (s *Store) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	if err := validateUpdate(p, u); err != nil {
		return nil, err
	}
	var out *store.Session
	err := s.write(ctx, fmt.Sprintf("update session %q", u.Session), func(c *conn) error {
		part, err := c.partition(p)
		if err != nil {
			return err
		}
		out, err = c.updateSession(part, u, s.now())
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func validateUpdate(p backends.Partition, u *store.SessionUpdate) error {
	if err := checkNames(p, ""); err != nil {
		return err
	}
	if u == nil {
		return fmt.Errorf("sqlitestore: update: %w: nothing to update", backends.ErrInvalid)
	}
	if err := u.Validate(); err != nil {
		return fmt.Errorf("sqlitestore: update: %w", err)
	}
	return nil
}

// updateSession checks that u holds and carries it out.
func (c *conn) updateSession(part partition, u *store.SessionUpdate, now time.Time) (*store.Session, error) {
	row, err := c.session(part, u.Session, now)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, fmt.Errorf("session %q: %w", u.Session, backends.ErrNotFound)
	}
	st := &row.state
	if err := holds(u, st, now); err != nil {
		return nil, err
	}
	if u.Acquire != nil {
		if err := acquire(u.Acquire, &st.Lease, now); err != nil {
			return nil, fmt.Errorf("session %q: %w", u.Session, err)
		}
	}
	if u.Release {
		st.Lease = store.Lease{Token: st.Lease.Token}
	}
	change(u, st)
	if err := c.saveSession(row, now); err != nil {
		return nil, err
	}
	return st, nil
}

// holds checks the version and the token that the update expects.
func holds(u *store.SessionUpdate, st *store.Session, now time.Time) error {
	if u.Version != 0 && u.Version != st.Version {
		return fmt.Errorf("session %q: %w: it has version %d, %d was expected: read it again", u.Session, backends.ErrConflict, st.Version, u.Version)
	}
	if u.Token == 0 {
		return nil
	}
	switch l := st.Lease; {
	case l.Owner == "" || l.Token != u.Token:
		return fmt.Errorf("session %q: %w: token %d is not that of the lease, which is %d: acquire it again", u.Session, backends.ErrConflict, u.Token, l.Token)
	case !now.Before(l.Expires):
		return fmt.Errorf("session %q: %w: the lease of token %d ended at %s: acquire it again", u.Session, backends.ErrConflict, u.Token, l.Expires)
	}
	return nil
}

// acquire gives the lease to who asks, if it is free.
func acquire(a *store.Acquire, l *store.Lease, now time.Time) error {
	if l.Owner != "" && l.Owner != a.Owner && now.Before(l.Expires) {
		return fmt.Errorf("%w: %s holds the lease until %s", backends.ErrConflict, l.Owner, l.Expires)
	}
	if l.Owner != a.Owner {
		l.Owner = a.Owner
		l.Token++
	}
	l.Expires = now.Add(a.For)
	return nil
}

// change sets the fields that the update names.
func change(u *store.SessionUpdate, st *store.Session) {
	if u.Watermark != nil { // never beyond the log: what comes later was not learnt from
		st.Watermark = max(st.Watermark, min(*u.Watermark, st.LastSeq))
	}
	assign(&st.Summary, u.Summary)
	assign(&st.SummaryUpto, u.SummaryUpto)
	assign(&st.Retry, u.Retry)
	assign(&st.Failures, u.Failures)
	assign(&st.Expires, u.Expires)
}

func assign[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
