// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"container/list"
	"sync"

	"github.com/einomem/einomem/backends"
)

// cache holds the partitions that were used last, as many as fit into its
// budget, and always the one in use: a partition bigger than the whole budget
// is searched like any other and leaves when the next one comes.
type cache struct {
	budget int64

	mu    sync.Mutex
	parts map[backends.Partition]*list.Element // of *held
	order *list.List                           // used last comes first
	stats Stats
}

type held struct {
	partition *partition
	bytes     int64
	memories  int
}

// perPartition is charged for a partition with nothing in it, in bytes.
const perPartition = 1024

func newCache(budget int64) *cache {
	return &cache{budget: budget, parts: map[backends.Partition]*list.Element{}, order: list.New()}
}

// get returns the partition, made by create when it is not held.
func (c *cache) get(key backends.Partition, create func() *partition) *partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.parts[key]; ok {
		c.stats.Hits++
		c.order.MoveToFront(e)
		return e.Value.(*held).partition
	}
	h := &held{partition: create(), bytes: perPartition}
	c.parts[key] = c.order.PushFront(h)
	c.stats.Bytes += h.bytes
	c.evict(h)
	return h.partition
}

// charge notes how many bytes and memories a partition takes now.
func (c *cache) charge(p *partition, bytes int64) { c.note(p, bytes, 0) }

// loaded is charge after the partition was read from the store as a whole.
func (c *cache) loaded(p *partition, bytes int64) { c.note(p, bytes, 1) }

func (c *cache) note(p *partition, bytes int64, loads int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Loads += loads
	e, ok := c.parts[p.key]
	if !ok || e.Value.(*held).partition != p { // evicted meanwhile
		return
	}
	h := e.Value.(*held)
	bytes += perPartition
	c.stats.Bytes += bytes - h.bytes
	h.bytes, h.memories = bytes, len(p.index.slots)
	c.evict(h)
}

// evict drops what was used longest ago until the rest fits, but never keep.
func (c *cache) evict(keep *held) {
	for e := c.order.Back(); e != nil && c.stats.Bytes > c.budget; {
		h, before := e.Value.(*held), e.Prev()
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
		s.Memories += e.Value.(*held).memories
	}
	return s
}

// Stats tells what a [Ranker] holds in memory and how it came there.
type Stats struct {
	Partitions int   // partitions held now
	Memories   int   // memories in them
	Bytes      int64 // bytes they take, estimated
	Loads      int64 // times that a partition was read from the store as a whole
	Hits       int64 // calls that found their partition in memory
	Evictions  int64 // partitions that left for want of room
}
