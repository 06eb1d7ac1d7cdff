// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// Apply implements [store.Records].
func (s *Store) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if err := checkNames(p, ""); err != nil {
		return nil, err
	}
	if b == nil {
		return nil, fmt.Errorf("redisstore: apply: %w: no batch", backends.ErrInvalid)
	}
	if err := b.Validate(); err != nil {
		return nil, fmt.Errorf("redisstore: apply: %w", err)
	}
	a := &applier{Store: s, p: p, keys: s.keys(p), batch: b, nonce: newNonce()}
	if err := a.settle(ctx, fmt.Sprintf("apply %d mutations to %s", len(b.Mutations), p)); err != nil {
		return nil, err
	}
	return a.out, nil
}

// applier carries out one batch, or one update of a session.
type applier struct {
	*Store
	p      backends.Partition
	keys   keys
	batch  *store.Batch // with a Session alone, and update set, it is an update
	update bool
	nonce  string // the same for every repeat, so that none is committed twice
	out    *store.Applied
}

// settle plans and commits until the outcome is certain.
func (a *applier) settle(ctx context.Context, doing string) error {
	return a.do(ctx, doing, func() error {
		return a.announced(ctx, a.p, func(inc string) (bool, error) { return a.try(ctx, inc) })
	})
}

// longestWait bounds the pause of a commit that others came before.
const longestWait = 8 * time.Millisecond

// try reads, plans and commits, again whenever another commit came in between.
// It returns false when the partition must be in the registry first.
func (a *applier) try(ctx context.Context, inc string) (bool, error) {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, longestWait) {
		found, err := a.read(ctx)
		if err != nil {
			return false, err
		}
		if a.out, err = a.known(found); err != nil {
			return true, err
		}
		if a.out != nil {
			return true, a.confirm(ctx, a.keys.meta())
		}
		c, err := a.plan(found)
		if err != nil {
			return false, err
		}
		answer, err := a.commit(ctx, c, inc)
		if err != nil {
			return false, err
		}
		switch answer {
		case committed:
			return true, nil
		case unannounced:
			return false, nil
		}
		if !sleep(ctx, rand.N(wait)) { // stale
			return false, ctx.Err()
		}
	}
}

// plan decides what the batch does to what was found.
func (a *applier) plan(found *found) (*commit, error) {
	now := a.now()
	c := &commit{found: found, now: now}
	var err error
	c.plan, err = plan.Batch(a.batch, &plan.Input{Now: now, Next: found.version + 1, Embedding: found.space, Record: found.record})
	if err != nil || a.batch.Session == nil {
		return c, err
	}
	before := found.session(now)
	if before == nil {
		return nil, fmt.Errorf("session %q: %w", a.batch.Session.Session, backends.ErrNotFound)
	}
	c.session, err = plan.Session(a.batch.Session, before, now)
	return c, err
}
