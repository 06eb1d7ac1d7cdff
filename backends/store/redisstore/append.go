// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Append implements [store.Sessions].
func (s *Store) Append(ctx context.Context, p backends.Partition, id string, a *store.Append) (*store.Session, error) {
	if err := checkNames(p, id); err != nil {
		return nil, err
	}
	if a == nil {
		return nil, fmt.Errorf("redisstore: append: %w: nothing to append", backends.ErrInvalid)
	}
	if err := a.Validate(); err != nil {
		return nil, fmt.Errorf("redisstore: append: %w", err)
	}
	var out *store.Session
	err := s.do(ctx, fmt.Sprintf("append %d messages to session %q", len(a.Entries), id), func() error {
		return s.announced(ctx, p, func(inc string) (done bool, err error) {
			out, err = s.tryAppend(ctx, p, id, a, inc)
			return out != nil, err
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// maxTokens bounds the size of a message, so that the sum of a session, which scripts
// compute, is exact and never overflows.
const maxTokens = math.MaxInt32

// life is a time to live in microseconds, rounded up: 0 is for ever.
func life(ttl time.Duration) int64 {
	if ttl <= 0 {
		return 0
	}
	return (ttl - 1).Microseconds() + 1
}

// tryAppend runs the script. The session is nil when the partition must be in the
// registry first.
func (s *Store) tryAppend(ctx context.Context, p backends.Partition, id string, a *store.Append, inc string) (*store.Session, error) {
	now := s.now()
	w := &arguments{}
	w.add(id, micros(now), timeText(now), life(a.TTL), timeText(now.Add(a.TTL)), flag(inc != ""), inc)
	w.json("session "+id, &sessionState{Scope: a.Scope, Created: now})
	w.add(flag(a.Learnt))
	for _, e := range a.Entries {
		if e.Time.IsZero() {
			e.Time = now
		}
		if e.Tokens > maxTokens || e.Tokens < -maxTokens {
			return nil, fmt.Errorf("message %s: %w: %d tokens: at most %d", e.ID, backends.ErrInvalid, e.Tokens, maxTokens)
		}
		w.add(e.ID, e.Tokens)
		w.json("message "+e.ID, &logged{Entry: &e})
	}
	if w.err != nil {
		return nil, w.err
	}
	k := s.keys(p)
	reply, err := s.write(ctx, appendScript, append(append([]string{k.meta()}, k.session(id).all()...), k.sessions(), k.pending(), k.born()), w.list...)
	if err != nil {
		return nil, err
	}
	if reply == string(unannounced) {
		return nil, nil
	}
	after, err := readSession(p, id, pairs(reply))
	if err != nil {
		return nil, err
	}
	if after == nil {
		return nil, fmt.Errorf("%w: unexpected answer of a script: %v", backends.ErrUnavailable, reply)
	}
	return &after.Session, nil
}
