// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/examples/internal/trial"
)

// world is a set of made-up memories and queries. It is their embedder, too: the
// vector of a text is random, seeded by the text.
type world struct {
	texts   []string
	queries []string
	dim     int
	matrix  []float32 // what the bare scan reads
	sink    float32
}

func makeUp(n, dim int) *world {
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	w := &world{dim: dim, matrix: make([]float32, n*dim)}
	for range n {
		w.texts = append(w.texts, trial.Text(rnd, 10+rnd.IntN(20)))
	}
	for range 64 {
		w.queries = append(w.queries, trial.Text(rnd, 8))
	}
	for i := range w.matrix {
		w.matrix[i] = rnd.Float32()
	}
	return w
}

// EmbedStrings implements Eino's embedding.Embedder.
func (w *world) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, t := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(t))
		rnd := rand.New(rand.NewPCG(h.Sum64(), 1))
		out[i] = make([]float64, w.dim)
		for j := range out[i] {
			out[i][j] = rnd.Float64() - 0.4
		}
	}
	return out, nil
}

// bareScan is the least that an exact vector search can do: one dot product for
// each memory.
func (w *world) bareScan(string) error {
	query := w.matrix[:w.dim]
	for row := 0; row < len(w.matrix); row += w.dim {
		w.sink += vek32.Dot(query, w.matrix[row:row+w.dim])
	}
	return nil
}

// sample are the times that one sort of search took.
type sample struct {
	name  string
	run   func(query string) error
	times []time.Duration
}

// timings sums samples up. The first one is what the others are compared with.
func timings(memories int, samples []*sample) []timing {
	rows := make([]timing, len(samples))
	for i, s := range samples {
		q := trial.QuantilesOf(s.times)
		rows[i] = timing{Memories: memories, Search: s.name, P50: 1000 * q.P50, P95: 1000 * q.P95, P99: 1000 * q.P99}
		if strings.HasPrefix(s.name, "vector") && rows[0].P50 > 0 {
			rows[i].Ratio = rows[i].P50 / rows[0].P50
		}
	}
	return rows
}
