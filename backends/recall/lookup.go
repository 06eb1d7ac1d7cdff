// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
)

// All returns every memory of the partition but the core blocks, whether it still
// holds or not and expired ones that were not swept, in the order in which they were stored (by
// Created, then ID). The memories belong to the Ranker: they must not be changed.
// Putting them in order takes its time once after a change; see [Ranker.Lookup] and
// [Ranker.Get] for a few of them.
func (r *Ranker) All(ctx context.Context, p backends.Partition) ([]*backends.Memory, error) {
	part, err := r.partition(ctx, p)
	if err != nil {
		return nil, err
	}
	part.mu.RLock()
	defer part.mu.RUnlock()
	return slices.Clone(part.index.inOrder()), nil
}

// Lookup returns the memories of the partition that Config.Keys gives at least one
// of the keys, each once, in the order and under the terms of [Ranker.All]. Its
// time depends on how many there are, and not on the partition. Without
// Config.Keys it is ErrInvalid.
func (r *Ranker) Lookup(ctx context.Context, p backends.Partition, keys ...string) ([]*backends.Memory, error) {
	if r.config.Keys == nil {
		return nil, fmt.Errorf("looking up memories: %w: no Config.Keys", backends.ErrInvalid)
	}
	return r.collect(ctx, p, func(x *index) []*backends.Memory {
		var found []*backends.Memory
		for _, key := range keys {
			for _, slot := range x.keyed.slots[key] {
				found = append(found, x.docs[slot].memory)
			}
		}
		return found
	})
}

// Get returns the memories of the partition with the given ids, each once, in the
// order and under the terms of [Ranker.All]. Ids that do not exist are left out.
func (r *Ranker) Get(ctx context.Context, p backends.Partition, ids ...string) ([]*backends.Memory, error) {
	return r.collect(ctx, p, func(x *index) []*backends.Memory {
		var found []*backends.Memory
		for _, id := range ids {
			if slot, ok := x.slots[id]; ok {
				found = append(found, x.docs[slot].memory)
			}
		}
		return found
	})
}

// collect returns what pick finds in the current index, in the order stored.
func (r *Ranker) collect(ctx context.Context, p backends.Partition, pick func(*index) []*backends.Memory) ([]*backends.Memory, error) {
	part, err := r.partition(ctx, p)
	if err != nil {
		return nil, err
	}
	part.mu.RLock()
	found := pick(part.index)
	part.mu.RUnlock()
	slices.SortFunc(found, asStored)
	return slices.Compact(found), nil
}

// inOrder returns all memories in the order stored, which is kept until the next
// change. Who calls it holds the partition's lock.
func (x *index) inOrder() []*backends.Memory {
	if kept := x.order.Load(); kept != nil {
		return *kept
	}
	all := make([]*backends.Memory, 0, len(x.slots))
	for i := range x.docs {
		if m := x.docs[i].memory; m != nil {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, asStored)
	x.order.Store(&all)
	return all
}

func asStored(a, b *backends.Memory) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}
