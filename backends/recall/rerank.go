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

// rerank orders the pool by the reranker's scores and cuts it to what was asked
// for. On a failure the order stays as it was and the error tells why.
func (r *Ranker) rerank(ctx context.Context, q *query, pool []backends.Hit) ([]backends.Hit, error) {
	cut := func(hits []backends.Hit) []backends.Hit { return hits[:min(len(hits), q.topK):min(len(hits), q.topK)] }
	if r.config.Reranker == nil || len(pool) == 0 {
		return cut(pool), nil
	}
	scores, err := r.config.Reranker.Rerank(ctx, q.text, slices.Clone(pool))
	if err == nil {
		err = checkScores(scores, len(pool))
	}
	if err != nil {
		return cut(pool), fmt.Errorf("the order is as before the reranker: %w", err)
	}
	for i := range pool {
		pool[i].Parts.Rerank = scores[i]
	}
	slices.SortStableFunc(pool, func(a, b backends.Hit) int { return cmp.Compare(b.Parts.Rerank, a.Parts.Rerank) })
	return cut(pool), nil
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
