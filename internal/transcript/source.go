// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import "math/rand/v2"

// Source is chance: what a conversation is made of is drawn from it. It need not
// be safe for concurrent use.
type Source interface {
	// IntN returns a number from 0 to n-1; n is above 0.
	IntN(n int) int
}

// Seed returns chance that a number determines.
func Seed(seed uint64) Source { return rand.New(rand.NewPCG(seed, seed)) }

// oneIn reports a chance of one in n. The likely outcome is that of a 0, which
// property tests shrink to.
func oneIn(s Source, n int) bool { return s.IntN(n) == n-1 }
