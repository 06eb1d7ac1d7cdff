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
	links, err := b.links(ctx, p)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{r.ID: true}
	var events []backends.Event
	for queue := []string{r.ID}; len(queue) > 0; queue = queue[1:] {
		own, err := b.store.History(ctx, p, queue[0])
		if err != nil {
			return nil, fmt.Errorf("mem0: history of memory %s: %w", queue[0], err)
		}
		next := links[queue[0]]
		for _, e := range own {
			next = append(next, e.By)
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

// links returns, for each memory, the ids beside it in its chain. They are read
// from both ends, so that a chain holds together around a deleted memory.
func (b *Backend) links(ctx context.Context, p backends.Partition) (map[string][]string, error) {
	all, err := b.ranker.All(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
	}
	links := map[string][]string{}
	for _, m := range all {
		for _, id := range []string{m.Supersedes, m.SupersededBy} {
			if id != "" {
				links[m.ID] = append(links[m.ID], id)
				links[id] = append(links[id], m.ID)
			}
		}
	}
	return links, nil
}
