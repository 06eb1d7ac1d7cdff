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

	place    *list.Element // in the cache, which guards this and what follows
	bytes    int64
	memories int
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
		r.apply(c, r.index.prepare(c, r.readers))
	}
	if !r.aside {
		r.partition.cursor = c.Cursor
	}
}

func (r *refresh) apply(c *store.ChangeSet, prepared []doc) {
	if r.aside {
		r.index.apply(c, prepared)
		return
	}
	r.partition.mu.Lock()
	r.index.apply(c, prepared)
	r.partition.mu.Unlock()
	r.partition.ranker.cache.charge(r.partition, 0)
}

// finish frees what no memory needs any more, and shows searches an index that was built
// aside.
func (r *refresh) finish() {
	p := r.partition
	if r.aside || r.index.lexicon.hasEmptied() {
		if r.aside {
			r.index.lexicon.build(r.index.docs)
			r.index.sessions.build(r.index.docs)
		}
		p.mu.Lock()
		r.index.lexicon.release()
		p.index, p.cursor = r.index, r.cursor
		p.mu.Unlock()
	}
	if r.aside {
		p.ranker.cache.charge(p, 1)
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
	parts map[backends.Partition]*partition
	order list.List // of *partition; used last comes first
	stats Stats
}

// perPartition is charged for a partition with nothing in it, in bytes.
const perPartition = 1024

// get returns the partition, a new one when it is not held.
func (c *cache) get(key backends.Partition, r *Ranker) *partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.parts[key]; p != nil {
		c.stats.Hits++
		c.order.MoveToFront(p.place)
		return p
	}
	p := &partition{ranker: r, key: key, bytes: perPartition}
	p.place, c.parts[key] = c.order.PushFront(p), p
	c.stats.Bytes += perPartition
	c.evict(p)
	return p
}

// charge records what a partition takes now, and whether it was read from the store as a
// whole. Its refresh calls it.
func (c *cache) charge(p *partition, loads int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Loads += loads
	if c.parts[p.key] != p { // evicted meanwhile
		return
	}
	c.stats.Bytes -= p.bytes
	p.bytes, p.memories = p.index.bytes()+perPartition, len(p.index.slots)
	c.stats.Bytes += p.bytes
	c.evict(p)
}

// evict drops what was used longest ago until the rest fits, but never keep.
func (c *cache) evict(keep *partition) {
	for e := c.order.Back(); e != nil && c.stats.Bytes > c.budget; {
		p, before := e.Value.(*partition), e.Prev()
		if p != keep {
			c.order.Remove(e)
			delete(c.parts, p.key)
			c.stats.Bytes -= p.bytes
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
	for _, p := range c.parts {
		s.Memories += p.memories
	}
	return s
}
