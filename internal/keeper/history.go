// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"cmp"
	"context"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// History returns the events of the memory, of all those that it replaced, and of
// all those that replaced it, oldest first. It answers after a deletion too. An id
// that never was is ErrNotFound.
func (k *Keeper) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	if err := store.ValidateID("memory", id); err != nil {
		return nil, k.errorf("%w", err)
	}
	seen := map[string]bool{id: true}
	var events []backends.Event
	for queue := []string{id}; len(queue) > 0; queue = queue[1:] {
		own, err := k.store.History(ctx, p, queue[0])
		if err != nil {
			return nil, k.errorf("history of memory %s: %w", queue[0], err)
		}
		next, err := k.beside(ctx, p, queue[0], own)
		if err != nil {
			return nil, err
		}
		for _, id := range next {
			if id != "" && !seen[id] {
				seen[id] = true
				queue = append(queue, id)
			}
		}
		events = append(events, own...)
	}
	if len(events) == 0 {
		return nil, k.errorf("memory %s of %s: %w", id, p, backends.ErrNotFound)
	}
	slices.SortStableFunc(events, func(a, b backends.Event) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), a.Time.Compare(b.Time))
	})
	return events, nil
}

// beside returns the ids beside a memory in its chain: those that its events name
// and those that stand in memories. Either may be all that is left of a link: a
// deleted memory has only events, one that was loaded from a dump says in its
// record what no event told.
func (k *Keeper) beside(ctx context.Context, p backends.Partition, id string, events []backends.Event) ([]string, error) {
	linked, err := k.Lookup(ctx, p, chainKey(id))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range linked {
		if m.ID == id {
			ids = append(ids, m.Supersedes, m.SupersededBy)
			continue
		}
		ids = append(ids, m.ID)
	}
	for _, e := range events {
		ids = append(ids, e.Supersedes, e.By)
	}
	return ids, nil
}
