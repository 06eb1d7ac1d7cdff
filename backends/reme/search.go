// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

// defaultTopK is how many hits a search gives that does not say, maxTopK the most.
const (
	defaultTopK = 5
	maxTopK     = 1000
)

// experience are the kinds of memory that live in a workspace.
var experience = []backends.Kind{backends.KindTask, backends.KindTool}

// search asks the partitions that the scope names, side by side, and joins the answers.
func (b *Backend) search(ctx context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
	if r == nil {
		return nil, errNoRequest
	}
	if r.TopK < 0 || r.TopK > maxTopK {
		return nil, fmt.Errorf("reme: TopK %d: %w: 1 to %d, or 0 for %d", r.TopK, backends.ErrInvalid, maxTopK, defaultTopK)
	}
	at, err := b.places(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	q := *r
	q.Scope = at.scope
	if q.TopK == 0 {
		q.TopK = defaultTopK
	}
	var about, learnt backends.SearchResponse
	var both errgroup.Group
	if at.personal != nil && asksFor(q.Kinds, backends.KindPersonal) {
		both.Go(func() error {
			return work.Catch("reme: personal memory", func() (err error) {
				about, err = b.searchPersonal(ctx, at.target, &q)
				return err
			})
		})
	}
	if at.workspace != nil && (len(q.Kinds) == 0 || asksFor(q.Kinds, experience...)) {
		both.Go(func() error {
			return work.Catch("reme: the workspace", func() (err error) {
				learnt, err = b.searchExperience(ctx, *at.workspace, &q)
				return err
			})
		})
	}
	if err := both.Wait(); err != nil {
		return nil, err
	}
	hits := merge(about.Hits, learnt.Hits)
	return &backends.SearchResponse{
		Hits:     hits[:min(len(hits), q.TopK)],
		Degraded: errors.Join(about.Degraded, learnt.Degraded),
	}, nil
}

// merge joins two answers, each in its own order, which need not be that of the
// scores: a hit counts as much as the best of itself and those behind it.
func merge(a, b []backends.Hit) []backends.Hit {
	worthA, worthB := worth(a), worth(b)
	out := make([]backends.Hit, 0, len(a)+len(b))
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if j == len(b) || i < len(a) && worthA[i] >= worthB[j] {
			out = append(out, a[i])
			i++
		} else {
			out = append(out, b[j])
			j++
		}
	}
	return out
}

func worth(hits []backends.Hit) []float64 {
	out := make([]float64, len(hits))
	best := 0.0
	for i := len(hits) - 1; i >= 0; i-- {
		best = max(best, hits[i].Score)
		out[i] = best
	}
	return out
}

// asksFor reports whether any of some is among kinds; no kinds are all.
func asksFor(kinds []backends.Kind, some ...backends.Kind) bool {
	return len(kinds) == 0 || slices.ContainsFunc(some, func(k backends.Kind) bool { return slices.Contains(kinds, k) })
}

func (b *Backend) searchPersonal(ctx context.Context, target string, q *backends.SearchRequest) (backends.SearchResponse, error) {
	resp, err := b.personal.Retrieve(ctx, &PersonalRetrieveRequest{SearchRequest: *q, Target: target})
	if err != nil {
		return backends.SearchResponse{}, err
	}
	return resp.SearchResponse, nil
}

func (b *Backend) searchExperience(ctx context.Context, p backends.Partition, q *backends.SearchRequest) (backends.SearchResponse, error) {
	asked := *q
	asked.Filter = shared(q.Filter)
	asked.Kinds = slices.DeleteFunc(slices.Clone(experience), func(k backends.Kind) bool { return !asksFor(q.Kinds, k) })
	resp, err := b.keeper.Search(ctx, p, &asked)
	if err != nil {
		return backends.SearchResponse{}, err
	}
	return *resp, nil
}
