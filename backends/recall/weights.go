// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"math"
	"time"

	"github.com/einomem/einomem/backends"
)

// Weight changes the order of hits by another reason than the query. It is a factor, 0 to 1, of a
// memory's value for the query, and leaves Score as it is. It must be quick, and safe for
// concurrent use.
type Weight func(m *backends.Memory, now time.Time) float64

// MemoryBank is the curve of that system (Zhong et al., AAAI 2024): exp(-t/S), with t in days
// and a strength S of one and one more for each use.
func MemoryBank(since time.Duration, uses int) float64 {
	return math.Exp(-since.Hours() / 24 / float64(1+uses))
}

// GenerativeAgents is the curve of that system (Park et al., UIST 2023): 0.995 to the power of the
// hours.
func GenerativeAgents(since time.Duration, _ int) float64 { return math.Pow(0.995, since.Hours()) }

// Recency weighs by a curve, such as [MemoryBank]: how well something is remembered, 0 to 1, after
// so many uses and so long after the last use. A memory without a use counts from when it was said.
// A share of a memory's value, 0 to 1, depends on the curve. A backend counts the uses: see its
// Config.CountUses.
func Recency(curve func(since time.Duration, uses int) float64, share float64) Weight {
	return func(m *backends.Memory, now time.Time) float64 {
		uses, last := m.Uses()
		if last.IsZero() {
			last = m.Since()
		}
		return 1 - share + share*curve(max(0, now.Sub(last)), uses)
	}
}

// Importance weighs by Quality. Half is usual, and the default of unjudged memories: see
// mem0.Config.Importance. A share of a memory's value, 0 to 1, depends on it.
func Importance(share float64) Weight {
	return func(m *backends.Memory, _ time.Time) float64 {
		quality := 0.5
		if m.Quality != nil {
			quality = *m.Quality
		}
		return 1 - share + share*quality
	}
}

// weigh returns the product of the weights of the configuration for a memory. They only lower its
// value for a query: a memory needs a good value before the weights.
func (f *ranking) weigh(m *backends.Memory) float64 {
	factor := 1.0
	for _, w := range f.weights {
		factor *= max(0, min(1, w(m, f.now)))
	}
	return factor
}
