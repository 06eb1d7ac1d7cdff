// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"container/list"
	"sync"

	"github.com/einomem/einomem/backends"
)

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
