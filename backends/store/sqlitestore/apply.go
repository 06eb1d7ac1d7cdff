// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
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
	ctx  context.Context
	p    backends.Partition
	part partition
	now  time.Time
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
	todo, err := plan.Batch(b, &plan.Input{Now: a.now, Next: a.part.version + 1, Embedding: a.part.space(), Record: a.memory})
	if err != nil {
		return nil, err
	}
	out := &store.Applied{Results: todo.Results}
	if b.Session != nil {
		if out.Session, err = a.updateSession(a.part, b.Session, a.now); err != nil {
			return nil, err
		}
	}
	changed := todo.Changed || b.Session != nil
	if changed {
		a.part.version = todo.Version
		if err := a.carryOut(todo); err != nil {
			return nil, err
		}
	}
	out.Version = a.part.version
	if b.Key != "" {
		return out, a.remember(b.Key, out)
	}
	if !changed {
		return out, errUnchanged
	}
	return out, nil
}

// memory reads a record without its vector, which no plan depends on.
func (a *applier) memory(id string) (*store.Record, error) {
	if err := a.ctx.Err(); err != nil {
		return nil, err
	}
	return a.record(`SELECT memory, NULL FROM records WHERE part = ? AND id = ?`, a.part.pk, id)
}

// carryOut writes the plan.
func (a *applier) carryOut(todo *plan.Plan) error {
	if todo.Embedding != nil {
		a.part.embedding = *todo.Embedding
	}
	for i := range todo.Writes {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if err := a.saveRecord(a.part, &todo.Writes[i]); err != nil {
			return err
		}
	}
	for i := range todo.Events {
		if err := a.saveEvent(a.part.pk, &todo.Events[i]); err != nil {
			return err
		}
	}
	return a.savePartition(a.part)
}
