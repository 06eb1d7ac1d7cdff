// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// partition is the index of one partition and the way it is kept current.
type partition struct {
	ranker *Ranker
	key    backends.Partition

	mu    sync.RWMutex
	index *index // nil until loaded; changed under mu, and only by the refresh that runs

	cursor string // up to which change the index is current; used by the refresh that runs

	waiting singleflight.Group // of callers for a refresh that has not begun
	running sync.Mutex         // held by the refresh that runs
}

// current returns once the index holds everything that was stored before the call.
// Callers that come during a refresh share the next one: the store may have answered the
// one that runs before the write that they expect to see. A caller that gives up does not
// end the refresh for others.
func (p *partition) current(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	result := p.waiting.DoChan("", func() (any, error) {
		ctx, finish, err := p.ranker.background(ctx)
		if err != nil {
			return nil, err
		}
		defer finish()
		p.running.Lock()
		defer p.running.Unlock()
		p.waiting.Forget("") // it begins: who comes now waits for the next one
		return nil, p.refresh(ctx)
	})
	select {
	case r := <-result:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refresh is one run through the changes since a partition's cursor. A first load, and
// one after a Reset, is built aside and replaces the index when it is complete, so that no
// search sees a part of it.
type refresh struct {
	partition *partition
	cursor    string // behind the page that was read last
	index     *index // what pages are applied to
	aside     bool   // searches do not see index yet
	readers   []*reader
}

// refresh applies what changed since the cursor.
func (p *partition) refresh(ctx context.Context) error {
	r := refresh{partition: p, cursor: p.cursor, index: p.index}
	if r.index == nil {
		r.startOver()
	}
	if err := r.run(ctx); err != nil {
		return fmt.Errorf("reading what changed in partition %s: %w", p.key, err)
	}
	r.finish()
	return nil
}

// run takes page after page. While it applies one, the store reads the next.
func (r *refresh) run(ctx context.Context) error {
	page, err := r.next(ctx)
	for err == nil && page.More {
		var ahead *store.ChangeSet
		read := make(chan struct{})
		go func() {
			defer close(read)
			ahead, err = r.next(ctx)
		}()
		r.take(page)
		<-read
		page = ahead
	}
	if err == nil {
		r.take(page)
	}
	return err
}

// next reads a page and moves the cursor behind it.
func (r *refresh) next(ctx context.Context) (*store.ChangeSet, error) {
	c, err := r.partition.ranker.config.Records.Changes(ctx, r.partition.key, r.cursor)
	if err != nil {
		return nil, err
	}
	if c.More && c.Cursor == r.cursor {
		return nil, fmt.Errorf("%w: the store returns the same page again", backends.ErrUnavailable)
	}
	r.cursor = c.Cursor
	return c, nil
}

func (r *refresh) startOver() {
	r.index, r.aside, r.readers = r.partition.ranker.newIndex(), true, nil
}

// take applies one page. What takes time is done before searches are locked out.
func (r *refresh) take(c *store.ChangeSet) {
	if c.Reset {
		r.startOver()
	}
	if len(c.Records)+len(c.Removed) > 0 {
		r.readers = r.index.moreReaders(r.readers, len(c.Records))
		r.apply(r.index.prepare(c, r.readers))
	}
	if !r.aside {
		r.partition.cursor = c.Cursor
	}
}

func (r *refresh) apply(changes *page) {
	if r.aside {
		r.index.apply(changes)
		return
	}
	r.partition.mu.Lock()
	r.index.apply(changes)
	r.partition.mu.Unlock()
	r.partition.ranker.cache.charge(r.partition, r.index.bytes())
}

// finish frees what no memory needs any more, and shows searches an index that was built
// aside.
func (r *refresh) finish() {
	p := r.partition
	if r.aside || r.index.lexicon.hasEmptied() {
		if r.aside {
			r.index.lexicon.build(r.index.docs)
		}
		p.mu.Lock()
		r.index.lexicon.release()
		p.index, p.cursor = r.index, r.cursor
		p.mu.Unlock()
	}
	if r.aside {
		p.ranker.cache.loaded(p, r.index.bytes())
	}
}

// Stats describes what a [Ranker] holds in memory and how it came there.
type Stats struct {
	Partitions int   // partitions held now
	Memories   int   // memories in them
	Bytes      int64 // bytes they take, estimated
	Loads      int64 // times that a partition was read from the store as a whole
	Hits       int64 // calls that found their partition in memory
	Evictions  int64 // partitions that left because the budget was used up
}

// cache holds the partitions that were used last, as many as fit into its budget, and
// always the one in use: a partition bigger than the whole budget is searched like any
// other and leaves when the next one comes.
type cache struct {
	budget int64 // bytes

	mu    sync.Mutex
	parts map[backends.Partition]*list.Element // of *cached
	order *list.List                           // used last comes first
	stats Stats
}

type cached struct {
	partition *partition
	bytes     int64
	memories  int
}

// perPartition is charged for a partition with nothing in it, in bytes.
const perPartition = 1024

func newCache(budget int64) *cache {
	return &cache{budget: budget, parts: map[backends.Partition]*list.Element{}, order: list.New()}
}

// get returns the partition, which create makes when it is not held.
func (c *cache) get(key backends.Partition, create func() *partition) *partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.parts[key]; ok {
		c.stats.Hits++
		c.order.MoveToFront(e)
		return e.Value.(*cached).partition
	}
	h := &cached{partition: create(), bytes: perPartition}
	c.parts[key] = c.order.PushFront(h)
	c.stats.Bytes += h.bytes
	c.evict(h)
	return h.partition
}

// loaded is charge after the partition was read from the store as a whole.
func (c *cache) loaded(p *partition, bytes int64) {
	c.mu.Lock()
	c.stats.Loads++
	c.mu.Unlock()
	c.charge(p, bytes)
}

// charge records how many bytes a partition takes now. Its refresh calls it.
func (c *cache) charge(p *partition, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.parts[p.key]
	if !ok || e.Value.(*cached).partition != p { // evicted meanwhile
		return
	}
	h := e.Value.(*cached)
	c.stats.Bytes += bytes + perPartition - h.bytes
	h.bytes, h.memories = bytes+perPartition, len(p.index.slots)
	c.evict(h)
}

// evict drops what was used longest ago until the rest fits, but never keep.
func (c *cache) evict(keep *cached) {
	for e := c.order.Back(); e != nil && c.stats.Bytes > c.budget; {
		h, before := e.Value.(*cached), e.Prev()
		if h != keep {
			c.order.Remove(e)
			delete(c.parts, h.partition.key)
			c.stats.Bytes -= h.bytes
			c.stats.Evictions++
		}
		e = before
	}
}

func (c *cache) snapshot() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Partitions = len(c.parts)
	for _, e := range c.parts {
		s.Memories += e.Value.(*cached).memories
	}
	return s
}
