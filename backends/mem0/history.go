// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// History implements [backends.Manager]: the events of the memory, of all those
// that it replaced, and of all those that replaced it, oldest first. It answers
// after a deletion too.
func (b *Backend) History(ctx context.Context, r *backends.HistoryRequest) ([]backends.Event, error) {
	_, p, err := b.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	if err := store.ValidateID("memory", r.ID); err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
	}
	seen := map[string]bool{r.ID: true}
	var events []backends.Event
	for queue := []string{r.ID}; len(queue) > 0; queue = queue[1:] {
		own, err := b.store.History(ctx, p, queue[0])
		if err != nil {
			return nil, fmt.Errorf("mem0: history of memory %s: %w", queue[0], err)
		}
		next, err := b.beside(ctx, p, queue[0], own)
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
		return nil, fmt.Errorf("mem0: memory %s of %s: %w", r.ID, p, backends.ErrNotFound)
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
func (b *Backend) beside(ctx context.Context, p backends.Partition, id string, events []backends.Event) ([]string, error) {
	linked, err := b.ranker.Lookup(ctx, p, chainKey(id))
	if err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
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
