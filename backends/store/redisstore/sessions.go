// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// session is a session as its hash holds it.
type session struct {
	store.Session
	fields map[string]string
}

// expired reports whether the session is gone at now, removed or not.
func (s *session) expired(now time.Time) bool {
	return !s.Expires.IsZero() && !now.Before(s.Expires)
}

// sessionState is what updates change: scripts do not look into it.
type sessionState struct {
	Scope       backends.Scope  `json:"scope"`
	Title       string          `json:"title,omitempty"`
	Summary     string          `json:"summary,omitempty"`
	SummaryUpto int64           `json:"summary_upto,omitempty"`
	Lease       store.Lease     `json:"lease,omitzero"`
	Retry       store.Retry     `json:"retry,omitzero"`
	Failures    []store.Failure `json:"failures,omitempty"`
	Created     time.Time       `json:"created"`
}

func stateOf(s *store.Session) *sessionState {
	return &sessionState{Scope: s.Scope, Title: s.Title, Summary: s.Summary, SummaryUpto: s.SummaryUpto,
		Lease: s.Lease, Retry: s.Retry, Failures: s.Failures, Created: s.Created}
}

// readSession reads the hash of a session, nil when there is none.
func readSession(p backends.Partition, id string, fields map[string]string) (*session, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	what := fmt.Sprintf("session %q", id)
	var st sessionState
	if err := decode(what, fields["state"], &st); err != nil {
		return nil, err
	}
	out := &session{fields: fields, Session: store.Session{Partition: p, ID: id,
		Scope: st.Scope, Title: st.Title, Summary: st.Summary, SummaryUpto: st.SummaryUpto,
		Lease: st.Lease, Retry: st.Retry, Failures: st.Failures, Created: st.Created}}
	for field, to := range map[string]*int64{"ver": &out.Version, "seq": &out.LastSeq, "tokens": &out.Tokens, "watermark": &out.Watermark} {
		n, err := number(fields[field])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", what, field, err)
		}
		*to = n
	}
	var err error
	if out.Updated, err = parseTime(what, fields["updated"]); err != nil {
		return nil, err
	}
	out.Expires, err = parseTime(what, fields["expires"])
	return out, err
}

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	return on(ctx, s, p, id, fmt.Sprintf("session %q", id), func() (*store.Session, error) {
		fields, err := s.client.HGetAll(ctx, s.keys(p).session(id).state()).Result()
		if err != nil {
			return nil, err
		}
		found, err := readSession(p, id, fields)
		if err != nil {
			return nil, err
		}
		if found == nil || found.expired(s.now()) {
			return nil, fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		return &found.Session, nil
	})
}

// Update implements [store.Sessions].
func (s *Store) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	if err := u.Validate(); err != nil {
		return nil, fmt.Errorf("redisstore: update: %w", err)
	}
	a := &applier{Store: s, p: p, keys: s.keys(p), batch: &store.Batch{Session: u}, update: true, nonce: newNonce()}
	out, err := a.run(ctx, fmt.Sprintf("update session %q", u.Session))
	if err != nil {
		return nil, err
	}
	return out.Session, nil
}

// Delete implements [store.Sessions].
func (s *Store) Delete(ctx context.Context, p backends.Partition, id string) error {
	_, err := on(ctx, s, p, id, fmt.Sprintf("delete session %q", id), func() (n store.DropCount, err error) {
		n, _, err = s.erase(ctx, p, "", id)
		return n, err
	})
	return err
}
