// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// StandingKey is the key of memories that always apply, except delicate ones.
var StandingKey = text.HashKey("standing")

// Brief returns the request for the brief of a search, with the filter that its caller may use, or
// nil for a search that has none: one without a Brief, and one of the past.
func (k *Keeper) Brief(p backends.Partition, q *backends.SearchRequest) *backends.SearchRequest {
	if q.Brief == 0 || !q.AsOf.IsZero() || !q.KnownAt.IsZero() || q.IncludeSuperseded {
		return nil
	}
	admitted := *q
	admitted.Filter = k.Visible(q.Scope, p, q.Filter)
	return &admitted
}
