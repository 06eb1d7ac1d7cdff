// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

const (
	defaultTopK = 5
	maxTopK     = 1000
	// maxQuery is how many bytes of a query count: of a longer one the first and
	// the last half of so many, since a question stands before or after what was
	// pasted with it.
	maxQuery = 64 << 10
)

// Search returns the memories of partition p that answer the query, best first,
// as the package comment describes. The Scope of q is not read: p is what is
// searched. A blank query, and one without a match, find nothing.
//
// Errors: ErrInvalid for a TopK below 0 or above 1000, a threshold that is no
// number, a query that is not UTF-8, a filter that does not compile; ErrDimension
// when the stored vectors are not of the configured embedder (call
// [Ranker.Reembed]); ErrUnavailable when the store does not answer. A failing
// embedder or reranker is no error: see [backends.SearchResponse].
func (r *Ranker) Search(ctx context.Context, p backends.Partition, q *backends.SearchRequest) (*backends.SearchResponse, error) {
	query, err := r.parse(q)
	if err != nil {
		return nil, err
	}
	part, err := r.partition(ctx, p)
	if err != nil || query.text == "" {
		return &backends.SearchResponse{}, err
	}
	var resp backends.SearchResponse
	if resp.Degraded, err = r.embedQuery(ctx, part, query); err != nil {
		return nil, err
	}
	hits, err := r.rank(part, query)
	if err != nil {
		return nil, err
	}
	resp.Hits, err = r.rerank(ctx, query, hits)
	if err != nil {
		resp.Degraded = errors.Join(resp.Degraded, err)
	}
	if q.WithSources {
		part.fillSources(resp.Hits, query)
	}
	return &resp, nil
}

// query is a checked request.
type query struct {
	text      string
	bag       bag
	vector    []float32 // nil: lexical alone
	topK      int
	threshold float64
	scope     eligibility
}

func (r *Ranker) parse(q *backends.SearchRequest) (*query, error) {
	if q == nil {
		return nil, fmt.Errorf("search: %w: no request", backends.ErrInvalid)
	}
	out := &query{topK: q.TopK, threshold: q.Threshold}
	switch {
	case !utf8.ValidString(q.Query):
		return nil, fmt.Errorf("search: %w: the query is not UTF-8", backends.ErrInvalid)
	case q.TopK < 0 || q.TopK > maxTopK:
		return nil, fmt.Errorf("search: %w: TopK %d is not from 0 to %d", backends.ErrInvalid, q.TopK, maxTopK)
	case math.IsNaN(q.Threshold) || math.IsInf(q.Threshold, 0):
		return nil, fmt.Errorf("search: %w: threshold %v", backends.ErrInvalid, q.Threshold)
	}
	if out.topK == 0 {
		out.topK = defaultTopK
	}
	var err error
	if out.scope, err = newEligibility(q, r.config.Clock()); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	out.text = strings.TrimSpace(shorten(q.Query, maxQuery))
	out.bag = r.analyzer.bag(out.text, nil)
	return out, nil
}

// shorten returns a text as it is up to size bytes, else its first and its last
// half of so many.
func shorten(s string, size int) string {
	if len(s) <= size {
		return s
	}
	head, tail := s[:size/2], s[len(s)-size/2:]
	return strings.ToValidUTF8(head, "") + "\n" + strings.ToValidUTF8(tail, "")
}

// embedQuery sets the vector of the query where the partition has vectors to
// compare it with. degraded tells why it could not.
func (r *Ranker) embedQuery(ctx context.Context, p *partition, q *query) (degraded, err error) {
	if r.config.Embedder == nil {
		return nil, nil
	}
	p.mu.RLock()
	some, err := p.index.embedding != nil && p.index.comparable(), p.index.checkVectors(r.config.EmbeddingModel, 0)
	p.mu.RUnlock()
	if err != nil || !some { // a mismatch is known without asking the embedder
		return nil, err
	}
	vectors, err := r.vectors(ctx, []string{q.text})
	switch {
	case err == nil:
		q.vector = vectors[0]
		return nil, nil
	case ctx.Err() != nil:
		return nil, err
	case errors.Is(err, backends.ErrDimension):
		return nil, err
	}
	return fmt.Errorf("the ranking is lexical alone: %w", err), nil
}
