// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"cmp"
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// nearRecords is a fakeRecords that finds neighbours, by comparing with every
// vector, and has places to make it mistaken or fail.
type nearRecords struct {
	*fakeRecords
	noise   float64                                                                     // what the index is mistaken by in its cosines
	drop    func(id string) bool                                                        // neighbours that a walk misses
	answer  func(q *store.NearestQuery, n *store.Neighbours) (*store.Neighbours, error) // in the place of Nearest's
	vectors func(ids []string, found [][]byte) ([][]byte, error)                        // in the place of Vectors'
	hold    func(ctx context.Context, call string) error                                // before each call
	asked   map[backends.Partition]bool

	calls   sync.Mutex // guards what follows
	queries []store.NearestQuery
	counts  int
	outline int
	read    []string // ids of the vectors
	reads   int      // calls for them
}

var _ store.Near = (*nearRecords)(nil)

func newNearRecords() *nearRecords {
	return &nearRecords{fakeRecords: newFakeRecords(), asked: map[backends.Partition]bool{}}
}

func (f *nearRecords) begin(ctx context.Context, p backends.Partition, call string) error {
	if f.hold != nil {
		if err := f.hold(ctx, call); err != nil {
			return err
		}
	}
	f.calls.Lock()
	defer f.calls.Unlock()
	f.asked[p] = true
	return ctx.Err()
}

func (f *nearRecords) Count(ctx context.Context, p backends.Partition) (int, error) {
	if err := f.begin(ctx, p, "Count"); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts++
	return len(f.partition(p).records), nil
}

func (f *nearRecords) Outline(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	if err := f.begin(ctx, p, "Outline"); err != nil {
		return nil, err
	}
	c, err := f.Changes(ctx, p, cursor)
	if err != nil {
		return nil, err
	}
	for i := range c.Records {
		c.Records[i].Vector = nil
	}
	f.calls.Lock()
	defer f.calls.Unlock()
	f.outline++
	return c, nil
}

func (f *nearRecords) Vectors(ctx context.Context, p backends.Partition, ids ...string) ([][]byte, error) {
	if err := f.begin(ctx, p, "Vectors"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	out := make([][]byte, len(ids))
	for i, id := range ids {
		if r := f.partition(p).records[id]; r != nil {
			out[i] = r.Vector
		}
	}
	f.mu.Unlock()
	f.calls.Lock()
	f.read = append(f.read, ids...)
	f.reads++
	f.calls.Unlock()
	if f.vectors != nil {
		return f.vectors(ids, out)
	}
	return out, nil
}

func (f *nearRecords) Nearest(ctx context.Context, p backends.Partition, q *store.NearestQuery) (*store.Neighbours, error) {
	if err := f.begin(ctx, p, "Nearest"); err != nil {
		return nil, err
	}
	f.calls.Lock()
	f.queries = append(f.queries, *q)
	f.calls.Unlock()
	n := f.scan(p, q)
	if f.answer != nil {
		return f.answer(q, n)
	}
	return n, nil
}

type neighbour struct {
	id     string
	cosine float64
}

func (f *nearRecords) scan(p backends.Partition, q *store.NearestQuery) *store.Neighbours {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []neighbour
	for id, r := range f.partition(p).records {
		if !r.Active() || len(r.Vector) == 0 || !q.Exact && f.drop != nil && f.drop(id) {
			continue
		}
		if v, err := q.Decode(r.Vector); err == nil {
			all = append(all, neighbour{id, dot(v, q.Vector) + f.noise*gauss(id)})
		}
	}
	slices.SortFunc(all, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.id, b.id))
	})
	out := &store.Neighbours{Exact: q.Exact}
	for _, n := range all[:min(len(all), q.Limit)] {
		out.IDs, out.Cosines = append(out.IDs, n.id), append(out.Cosines, n.cosine)
	}
	return out
}

// gauss is a number that is always the same for an id.
func gauss(id string) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return rand.New(rand.NewPCG(h.Sum64(), 9)).NormFloat64()
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
