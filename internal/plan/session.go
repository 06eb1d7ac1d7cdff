// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Session returns the state of a session after u, which must be valid. st is the
// state before, of a session that exists and is not expired; it is not changed.
// Version and Updated stay as they are: the store sets them when it writes. The
// error is ErrConflict if the version, the summary, the token or the lease is not
// the one expected.
func Session(u *store.SessionUpdate, st *store.Session, now time.Time) (*store.Session, error) {
	out := *st
	out.Failures = slices.Clone(st.Failures)
	err := holds(u, st, now)
	if err == nil && u.Acquire != nil {
		err = acquire(u.Acquire, &out.Lease, now)
	}
	if err != nil {
		return nil, fmt.Errorf("session %q: %w", u.Session, err)
	}
	if u.Release {
		out.Lease = store.Lease{Token: out.Lease.Token}
	}
	set(u, &out)
	return &out, nil
}

// holds checks the version, the summary and the token that the update expects.
func holds(u *store.SessionUpdate, st *store.Session, now time.Time) error {
	if u.Version != 0 && u.Version != st.Version {
		return fmt.Errorf("%w: it has version %d, %d was expected: read it again", backends.ErrConflict, st.Version, u.Version)
	}
	if u.Summarised != nil && *u.Summarised != st.SummaryUpto {
		return fmt.Errorf("%w: its summary reaches up to message %d, %d was expected: read it again", backends.ErrConflict, st.SummaryUpto, *u.Summarised)
	}
	if u.Token == 0 {
		return nil
	}
	switch l := st.Lease; {
	case l.Owner == "" || l.Token != u.Token:
		return fmt.Errorf("%w: token %d is not that of the lease, which is %d: acquire it again", backends.ErrConflict, u.Token, l.Token)
	case !now.Before(l.Expires):
		return fmt.Errorf("%w: the lease of token %d ended at %s: acquire it again", backends.ErrConflict, u.Token, l.Expires)
	}
	return nil
}

// acquire grants the lease if it is free, expired, or the owner's already.
func acquire(a *store.Acquire, l *store.Lease, now time.Time) error {
	if l.Owner != "" && l.Owner != a.Owner && now.Before(l.Expires) {
		return fmt.Errorf("%w: %s holds the lease until %s", backends.ErrConflict, l.Owner, l.Expires)
	}
	if l.Owner != a.Owner {
		l.Owner = a.Owner
		l.Token = max(l.Token+1, now.UnixMicro())
	}
	l.Expires = now.Add(a.For)
	return nil
}

// set sets the fields that the update names.
func set(u *store.SessionUpdate, st *store.Session) {
	if u.Watermark != nil { // never beyond the log: later messages were not learnt from
		st.Watermark = max(st.Watermark, min(*u.Watermark, st.LastSeq))
	}
	assign(&st.Title, u.Title)
	assign(&st.Summary, u.Summary)
	assign(&st.SummaryUpto, u.SummaryUpto)
	assign(&st.Retry, u.Retry)
	if u.Failures != nil {
		st.Failures = slices.Clone(*u.Failures)
	}
	assign(&st.Expires, u.Expires)
}

func assign[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
