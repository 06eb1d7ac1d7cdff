// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"slices"

	"github.com/einomem/einomem/backends"
)

// standing says what the facts of a partition mean for one turn in an answer.
type standing struct {
	taught bool // it taught facts
	holds  bool // one of them still holds
	shown  bool // one of them is in the answer
}

// fold leaves out the turns that facts stand for: those that taught a fact among
// the hits, and those of which no fact holds any more, because they would bring
// back what was superseded.
func (b *Backend) fold(ctx context.Context, p backends.Partition, q *backends.SearchRequest, resp *backends.SearchResponse) error {
	turns, hits := map[source]*standing{}, map[string]bool{}
	for i := range resp.Hits {
		h := &resp.Hits[i]
		hits[h.ID] = true
		if h.Kind == backends.KindEpisode {
			for _, id := range h.Origin.MessageIDs {
				turns[source{h.Origin.Session, id}] = &standing{}
			}
		}
	}
	if len(turns) == 0 {
		return nil
	}
	var keys []string
	for s := range turns {
		keys = append(keys, s.key())
	}
	facts, err := b.keep.Lookup(ctx, p, keys...)
	if err != nil {
		return err
	}
	past := q.IncludeSuperseded || !q.AsOf.IsZero()
	for _, m := range facts {
		for _, from := range standIns(m) {
			if s := turns[from]; s != nil {
				s.taught = true
				s.holds = s.holds || past || m.Active()
				s.shown = s.shown || hits[m.ID]
			}
		}
	}
	resp.Hits = slices.DeleteFunc(resp.Hits, func(h backends.Hit) bool {
		return h.Kind == backends.KindEpisode && slices.ContainsFunc(h.Origin.MessageIDs, func(id string) bool {
			s := turns[source{h.Origin.Session, id}]
			return s.shown || s.taught && !s.holds
		})
	})
	return nil
}
