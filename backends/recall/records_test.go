// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// fakeRecords is a store.Records in memory, with places to make it fail.
type fakeRecords struct {
	store.Records // the methods that the tests do not need
	pageSize      int
	before        func(ctx context.Context, cursor string) error // before Changes answers
	after         func()                                         // when Changes has read its answer, and not yet given it
	now           time.Time

	mu         sync.Mutex
	partitions map[backends.Partition]*fakePartition
	calls      int // of Changes
	fullReads  int // of Changes from the start
}

type fakePartition struct {
	generation int
	version    int64
	records    map[string]*store.Record
	removed    map[string]int64
	embedding  *store.Embedding
}

func newFakeRecords() *fakeRecords {
	return &fakeRecords{
		partitions: map[backends.Partition]*fakePartition{}, pageSize: 1000,
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

func (f *fakeRecords) partition(p backends.Partition) *fakePartition {
	if f.partitions[p] == nil {
		f.partitions[p] = &fakePartition{records: map[string]*store.Record{}, removed: map[string]int64{}}
	}
	return f.partitions[p]
}

func (f *fakeRecords) Apply(_ context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	part := f.partition(p)
	if b.Embedding != nil && part.embedding != nil && *part.embedding != *b.Embedding && !b.Reembed {
		return nil, backends.ErrDimension
	}
	for _, m := range b.Mutations {
		if m.Record != nil && m.Expect > 0 && (part.records[m.Record.ID] == nil || part.records[m.Record.ID].Version != m.Expect) {
			return nil, fmt.Errorf("record %s: %w", m.Record.ID, backends.ErrConflict)
		}
	}
	if b.Embedding != nil {
		e := *b.Embedding
		part.embedding = &e
	}
	part.version++
	for _, m := range b.Mutations {
		part.mutate(m, f.now)
	}
	return &store.Applied{Version: part.version}, nil
}

func (p *fakePartition) mutate(m store.Mutation, now time.Time) {
	change := func(id string, f func(*store.Record)) {
		if old := p.records[id]; old != nil {
			r := *old
			f(&r)
			r.Version = p.version
			p.records[id] = &r
		}
	}
	switch m.Op {
	case store.OpSupersede:
		change(m.ID, func(r *store.Record) {
			r.SupersededBy, r.Invalidated = m.Record.ID, now
			if !m.Record.Observed.IsZero() {
				r.Invalidated = m.Record.Observed
			}
		})
		fallthrough
	case store.OpPut:
		r := *m.Record
		r.Version = p.version
		if r.Created.IsZero() {
			r.Created = now
		}
		if r.Updated.IsZero() {
			r.Updated = now
		}
		p.records[r.ID] = &r
		delete(p.removed, r.ID)
	case store.OpRetract:
		change(m.ID, func(r *store.Record) { r.Invalidated = m.At })
	case store.OpDelete:
		delete(p.records, m.ID)
		p.removed[m.ID] = p.version
	}
}

func (f *fakeRecords) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	if f.before != nil {
		if err := f.before(ctx, cursor); err != nil {
			return nil, err
		}
	}
	c, err := f.changes(p, cursor)
	if f.after != nil {
		f.after()
	}
	return c, err
}

func (f *fakeRecords) changes(p backends.Partition, cursor string) (*store.ChangeSet, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	part := f.partition(p)
	var generation int
	var since int64
	if cursor == "" {
		f.fullReads++
	} else if _, err := fmt.Sscanf(cursor, "%d:%d", &generation, &since); err != nil {
		return nil, backends.ErrInvalid
	}
	c := &store.ChangeSet{Embedding: part.embedding}
	if cursor != "" && generation != part.generation {
		c.Reset, since = true, 0
	}
	if since == part.version && !c.Reset {
		c.Version, c.Cursor = since, cursor
		return c, nil
	}
	part.page(c, since, f.pageSize)
	return c, nil
}

// page fills c with whole batches after since until it holds size changes.
func (p *fakePartition) page(c *store.ChangeSet, since int64, size int) {
	byVersion := map[int64][]any{}
	for _, r := range p.records {
		if r.Version > since {
			byVersion[r.Version] = append(byVersion[r.Version], r)
		}
	}
	for id, v := range p.removed {
		if v > since {
			byVersion[v] = append(byVersion[v], id)
		}
	}
	versions := make([]int64, 0, len(byVersion))
	for v := range byVersion {
		versions = append(versions, v)
	}
	slices.Sort(versions)
	c.Version = p.version
	for i, v := range versions {
		for _, x := range byVersion[v] {
			switch x := x.(type) {
			case *store.Record:
				c.Records = append(c.Records, *x)
			case string:
				c.Removed = append(c.Removed, x)
			}
		}
		if len(c.Records)+len(c.Removed) >= size && i < len(versions)-1 {
			c.Version, c.More = v, true
			break
		}
	}
	c.Cursor = fmt.Sprintf("%d:%d", p.generation, c.Version)
}

func (f *fakeRecords) Drop(_ context.Context, p backends.Partition) (store.DropCount, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	generation := f.partition(p).generation
	delete(f.partitions, p)
	f.partition(p).generation = generation + 1
	return store.DropCount{}, nil
}
