// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
)

// How many hits a search gives: see [backends.SearchRequest]. Scoring as mem0 does
// has mem0's default.
const (
	defaultTopK = 5
	mem0TopK    = 20
	maxTopK     = 1000
)

func (b *Backend) topK(asked int) int {
	switch {
	case asked != 0:
		return asked
	case b.config.Recall != nil && b.config.Recall.Scoring == recall.Mem0Compatible:
		return mem0TopK
	}
	return defaultTopK
}

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
		return b.keep.Search(ctx, p, &q)
	}
	k := b.topK(q.TopK)
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
