// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"slices"

	"github.com/einomem/einomem/backends"
)

// source names a message or a turn of a session.
type source struct{ session, message, turn string }

// sourcesOf returns where a memory comes from: its messages, or its turn where no message
// is named.
func sourcesOf(o *backends.Origin) []source {
	var out []source
	for _, id := range o.MessageIDs {
		out = append(out, source{session: o.Session, message: id})
	}
	if len(out) == 0 && o.Turn != "" {
		out = append(out, source{session: o.Session, turn: o.Turn})
	}
	return out
}

// fillSources gives each hit the episodes of the partition that it was learnt from, in the
// order in which they were said.
func (p *partition) fillSources(hits []backends.Hit, q *query) {
	wanted := map[source][]int{} // → hits
	for i := range hits {
		for _, s := range sourcesOf(&hits[i].Origin) {
			wanted[s] = append(wanted[s], i)
		}
	}
	if len(wanted) == 0 {
		return
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for i := range p.index.docs {
		d := &p.index.docs[i]
		if d.memory == nil || d.memory.Kind != backends.KindEpisode || !q.eligible.expired && q.eligible.now >= d.expires {
			continue
		}
		for _, h := range learntFrom(d.memory, wanted) {
			if hits[h].ID != d.memory.ID {
				hits[h].Sources = append(hits[h].Sources, d.memory.Clone())
			}
		}
	}
	for i := range hits {
		slices.SortFunc(hits[i].Sources, func(a, b backends.Memory) int {
			return cmp.Or(a.Observed.Compare(b.Observed), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
		})
	}
}

// learntFrom returns the hits that were learnt from an episode, each once.
func learntFrom(m *backends.Memory, wanted map[source][]int) []int {
	var hits []int
	for _, s := range sourcesOf(&m.Origin) {
		hits = append(hits, wanted[s]...)
	}
	if o := &m.Origin; len(o.MessageIDs) > 0 && o.Turn != "" {
		hits = append(hits, wanted[source{session: o.Session, turn: o.Turn}]...)
	}
	slices.Sort(hits)
	return slices.Compact(hits)
}
