// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// CoreBlocks returns the memories of kind [backends.KindCore] of the partition, in
// the order and under the terms of [Ranker.All]. They are in the prompt anyway: no
// other method of the Ranker returns them, and none counts them.
func (r *Ranker) CoreBlocks(ctx context.Context, p backends.Partition) ([]*backends.Memory, error) {
	return r.collect(ctx, p, func(x *index) []*backends.Memory {
		blocks := make([]*backends.Memory, 0, len(x.apart))
		for _, m := range x.apart {
			blocks = append(blocks, m)
		}
		return blocks
	})
}

// setApart splits the core blocks off what changed. The page is left as it is.
func setApart(c *store.ChangeSet) (rest *store.ChangeSet, blocks []*backends.Memory) {
	isCore := func(r store.Record) bool { return r.Kind == backends.KindCore }
	if !slices.ContainsFunc(c.Records, isCore) {
		return c, nil
	}
	page := *c
	page.Records = make([]store.Record, 0, len(c.Records))
	for i := range c.Records {
		if isCore(c.Records[i]) {
			m := c.Records[i].Memory // without the record's vector
			blocks = append(blocks, &m)
			continue
		}
		page.Records = append(page.Records, c.Records[i])
	}
	return &page, blocks
}

// keep brings core blocks in. One that was another kind before leaves the index.
func (x *index) keep(blocks []*backends.Memory) {
	for _, m := range blocks {
		x.remove(m.ID)
		x.forget(m.ID)
		if x.apart == nil {
			x.apart = map[string]*backends.Memory{}
		}
		x.apart[m.ID] = m
		x.text += sizeOf(m)
	}
}

// forget drops the core block with the id, if it is one.
func (x *index) forget(id string) {
	if m := x.apart[id]; m != nil {
		x.text -= sizeOf(m)
		delete(x.apart, id)
	}
}
