// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import "math"

// emphasis returns what the rank value of a memory is multiplied by: its age and
// its judged quality, each only where it is configured.
// now is in Unix nanoseconds.
func (r *Ranker) emphasis(d *doc, now int64) float64 {
	c := &r.config
	if c.RecencyHalfLife == 0 && c.QualityWeight == 0 {
		return 1 // without a look at the memory: this runs for every document
	}
	f := 1.0
	if c.RecencyHalfLife > 0 {
		age := max(0, float64(now)-float64(d.time))
		f *= math.Exp2(-age / float64(c.RecencyHalfLife))
	}
	if q := d.memory.Quality; c.QualityWeight > 0 && q != nil && !math.IsNaN(*q) {
		f *= 1 + c.QualityWeight*(2*max(0, min(1, *q))-1)
	}
	return f
}
