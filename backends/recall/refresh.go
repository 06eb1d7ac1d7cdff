// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// refresh brings an index up to what the store holds. A first load, and one after
// a Reset, is built aside and replaces the index when it is complete, so that no
// search sees a part of it.
type refresh struct {
	partition *partition
	index     *index
	aside     bool
	cursor    string
	readers   readers // numbers of their terms are adopted by the index's lexicon
}

// refresh applies what changed since the cursor. While it brings one page in, the
// store reads the next one.
func (p *partition) refresh(ctx context.Context) error {
	r := refresh{partition: p, index: p.index, cursor: p.cursor}
	r.readers = readers{analyzer: p.ranker.analyzer, vocabulary: newVocabulary()}
	if r.index == nil {
		r.startOver()
	}
	c, err := r.page(ctx)
	for {
		if err == nil && c.More && c.Cursor == r.cursor {
			err = fmt.Errorf("%w: the store does not get on", backends.ErrUnavailable)
		}
		if err != nil {
			return fmt.Errorf("reading what changed in partition %s: %w", p.key, err)
		}
		r.cursor = c.Cursor
		if !c.More {
			break
		}
		next := r.fetch(ctx)
		r.take(c)
		c, err = next()
	}
	r.take(c)
	r.finish()
	return nil
}

// page reads what changed since the cursor.
func (r *refresh) page(ctx context.Context) (*store.ChangeSet, error) {
	return r.partition.ranker.config.Records.Changes(ctx, r.partition.key, r.cursor)
}

// fetch begins to read a page and returns what waits for it, which must be called
// before the cursor moves on.
func (r *refresh) fetch(ctx context.Context) (wait func() (*store.ChangeSet, error)) {
	var c *store.ChangeSet
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err = r.page(ctx)
	}()
	return func() (*store.ChangeSet, error) {
		<-done
		return c, err
	}
}

func (r *refresh) startOver() {
	r.index, r.aside = r.partition.ranker.newIndex(), true
	r.readers = readers{analyzer: r.index.analyzer, vocabulary: r.index.lexicon.loading}
}

// take applies one page. What takes time is done before searches are locked out.
func (r *refresh) take(c *store.ChangeSet) {
	if c.Reset {
		r.startOver()
	}
	if len(c.Records) > 0 || len(c.Removed) > 0 {
		r.bringIn(r.index.prepare(c, &r.readers))
	}
	if !r.aside {
		r.partition.cursor = r.cursor
	}
}

func (r *refresh) bringIn(p *page) {
	if r.aside {
		r.index.apply(p)
		return
	}
	r.partition.mu.Lock()
	r.index.apply(p)
	r.partition.mu.Unlock()
	r.partition.ranker.cache.charge(r.partition, r.index.bytes())
}

// finish shows searches an index that was built aside.
func (r *refresh) finish() {
	if !r.aside {
		return
	}
	r.index.lexicon.build(r.index.docs)
	r.partition.mu.Lock()
	r.partition.index = r.index
	r.partition.mu.Unlock()
	r.partition.cursor = r.cursor
	r.partition.ranker.cache.loaded(r.partition, r.index.bytes())
}
