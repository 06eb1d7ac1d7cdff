// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// All returns every memory of the partition, current or past, in the order of storing (by Created,
// then ID). They include core blocks, and expired memories that the store still has. The memories
// belong to the Ranker: callers must leave them as they are. See [Ranker.Lookup] and [Ranker.Get]
// for a few of them; both leave out core blocks.
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

// Lookup returns the memories of the partition for which Config.Keys returns at least one of the
// keys. Each appears once, under the terms of [Ranker.All] and in its order. Its time depends on
// their number alone. It is ErrInvalid if Config.Keys is nil.
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

// Get returns the memories of the partition with the given ids, each once, in the order and under
// the terms of [Ranker.All]. It skips unknown ids.
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
	var found []*backends.Memory
	err := r.view(ctx, p, func(x *index) { found = pick(x) })
	slices.SortFunc(found, compareStored)
	return slices.Compact(found), err
}

// view lets do read the current index.
func (r *Ranker) view(ctx context.Context, p backends.Partition, do func(*index)) error {
	part, err := r.partition(ctx, p)
	if err == nil {
		part.mu.RLock()
		defer part.mu.RUnlock()
		do(part.index)
	}
	return err
}

// compareStored orders memories by the time of storing.
func compareStored(a, b *backends.Memory) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

// Each calls do with the memories that the filters of q admit, in any order, until it returns
// false. With a key it visits only memories that have it. states reports whether a memory states
// something; its first call for a memory is slow. do must be quick and leave the memories as they
// are. In a partition of more than 1,000 memories, Each needs a key: with an empty one it returns
// false at once.
func (r *Ranker) Each(ctx context.Context, p backends.Partition, q *backends.SearchRequest, key string, do func(m *backends.Memory, states func() bool) bool) (all bool, err error) {
	eligible, err := newEligibility(q, r.config.Clock())
	if err != nil {
		return false, err
	}
	err = r.view(ctx, p, func(x *index) {
		visit := func(slot int32) bool {
			return x.docs[slot].memory == nil || !x.admits(&eligible, slot) || do(x.docs[slot].memory, func() bool { return x.states(slot) == statesSomething })
		}
		all = key != "" || len(x.slots) <= mostVisited
		for slot := 0; all && key == "" && slot < len(x.docs); slot++ {
			all = visit(int32(slot))
		}
		if key != "" {
			all = !slices.ContainsFunc(x.keys[key], func(slot int32) bool { return !visit(slot) })
		}
	})
	return all, err
}

// mostVisited is how many memories Each visits at most, so that a search stays quick.
const mostVisited = 1000

// Vectors returns the vectors of memories of the partition, nil for a memory without one. If the
// partition compresses its vectors, all are nil. They belong to the Ranker, under the terms of
// [Ranker.All].
func (r *Ranker) Vectors(ctx context.Context, p backends.Partition, ids ...string) ([][]float32, error) {
	out := make([][]float32, len(ids))
	return out, r.view(ctx, p, func(x *index) {
		for i, id := range ids {
			if slot, ok := x.slots[id]; ok {
				out[i] = x.docs[slot].vector
			}
		}
	})
}

// eligibility decides which memories a search may return at all. It comes before the ranking: a
// memory that it excludes has neither a place nor an influence on the scale.
type eligibility struct {
	request *backends.SearchRequest
	match   func(*backends.Memory) bool
	at      time.Time
	now     int64 // the same
	plain   bool  // the search asks for current memories and has no other condition
	current bool  // the search asks for current memories
}

func newEligibility(q *backends.SearchRequest, now time.Time) (eligibility, error) {
	match, err := q.Filter.Compile()
	current := q.AsOf.IsZero() && q.KnownAt.IsZero() && !q.IncludeSuperseded && !q.IncludeExpired
	return eligibility{request: q, match: match, at: now, now: nanos(now), plain: current && len(q.Kinds) == 0 && q.Filter == nil, current: current}, err
}

// admits asks for the memory in a slot.
func (x *index) admits(e *eligibility, slot int32) bool {
	glance := &x.glances[slot]
	switch {
	case e.plain && e.now >= glance.until, glance.inferred && e.current && !x.docs[slot].memory.Stands(e.at, x.memory):
		return false
	case e.plain:
		return true
	}
	return e.admits(&x.docs[slot])
}

// memory returns the memory with an id, or nil.
func (x *index) memory(id string) *backends.Memory {
	if slot, ok := x.slots[id]; ok {
		return x.docs[slot].memory
	}
	return nil
}

func (e *eligibility) admits(d *doc) bool {
	switch q := e.request; {
	case d.memory == nil, e.expired(d):
		return false
	case !q.KnownAt.IsZero() && d.memory.Created.After(q.KnownAt):
		return false
	case q.AsOf.IsZero() && !q.IncludeSuperseded && e.ended(d), !q.AsOf.IsZero() && !e.held(d):
		return false
	case len(q.Kinds) > 0 && !slices.Contains(q.Kinds, d.memory.Kind):
		return false
	}
	return e.match(d.memory)
}

func (e *eligibility) expired(d *doc) bool { return !e.request.IncludeExpired && e.now >= d.expires }

// ended reports whether the store knew, at KnownAt, that a memory was superseded or retracted.
func (e *eligibility) ended(d *doc) bool {
	at := e.request.KnownAt
	return !d.active && (at.IsZero() || !d.memory.Updated.After(at))
}

// held reports whether a memory held at the time AsOf: it had begun, and its end was still to come.
func (e *eligibility) held(d *doc) bool {
	at := e.request.AsOf
	return !d.memory.Since().After(at) && (e.request.IncludeSuperseded || !e.ended(d) || at.Before(d.memory.Invalidated))
}
