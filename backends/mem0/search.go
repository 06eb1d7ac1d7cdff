// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
)

// defaultTopK and maxTopK are those of [backends.SearchRequest].
const (
	defaultTopK = 5
	maxTopK     = 1000
)

func (b *Backend) search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	if r == nil {
		return nil, fmt.Errorf("mem0: %w: no request", backends.ErrInvalid)
	}
	scope, p, err := b.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	q := *r
	q.Scope = scope
	if len(q.Kinds) > 0 || b.config.Mode == Verbatim {
		return b.find(ctx, p, &q)
	}
	k := q.TopK
	if k <= 0 {
		k = defaultTopK
	}
	q.TopK = min(maxTopK, 2*k+5) // room for the turns that are left out
	resp, err := b.find(ctx, p, &q)
	if err != nil {
		return nil, err
	}
	if err := b.fold(ctx, p, &q, resp); err != nil {
		return nil, err
	}
	resp.Hits = resp.Hits[:min(k, maxTopK, len(resp.Hits))]
	return resp, nil
}

func (b *Backend) find(ctx context.Context, p backends.Partition, q *backends.SearchRequest) (*backends.SearchResponse, error) {
	resp, err := b.ranker.Search(ctx, p, q)
	if err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
	}
	return resp, nil
}

// source names a turn's message: message ids are unique in their session.
type source struct{ session, message string }

// fold leaves out the turns that facts stand for: those that taught a fact among
// the hits, and those of which no fact holds any more, because they would bring
// back what was superseded.
func (b *Backend) fold(ctx context.Context, p backends.Partition, q *backends.SearchRequest, resp *backends.SearchResponse) error {
	turns := map[source]bool{}
	for i := range resp.Hits {
		if h := &resp.Hits[i]; h.Kind == backends.KindEpisode {
			for _, id := range h.Origin.MessageIDs {
				turns[source{h.Origin.Session, id}] = false
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
	hits := map[string]bool{}
	for i := range resp.Hits {
		hits[resp.Hits[i].ID] = true
	}
	past := q.IncludeSuperseded || !q.AsOf.IsZero()
	holds, taught := map[source]bool{}, map[source]bool{}
	for _, m := range all {
		if m.Kind != backends.KindFact {
			continue
		}
		for _, id := range m.Origin.MessageIDs {
			s := source{m.Origin.Session, id}
			if _, asked := turns[s]; !asked {
				continue
			}
			taught[s] = true
			holds[s] = holds[s] || past || m.Active()
			turns[s] = turns[s] || hits[m.ID]
		}
	}
	resp.Hits = slices.DeleteFunc(resp.Hits, func(h backends.Hit) bool {
		return h.Kind == backends.KindEpisode && slices.ContainsFunc(h.Origin.MessageIDs, func(id string) bool {
			s := source{h.Origin.Session, id}
			return turns[s] || taught[s] && !holds[s]
		})
	})
	return nil
}
