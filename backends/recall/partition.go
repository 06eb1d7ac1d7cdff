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
	"github.com/einomem/einomem/internal/work"
)

// partition is the index of one partition, with the means to keep it current.
type partition struct {
	ranker *Ranker
	key    backends.Partition

	mu    sync.RWMutex
	index *index // nil until loaded; the running refresh alone changes it, under mu

	cursor string // the last change in the index; the running refresh alone uses it

	waiting singleflight.Group // of callers for a refresh that is still to begin
	running sync.Mutex         // held by the refresh that runs

	place    *list.Element // in the cache, which guards this and what follows
	bytes    int64
	memories int
}

// current returns once the index holds everything that the store took before the call. Callers that
// come during a refresh share the next one: the store may have answered the running one before the
// write that they expect to see. The refresh goes on for the others when a caller gives up.
func (p *partition) current(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	result := p.waiting.DoChan("", func() (any, error) {
		grow(0)
		leave, err := p.ranker.life.Enter()
		if err != nil {
			return nil, err
		}
		defer leave()
		ctx, end := p.ranker.life.Within(context.WithoutCancel(ctx))
		defer end()
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

// grow makes room for the deep calls of a store while a new goroutine's stack is nearly empty. The
// stack would else be copied several times on their way.
//
//go:noinline
func grow(at int) byte {
	var room [12 << 10]byte
	return room[at]
}

// refresh is one run through the changes since a partition's cursor. A first load, and a load after
// a Reset, builds a new index aside and swaps it in when it is complete. So searches see whole
// indexes only.
type refresh struct {
	partition *partition
	cursor    string // behind the page that was read last
	index     *index // gets the pages
	aside     bool   // index is still hidden from searches
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
func (r *refresh) next(ctx context.Context) (c *store.ChangeSet, err error) {
	defer work.Recover("the store", &err) // it may run in a goroutine of the ranker's
	c, err = r.partition.ranker.config.Records.Changes(ctx, r.partition.key, r.cursor)
	if err != nil {
		return nil, err
	}
	if c.More && c.Cursor == r.cursor {
		return nil, fmt.Errorf("%w: the store returns the same page again", backends.ErrUnavailable)
	}
	r.cursor = c.Cursor
	return c, nil
}

func (r *refresh) startOver() { r.index, r.aside, r.readers = r.partition.ranker.newIndex(), true, nil }

// take applies one page. It does the slow part before it locks searches out.
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

// finish frees terms that lost their last memory, and shows searches an index that was built aside.
func (r *refresh) finish() {
	p := r.partition
	if r.aside || len(r.index.lexicon.emptied) > 0 {
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
	Evictions  int64 // partitions that left because the budget was full
}

// cache holds the partitions in order of use, as many as fit into its budget, and always the one in
// use: a partition bigger than the whole budget is searched like any other and leaves when the next
// one comes.
type cache struct {
	budget int64 // bytes

	mu    sync.Mutex
	parts map[backends.Partition]*partition
	order list.List // of *partition; used last comes first
	stats Stats
}

// perPartition is the charge for an empty partition, in bytes.
const perPartition = 1024

// get returns the partition, and opens a new one if the cache lacks it.
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

// evict drops the least recently used partitions until the rest fits, and always keeps one.
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
