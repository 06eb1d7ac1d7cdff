// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/einomem/einomem/backends"
)

// All returns every memory of the partition, whether it still holds or not, expired ones
// that the store still has and core blocks included, in the order in which they were stored
// (by Created, then ID). The memories belong to the Ranker: they must not be changed. See
// [Ranker.Lookup] and [Ranker.Get] for a few of them; they return no core blocks.
func (r *Ranker) All(ctx context.Context, p backends.Partition) ([]*backends.Memory, error) {
	return r.collect(ctx, p, func(x *index) []*backends.Memory {
		all := slices.AppendSeq(make([]*backends.Memory, 0, len(x.slots)+len(x.core)), maps.Values(x.core))
		for i := range x.docs {
			if m := x.docs[i].memory; m != nil {
				all = append(all, m)
			}
		}
		return all
	})
}

// Lookup returns the memories of the partition for which Config.Keys returns at least
// one of the keys, each once, in the order and under the terms of [Ranker.All]. Its time
// depends on how many there are, and not on the partition. Without Config.Keys it is
// ErrInvalid.
func (r *Ranker) Lookup(ctx context.Context, p backends.Partition, keys ...string) ([]*backends.Memory, error) {
	if r.config.Keys == nil {
		return nil, fmt.Errorf("looking up memories: %w: Config.Keys is not set", backends.ErrInvalid)
	}
	return r.collect(ctx, p, func(x *index) []*backends.Memory {
		var found []*backends.Memory
		for _, key := range keys {
			for _, slot := range x.keys[key] {
				found = append(found, x.docs[slot].memory)
			}
		}
		return found
	})
}

// Get returns the memories of the partition with the given ids, each once, in the order
// and under the terms of [Ranker.All]. Ids that do not exist are left out.
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
	slices.SortFunc(found, compareStored)
	return slices.Compact(found), nil
}

// compareStored orders memories as they were stored.
func compareStored(a, b *backends.Memory) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

// rarest is how many words of a text Resembling looks up: the rarest say most.
const rarest = 6

// Resembling returns for each of the texts up to n memories of the partition that share
// words with it, most of its rarest words first, and newer ones before older. admit, called
// with the number of the text, says which memories count; it must be quick. The memories
// belong to the Ranker, under the terms of [Ranker.All].
func (r *Ranker) Resembling(ctx context.Context, p backends.Partition, texts []string, n int, admit func(text int, m *backends.Memory) bool) ([][]*backends.Memory, error) {
	part, err := r.partition(ctx, p)
	if err != nil {
		return nil, err
	}
	part.mu.RLock()
	defer part.mu.RUnlock()
	out := make([][]*backends.Memory, len(texts))
	for i, text := range texts {
		out[i] = part.index.resembling(text, n, func(m *backends.Memory) bool { return admit(i, m) })
	}
	return out, nil
}

func (x *index) resembling(text string, n int, admit func(*backends.Memory) bool) []*backends.Memory {
	terms, _ := x.analyzer.count(text)
	var lists [][]posting
	for _, t := range terms {
		if list := x.lexicon.list(x.lexicon.vocabulary.find(t.text)); len(list) > 0 {
			lists = append(lists, list)
		}
	}
	slices.SortStableFunc(lists, func(a, b []posting) int { return cmp.Compare(len(a), len(b)) })
	shared := map[int32]int{}
	for _, list := range lists[:min(len(lists), rarest)] {
		for _, e := range list {
			if shared[e.slot] > 0 || admit(x.docs[e.slot].memory) {
				shared[e.slot]++
			}
		}
	}
	slots := slices.Collect(maps.Keys(shared))
	slices.SortFunc(slots, func(a, b int32) int {
		return cmp.Or(cmp.Compare(shared[b], shared[a]), cmp.Compare(x.docs[b].time, x.docs[a].time), cmp.Compare(x.docs[a].memory.ID, x.docs[b].memory.ID))
	})
	out := make([]*backends.Memory, 0, n)
	for _, slot := range slots[:min(n, len(slots))] {
		out = append(out, x.docs[slot].memory)
	}
	return out
}

// Vectors returns the vectors of memories of the partition, nil for those without one and, in
// partitions whose vectors are compressed, for all. They belong to the Ranker, under the terms
// of [Ranker.All].
func (r *Ranker) Vectors(ctx context.Context, p backends.Partition, ids ...string) ([][]float32, error) {
	part, err := r.partition(ctx, p)
	if err != nil {
		return nil, err
	}
	part.mu.RLock()
	defer part.mu.RUnlock()
	out := make([][]float32, len(ids))
	for i, id := range ids {
		if slot, ok := part.index.slots[id]; ok {
			out[i] = part.index.docs[slot].vector
		}
	}
	return out, nil
}
