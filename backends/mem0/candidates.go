// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
)

const (
	queriesPerCall = 12  // searches for one call, beside the one for all messages
	queryRunes     = 600 // bytes of a message that are searched with
)

// candidates returns the facts that the new messages may be about, best first,
// at most n: found by all messages together and by each of the texts alone, and
// filled up with the newest facts, because what changes a fact may share no word
// with it.
func (b *Backend) candidates(ctx context.Context, in *intake, texts []string, n int, usage *backends.Usage) ([]*backends.Memory, error) {
	all, err := b.keep.All(ctx, in.partition)
	if err != nil {
		return nil, err
	}
	var facts []*backends.Memory
	for _, m := range all {
		if m.Kind == backends.KindFact && m.Active() && !m.Expired(in.now) {
			facts = append(facts, m)
		}
	}
	slices.SortStableFunc(facts, func(a, b *backends.Memory) int { return b.Updated.Compare(a.Updated) })
	if len(facts) > n {
		rank, err := b.rankFor(ctx, in, texts, n, usage)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(facts, func(a, b *backends.Memory) int { return cmp.Compare(rank[b.ID], rank[a.ID]) })
		facts = facts[:n]
	}
	out := make([]*backends.Memory, len(facts))
	for i, m := range facts {
		c := m.Clone()
		out[i] = &c
	}
	return out, nil
}

// rankFor joins the rankings of several searches by reciprocal rank.
func (b *Backend) rankFor(ctx context.Context, in *intake, texts []string, n int, usage *backends.Usage) (map[string]float64, error) {
	queries := []string{}
	for _, t := range texts[max(0, len(texts)-queriesPerCall):] {
		queries = append(queries, shorten(t, queryRunes))
	}
	if len(queries) > 1 {
		queries = append(queries, shorten(strings.Join(queries, "\n"), 4*queryRunes))
	}
	rank := map[string]float64{}
	for _, q := range queries {
		resp, err := b.keep.Ranker().Search(ctx, in.partition, &backends.SearchRequest{
			Scope: in.scope, Query: q, TopK: n, Kinds: []backends.Kind{backends.KindFact},
		})
		if err != nil {
			return nil, fmt.Errorf("mem0: looking for what is known: %w", err)
		}
		if b.config.Embedder != nil {
			usage.EmbeddedTexts++
		}
		for i := range resp.Hits {
			rank[resp.Hits[i].ID] += 1 / float64(60+i)
		}
	}
	return rank, nil
}
