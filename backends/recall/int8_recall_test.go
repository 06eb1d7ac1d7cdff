// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// cloud makes up vectors around so many centres; 0: in all directions alike.
type cloud struct {
	rnd     *rand.Rand
	dim     int
	centres [][]float64
	spread  float64 // length of the way from a centre, in lengths of the centre
}

func newCloud(dim, centres int, spread float64) *cloud {
	c := &cloud{rnd: rand.New(rand.NewPCG(5, 6)), dim: dim, spread: spread}
	for range centres {
		c.centres = append(c.centres, c.normal(1))
	}
	return c
}

func (c *cloud) normal(length float64) []float64 {
	v := make([]float64, c.dim)
	for i := range v {
		v[i] = length * c.rnd.NormFloat64()
	}
	return v
}

func (c *cloud) draw() []float64 {
	v := c.normal(c.spread)
	if len(c.centres) > 0 {
		for i, x := range c.centres[c.rnd.IntN(len(c.centres))] {
			v[i] += x
		}
	}
	return v
}

// int8Recall returns which share of the ten nearest by float32 is among the ten
// nearest by int8.
func int8Recall(t testing.TB, c *cloud, memories, queries int) float64 {
	t.Helper()
	stored := func(v []float64, e recall.Encoding) []float32 {
		data, err := recall.EncodeVector(v, e, "m")
		require.NoError(t, err)
		out, err := recall.DecodeVector(data, store.Embedding{Model: "m", Dim: c.dim})
		require.NoError(t, err)
		return out
	}
	var exact, rounded [][]float32
	for range memories {
		v := c.draw()
		exact, rounded = append(exact, stored(v, recall.Float32)), append(rounded, stored(v, recall.Int8))
	}
	found := 0
	for range queries {
		query := stored(c.draw(), recall.Float32)
		near := nearest(exact, query)
		for _, i := range nearest(rounded, query) {
			if slices.Contains(near, i) {
				found++
			}
		}
	}
	return float64(found) / float64(10*queries)
}

// nearest returns the ten rows of the highest cosines.
func nearest(rows [][]float32, query []float32) []int {
	cosines, order := make([]float32, len(rows)), make([]int, len(rows))
	for i, row := range rows {
		cosines[i], order[i] = vek32.Dot(query, row), i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(cosines[j], cosines[i]) })
	return order[:10]
}

// clouds are the shapes that embeddings come in: without any order, which is the
// worst for rounding since all are nearly as far, in wide clusters and in narrow ones.
var clouds = []struct {
	centres int
	spread  float64
}{{0, 1}, {100, 1}, {100, 0.3}, {100, 0.1}}

func TestInt8FindsTheSameNeighbours(t *testing.T) {
	for _, c := range clouds {
		require.Greater(t, int8Recall(t, newCloud(256, c.centres, c.spread), 1000, 50), 0.9, "%+v", c)
	}
}

// BenchmarkInt8Recall reports the recall of int8 against float32; its time means
// nothing.
func BenchmarkInt8Recall(b *testing.B) {
	for _, c := range clouds {
		b.Run(fmt.Sprintf("centres=%d/spread=%v", c.centres, c.spread), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(int8Recall(b, newCloud(benchDim, c.centres, c.spread), benchMemories, 200), "recall@10")
			}
		})
	}
}
