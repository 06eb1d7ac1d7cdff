// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

// NearRetry is how long a refusal holds.
const NearRetry = nearRetry

// AskFewer lets the ranker ask the store for no more neighbours than the scoring
// has to know, so that small partitions show what large ones do.
func (r *Ranker) AskFewer() { r.nearest = 1 }

// Widely takes AskFewer back.
func (r *Ranker) Widely() { r.nearest = minNeighbours }

// Spend sets how many vectors a search reads before it is content.
func (r *Ranker) Spend(vectors int) { r.budget = vectors }
