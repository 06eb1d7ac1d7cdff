// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"container/list"
	"crypto/sha256"
	"sync"

	"github.com/einomem/einomem/internal/modelask"
)

// cacheKey is the hash of everything that a summary was asked with: prompt,
// former summary, messages.
type cacheKey [sha256.Size]byte

func keyOf(q *modelask.Question) cacheKey {
	return sha256.Sum256([]byte(q.System + "\x00" + q.User))
}

// cache holds the summaries that were used last, so that a context which nobody
// keeps compacted (a MessageModifier sees the whole history at every call) pays
// for each of them once. What a model could not summarise is held too: the same
// question is not asked again and again. It is safe for concurrent use.
type cache struct {
	size int

	mu      sync.Mutex
	entries map[cacheKey]*list.Element // of *cached
	order   *list.List                 // used last comes first
}

type cached struct {
	key    cacheKey
	digest digest // never changed
	err    error
}

func newCache(size int) *cache {
	return &cache{size: size, entries: map[cacheKey]*list.Element{}, order: list.New()}
}

func (c *cache) get(key cacheKey) (*cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached), true
}

func (c *cache) put(v *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[v.key]; ok {
		e.Value = v
		c.order.MoveToFront(e)
		return
	}
	c.entries[v.key] = c.order.PushFront(v)
	for c.order.Len() > max(c.size, 0) {
		last := c.order.Back()
		delete(c.entries, c.order.Remove(last).(*cached).key)
	}
}
