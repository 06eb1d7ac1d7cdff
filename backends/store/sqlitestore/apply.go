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

// Apply implements [store.Records].
func (s *Store) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if err := validateBatch(p, b); err != nil {
		return nil, err
	}
	var out *store.Applied
	err := s.write(ctx, fmt.Sprintf("apply %d mutations to %s", len(b.Mutations), p), func(c *conn) (err error) {
		a := &applier{ctx: ctx, conn: c, p: p, now: s.now()}
		out, err = a.apply(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func validateBatch(p backends.Partition, b *store.Batch) error {
	if err := checkNames(p, ""); err != nil {
		return err
	}
	if b == nil {
		return fmt.Errorf("sqlitestore: apply: %w: no batch", backends.ErrInvalid)
	}
	if err := b.Validate(); err != nil {
		return fmt.Errorf("sqlitestore: apply: %w", err)
	}
	return nil
}

// applier carries out one batch inside a write transaction.
type applier struct {
	*conn
	ctx     context.Context
	p       backends.Partition
	part    partition
	now     time.Time
	version int64 // what the batch raises the partition's version to
	changed bool  // whether it does
}

func (a *applier) apply(b *store.Batch) (*store.Applied, error) {
	var err error
	if a.part, err = a.ensurePartition(a.p); err != nil {
		return nil, err
	}
	if b.Key != "" {
		replayed, err := a.replay(b)
		if replayed != nil || err != nil {
			return replayed, err
		}
	}
	a.version = a.part.version + 1
	if err := a.declare(b); err != nil {
		return nil, err
	}
	out := &store.Applied{Results: make([]store.Result, 0, len(b.Mutations))}
	for i := range b.Mutations {
		if err := a.ctx.Err(); err != nil {
			return nil, err
		}
		r, err := a.mutate(&b.Mutations[i])
		if err != nil {
			return nil, fmt.Errorf("mutation %d (%s): %w", i, b.Mutations[i].Op, err)
		}
		a.changed = a.changed || r.Event != ""
		out.Results = append(out.Results, r)
	}
	if b.Session != nil {
		if out.Session, err = a.updateSession(a.part, b.Session, a.now); err != nil {
			return nil, err
		}
		a.changed = true
	}
	return out, a.finish(b, out)
}

// declare compares the batch's embedding with the partition's.
func (a *applier) declare(b *store.Batch) error {
	if b.Embedding == nil || *b.Embedding == a.part.embedding {
		return nil
	}
	if have := a.part.space(); have != nil && !b.Reembed {
		return fmt.Errorf("%w: the partition holds vectors of %s with %d dimensions, the batch those of %s with %d: re-embed the partition",
			backends.ErrDimension, have.Model, have.Dim, b.Embedding.Model, b.Embedding.Dim)
	}
	a.part.embedding = *b.Embedding
	a.changed = true
	return nil
}

// finish writes the partition's new version and remembers the batch's key.
func (a *applier) finish(b *store.Batch, out *store.Applied) error {
	if a.changed {
		a.part.version = a.version
		if err := a.savePartition(a.part); err != nil {
			return err
		}
	}
	out.Version = a.part.version
	if b.Key != "" {
		return a.remember(b.Key, out)
	}
	if !a.changed {
		return errUnchanged
	}
	return nil
}
