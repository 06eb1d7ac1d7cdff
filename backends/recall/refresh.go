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
	remote    bool // whether the vectors stay in the store
	aside     bool
	cursor    string
}

// refresh applies what changed since the cursor.
func (p *partition) refresh(ctx context.Context) error {
	r := refresh{partition: p, index: p.index, cursor: p.cursor}
	if err := r.place(ctx); err != nil {
		return err
	}
	for more := true; more; {
		c, err := r.page(ctx)
		if err == nil && c.More && c.Cursor == r.cursor {
			err = fmt.Errorf("%w: the store does not get on", backends.ErrUnavailable)
		}
		if err != nil {
			return fmt.Errorf("reading what changed in partition %s: %w", p.key, err)
		}
		r.take(c)
		more = c.More
	}
	r.finish()
	return nil
}

func (r *refresh) startOver() { r.index, r.aside = r.partition.newIndex(r.remote), true }

// take applies one page. What takes time is done before searches are locked out.
func (r *refresh) take(c *store.ChangeSet) {
	if c.Reset {
		r.startOver()
	}
	r.cursor = c.Cursor
	if len(c.Records) > 0 || len(c.Removed) > 0 {
		entries, room := r.index.prepare(c.Records), r.index.reserve(c)
		if r.aside {
			r.index.apply(c, entries, room)
		} else {
			r.partition.mu.Lock()
			r.index.apply(c, entries, room)
			r.partition.mu.Unlock()
			r.partition.ranker.cache.charge(r.partition, r.index.bytes())
		}
	}
	if !r.aside {
		r.partition.cursor = r.cursor
	}
}

// finish shows searches an index that was built aside.
func (r *refresh) finish() {
	if !r.aside {
		return
	}
	r.partition.mu.Lock()
	r.partition.index = r.index
	r.partition.mu.Unlock()
	r.partition.cursor = r.cursor
	r.partition.ranker.cache.loaded(r.partition, r.index.bytes())
}
