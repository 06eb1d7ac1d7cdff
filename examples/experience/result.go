// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/experience/internal/cellar"
)

// result is how an arm did on one seed.
type result struct {
	tests    int // cellars
	won      int
	attempts int
	steps    int // calls of tools, of all attempts
	failures int // calls of tools that failed, of all attempts

	played int // calls of the model that plays, training included
	taught int // calls of the model that learns

	stored     int // memories that hold after the tests
	superseded int // memories that a merged one took the place of
	deleted    int // memories that were forgotten

	memories []backends.Memory // what it knows in the end
}

// add counts an attempt at a test cellar.
func (r *result) add(v *cellar.Visit) {
	r.attempts++
	r.steps += v.Steps()
	r.failures += v.Failures()
}

// rate is the share of test cellars that were left.
func (r *result) rate() float64 { return float64(r.won) / float64(max(r.tests, 1)) }

// spread is a mean and the standard deviation of the sample.
type spread struct{ mean, sd float64 }

// over returns the spread of what f says of the results of seeds.
func over(results []*result, f func(*result) float64) spread {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = f(r)
	}
	return spreadOf(values)
}

func spreadOf(values []float64) spread {
	n := float64(len(values))
	var s spread
	for _, v := range values {
		s.mean += v / n
	}
	if n < 2 {
		return s
	}
	for _, v := range values {
		s.sd += (v - s.mean) * (v - s.mean) / (n - 1)
	}
	s.sd = math.Sqrt(s.sd)
	return s
}

// each is the number that f counts, for a test cellar.
func each(f func(*result) int) func(*result) float64 {
	return func(r *result) float64 { return float64(f(r)) / float64(max(r.tests, 1)) }
}
