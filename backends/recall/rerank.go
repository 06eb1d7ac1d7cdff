// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/einomem/einomem/backends"
)

// Reranker orders a pool of hits by a closer look, as a cross-encoder or a model does. It
// must be safe for concurrent use.
type Reranker interface {
	// Rerank returns one score from 0 to 1 for each hit. The hits are the whole pool, more
	// than were asked for, best first; they must not be changed. An error leaves the order
	// as it was and is reported as Degraded.
	Rerank(ctx context.Context, query string, hits []backends.Hit) ([]float64, error)
}

// pool is how many hits leave the ranking: those asked for, or more where a reranker
// chooses among them.
func (r *Ranker) pool(topK int) int {
	if r.config.Reranker == nil {
		return topK
	}
	return max(4*topK, 60)
}

// rerank orders the pool by the reranker's scores and returns as many as were asked for.
// On a failure the order stays as it was, and the error is for Degraded.
func (r *Ranker) rerank(ctx context.Context, q *query, pool []backends.Hit) ([]backends.Hit, error) {
	n := min(len(pool), q.topK)
	if r.config.Reranker == nil || n == 0 {
		return pool[:n:n], nil
	}
	scores, err := r.config.Reranker.Rerank(ctx, q.text, slices.Clone(pool))
	if err == nil {
		err = checkScores(scores, len(pool))
	}
	if err != nil {
		return pool[:n:n], fmt.Errorf("the order is as before the reranker: %w", err)
	}
	for i := range pool {
		pool[i].Parts.Rerank = scores[i]
	}
	slices.SortStableFunc(pool, func(a, b backends.Hit) int { return cmp.Compare(b.Parts.Rerank, a.Parts.Rerank) })
	return pool[:n:n], nil
}

func checkScores(scores []float64, n int) error {
	if len(scores) != n {
		return fmt.Errorf("%d scores for %d hits: %w", len(scores), n, backends.ErrModel)
	}
	for i, s := range scores {
		if math.IsNaN(s) || s < 0 || s > 1 {
			return fmt.Errorf("score %v of hit %d: %w: not from 0 to 1", s, i, backends.ErrModel)
		}
	}
	return nil
}
