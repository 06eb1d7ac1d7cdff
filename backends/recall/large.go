// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends/store"
)

// near returns the ability of the store to find neighbours, nil where it has none
// or none is to be used.
func (r *Ranker) near() store.Near {
	if r.config.Large < 0 || r.config.Embedder == nil {
		return nil
	}
	n, _ := r.config.Records.(store.Near)
	return n
}

// place decides, before a refresh reads, where the vectors of the partition are to
// be: in memory, or in the store, where it finds neighbours itself.
func (r *refresh) place(ctx context.Context) error {
	p, large := r.partition, r.partition.ranker.config.Large
	switch near := p.ranker.near(); {
	case r.index == nil:
		return r.begin(ctx, near)
	case r.index.remote:
		r.remote = true
		if p.access.closed(p.ranker.config.Clock()) || 2*len(r.index.slots) < large {
			r.load(false)
		}
	case near != nil && len(r.index.slots) >= large && r.index.matrix.rows() > 0:
		if r.remote = p.access.isGranted(); r.remote {
			p.giveUpVectors()
		} else {
			p.probe(ctx, near)
		}
	}
	return nil
}

// begin starts a first load.
func (r *refresh) begin(ctx context.Context, near store.Near) error {
	p := r.partition
	if near == nil || p.access.closed(p.ranker.config.Clock()) {
		r.load(false)
		return nil
	}
	n, err := near.Count(ctx, p.key)
	if err != nil {
		return fmt.Errorf("counting the records of partition %s: %w", p.key, err)
	}
	r.load(n >= p.ranker.config.Large)
	return nil
}

// load reads the partition from its start.
func (r *refresh) load(remote bool) {
	r.remote, r.cursor = remote, ""
	r.startOver()
}

// page reads what changed since the cursor, without vectors where they stay in the
// store.
func (r *refresh) page(ctx context.Context) (*store.ChangeSet, error) {
	records := r.partition.ranker.config.Records
	if r.remote {
		return records.(store.Near).Outline(ctx, r.partition.key, r.cursor)
	}
	return records.Changes(ctx, r.partition.key, r.cursor)
}

// newIndex returns an empty index, which leaves the vectors in the store or not.
func (p *partition) newIndex(remote bool) *index {
	x := p.ranker.newIndex()
	if remote {
		x.vectors, x.remote = false, true
	}
	return x
}

// giveUpVectors frees the vectors of an index that was loaded with them.
func (p *partition) giveUpVectors() {
	p.mu.Lock()
	x := p.index
	x.clearVectors()
	x.vectors, x.remote = false, true
	x.changes++
	p.mu.Unlock()
	p.ranker.cache.charge(p, x.bytes())
}

// follow notes what an index without vectors has to know of a page.
func (x *index) follow(c *store.ChangeSet) {
	x.changes++
	if x.remote && c.Embedding != nil {
		e := *c.Embedding
		x.embedding = &e
	}
}

// comparable reports whether the partition may hold vectors to compare with.
func (x *index) comparable() bool {
	if x.remote {
		return len(x.slots) > 0
	}
	return x.matrix.rows() > 0 || x.broken > 0
}
