// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"slices"

	"github.com/einomem/einomem/backends"
)

// sourceKey names a message or a turn of a session.
type sourceKey struct{ session, message, turn string }

// sourceKeys returns where a memory comes from: its messages, or its turn where
// no message is named.
func sourceKeys(o *backends.Origin) []sourceKey {
	if len(o.MessageIDs) == 0 {
		if o.Turn == "" {
			return nil
		}
		return []sourceKey{{session: o.Session, turn: o.Turn}}
	}
	keys := make([]sourceKey, len(o.MessageIDs))
	for i, id := range o.MessageIDs {
		keys[i] = sourceKey{session: o.Session, message: id}
	}
	return keys
}

// fillSources gives each hit the episodes of the partition that taught it, in
// the order in which they were said.
func (p *partition) fillSources(hits []backends.Hit, q *query) {
	wanted := map[sourceKey][]int{} // → hits
	for i := range hits {
		for _, k := range sourceKeys(&hits[i].Origin) {
			wanted[k] = append(wanted[k], i)
		}
	}
	if len(wanted) == 0 {
		return
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for i := range p.index.docs {
		d := &p.index.docs[i]
		if d.memory == nil || d.memory.Kind != backends.KindEpisode || !q.scope.expired && q.scope.now >= d.expires {
			continue
		}
		for _, h := range taught(d.memory, wanted) {
			if hits[h].ID != d.memory.ID {
				hits[h].Sources = append(hits[h].Sources, cloneMemory(d.memory))
			}
		}
	}
	for i := range hits {
		slices.SortFunc(hits[i].Sources, func(a, b backends.Memory) int {
			return cmp.Or(a.Observed.Compare(b.Observed), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
		})
	}
}

// taught returns the hits that an episode taught, each once.
func taught(m *backends.Memory, wanted map[sourceKey][]int) []int {
	o := &m.Origin
	keys := sourceKeys(o)
	if len(o.MessageIDs) > 0 && o.Turn != "" {
		keys = append(keys, sourceKey{session: o.Session, turn: o.Turn})
	}
	var hits []int
	for _, k := range keys {
		hits = append(hits, wanted[k]...)
	}
	slices.Sort(hits)
	return slices.Compact(hits)
}
