// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
)

// standsFor is how many messages a fact may name and still stand for them in an
// answer. One that names more sums them up, or could not say which they were.
const standsFor = 4

// source names a turn's message: message ids are unique in their session.
type source struct{ session, message string }

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
	all, err := b.ranker.All(ctx, p)
	if err != nil {
		return fmt.Errorf("mem0: %w", err)
	}
	past := q.IncludeSuperseded || !q.AsOf.IsZero()
	for _, m := range all {
		if m.Kind != backends.KindFact || len(m.Origin.MessageIDs) > standsFor {
			continue
		}
		for _, id := range m.Origin.MessageIDs {
			if s := turns[source{m.Origin.Session, id}]; s != nil {
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
