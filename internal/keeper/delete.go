// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// actorCaller is the actor of changes that the application made itself.
const actorCaller = "caller"

// deleteBatch is how many memories one write of DeleteAll removes.
const deleteBatch = 5000

// Delete removes one memory; its history still answers. A core block is ErrInvalid.
// The request's scope does not choose the partition: p does.
func (k *Keeper) Delete(ctx context.Context, p backends.Partition, r *backends.DeleteRequest) error {
	if r == nil {
		return k.noRequest()
	}
	return k.changing(ctx, p, r.ID, r.Version, func(_ *store.Record, expect int64) error {
		m := store.Delete(r.ID)
		m.Expect, m.Actor = expect, actorCaller
		if _, err := k.store.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{m}}); err != nil {
			return k.errorf("deleting memory %s: %w", r.ID, err)
		}
		return nil
	})
}

// DeleteAll removes what the request matches and returns how many: active or not,
// expired or not, core blocks too: it is how somebody is forgotten. Large partitions
// take several writes; after an error the call may be repeated. The request's scope
// does not choose the partition: p does.
func (k *Keeper) DeleteAll(ctx context.Context, p backends.Partition, r *backends.DeleteAllRequest) (int, error) {
	if r == nil {
		return 0, k.noRequest()
	}
	matches, err := r.Filter.Compile()
	if err != nil {
		return 0, k.errorf("%w", err)
	}
	all, err := k.every(ctx, p, true)
	if err != nil {
		return 0, err
	}
	var deletes []store.Mutation
	for _, m := range all {
		if matches(m) {
			d := store.Delete(m.ID)
			d.Actor = actorCaller
			deletes = append(deletes, d)
		}
	}
	done := 0
	for part := range slices.Chunk(deletes, deleteBatch) {
		if _, err := k.store.Apply(ctx, p, &store.Batch{Mutations: part}); err != nil {
			return done, k.errorf("deleting %d memories: %w", len(deletes), err)
		}
		done += len(part)
	}
	return done, nil
}
