// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// counts reports whether uses of memories are counted.
func (k *Keeper) counts() bool {
	return k.config.CountUses || k.config.Retention != nil && slices.ContainsFunc(k.config.Retention.Rules, func(r backends.RetentionRule) bool {
		return r.UnusedFor > 0 || r.AtMost > 0
	})
}

// Used implements [backends.UseCounter] where uses are counted. A hit counts in the
// partition that holds it, the speaker's or the workspace.
func (m *Manager) Used(ctx context.Context, s backends.Scope, hits []backends.Hit) {
	k := m.keep
	if !k.counts() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, of := range []func(backends.Scope) (backends.Partition, error){backends.Scope.Speaker, Workspace} {
		_, p, err := k.Resolve(ctx, s, of)
		if err != nil {
			continue
		}
		if k.uses[p] == nil {
			k.uses[p] = map[string]int{}
		}
		for i := range hits {
			if hits[i].ID != "" { // else it is still to be stored
				k.uses[p][hits[i].ID]++
			}
		}
	}
}

// storeUses stores the uses counted so far. A failure loses them: they are worth less than
// the work that they would hold up.
func (k *Keeper) storeUses(ctx context.Context) error {
	k.mu.Lock()
	uses := k.uses
	k.uses = map[backends.Partition]map[string]int{}
	k.mu.Unlock()
	var errs []error
	for p, of := range uses {
		if err := store.OnConflict(ctx, func() error { return k.addUses(ctx, p, of) }); err != nil {
			errs = append(errs, k.errorf("counting uses in %s: %w", p, err))
		}
	}
	return errors.Join(errs...)
}

// CountedSince returns when uses began to be counted in a partition, or the zero time without
// counts.
func (k *Keeper) CountedSince(ctx context.Context, p backends.Partition) (time.Time, error) {
	m, err := k.mark(ctx, p)
	if errors.Is(err, backends.ErrNotFound) {
		return time.Time{}, nil
	}
	return m.Since, err
}

// beginCounting notes when uses began to be counted in a partition.
func (k *Keeper) beginCounting(ctx context.Context, p backends.Partition) error {
	_, err := k.mark(ctx, p)
	if errors.Is(err, backends.ErrNotFound) {
		err = k.putMark(ctx, p, &mark{Since: k.Now()})
	}
	return err
}

// addUses adds to the counts of a partition's memories that still exist.
func (k *Keeper) addUses(ctx context.Context, p backends.Partition, uses map[string]int) error {
	records, err := k.config.Store.Get(ctx, p, slices.Sorted(maps.Keys(uses))...)
	if err != nil || len(records) == 0 {
		return err
	}
	b := &store.Batch{}
	for i := range records {
		r := &records[i]
		n, _ := r.Uses()
		SetMeta(&r.Memory, backends.MetaUses, float64(n+uses[r.ID]))
		SetMeta(&r.Memory, backends.MetaLastUse, k.Now().UTC().Format(time.RFC3339))
		put := store.Put(r)
		put.Expect = r.Version
		b.Mutations = append(b.Mutations, put)
	}
	if _, err = k.config.Store.Apply(ctx, p, b); err == nil {
		err = k.beginCounting(ctx, p)
	}
	return err
}
