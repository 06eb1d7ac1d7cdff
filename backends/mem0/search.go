// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
	"context"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

// How many hits a search gives: see [backends.SearchRequest].
const (
	defaultTopK = 5
	maxTopK     = 1000
)

func (b *Backend) search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	scope, p, err := b.partition(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	q := *r
	q.Scope = scope
	if len(q.Kinds) > 0 || b.config.Mode == Verbatim {
		return b.keep.Search(ctx, p, &q)
	}
	k := cmp.Or(q.TopK, defaultTopK)
	if k > 0 && k <= maxTopK { // others are recall's to refuse
		q.TopK = min(maxTopK, 2*k+5) // room for the turns that are left out
	}
	resp, err := b.keep.Search(ctx, p, &q)
	if err != nil {
		return nil, err
	}
	if err := b.fold(ctx, p, &q, resp); err != nil {
		return nil, err
	}
	resp.Hits = resp.Hits[:min(k, len(resp.Hits))]
	return resp, nil
}

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
		for _, from := range sourcesOf(m) {
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

// standsFor is how many messages a fact may name and still stand for them in an
// answer. One that names more sums them up, or could not say which they were.
const standsFor = 4

// source names a turn's message: message ids are unique in their session.
type source struct{ session, message string }

func (s source) key() string { return keeper.Key("source", s.session, s.message) }

// sourcesOf returns the messages that a memory stands for.
func sourcesOf(m *backends.Memory) []source {
	if m.Kind != backends.KindFact || len(m.Origin.MessageIDs) > standsFor {
		return nil
	}
	sources := make([]source, len(m.Origin.MessageIDs))
	for i, id := range m.Origin.MessageIDs {
		sources[i] = source{m.Origin.Session, id}
	}
	return sources
}

// keysOf returns the keys by which the ranking finds a memory: those of the keeper, and for
// a fact the messages that it stands for.
func keysOf(m *backends.Memory) []string {
	keys := keeper.Keys(m)
	for _, s := range sourcesOf(m) {
		keys = append(keys, s.key())
	}
	return keys
}
