// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"math"
	"time"

	"github.com/einomem/einomem/backends"
)

// Weight changes the order of hits by something else than what the query asks for: what a memory is
// worth for the query is multiplied by it, 0 to 1. It leaves Score as it is. It must be quick,
// and safe for concurrent use.
type Weight func(m *backends.Memory, now time.Time) float64

// A Curve is how well something is remembered, 0 to 1, so long after it was used last, or else
// said, having been used so often.
type Curve func(since time.Duration, uses int) float64

// MemoryBank is the curve of that system (Zhong et al., AAAI 2024): exp(-t/S), with t in days
// and a strength S of one and one more for each use.
func MemoryBank(since time.Duration, uses int) float64 {
	return math.Exp(-since.Hours() / 24 / float64(1+uses))
}

// GenerativeAgents is the curve of those (Park et al., UIST 2023): 0.995 to the power of the hours.
func GenerativeAgents(since time.Duration, _ int) float64 {
	return math.Pow(0.995, since.Hours())
}

// Recency weighs by a curve: a share of what a memory is worth, 0 to 1, depends on it. Uses are
// those that a backend counts: see its Config.CountUses.
func Recency(curve Curve, share float64) Weight {
	return func(m *backends.Memory, now time.Time) float64 {
		uses, last := m.Uses()
		if last.IsZero() {
			last = m.Since()
		}
		return 1 - share + share*curve(max(0, now.Sub(last)), uses)
	}
}

// Importance weighs by Quality, of which half is usual, and that of what was not judged: see
// mem0.Config.Importance. A share of what a memory is worth, 0 to 1, depends on it.
func Importance(share float64) Weight {
	return func(m *backends.Memory, _ time.Time) float64 {
		quality := 0.5
		if m.Quality != nil {
			quality = *m.Quality
		}
		return 1 - share + share*quality
	}
}

// weigh applies the weights of the configuration to what a memory is worth for a query. None
// makes it worth more: what is not good enough without them is not with them.
func (f *field) weigh(m *backends.Memory, value float64) float64 {
	for _, w := range f.weights {
		if value > 0 {
			value *= max(0, min(1, w(m, f.now)))
		}
	}
	return value
}
