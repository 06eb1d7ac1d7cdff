// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"math"
	"time"
)

// signal is evidence for a memory beside the words and the vectors of its text. It moves
// hits and leaves their Score as it is. A new one is a type here and a case of newSignals.
type signal interface {
	// factor returns what the rank value of a memory is multiplied by: 1 where the signal
	// has no opinion. now is in Unix nanoseconds.
	factor(d *doc, now int64) float64
}

// newSignals returns the signals that are configured.
func newSignals(c *Config) []signal {
	var out []signal
	if c.RecencyHalfLife > 0 {
		out = append(out, recency{c.RecencyHalfLife})
	}
	if c.QualityWeight > 0 {
		out = append(out, quality{c.QualityWeight})
	}
	return out
}

// recency prefers what was observed lately: exponential decay with a half-life.
type recency struct{ halfLife time.Duration }

func (s recency) factor(d *doc, now int64) float64 {
	age := max(0, float64(now)-float64(d.time))
	return math.Exp2(-age / float64(s.halfLife))
}

// quality prefers memories that were judged to be good.
type quality struct{ weight float64 }

func (s quality) factor(d *doc, _ int64) float64 {
	q := d.memory.Quality
	if q == nil || math.IsNaN(*q) {
		return 1
	}
	return 1 + s.weight*(2*max(0, min(1, *q))-1)
}
