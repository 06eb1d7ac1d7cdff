// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"hash/fnv"
	"math/rand/v2"

	"github.com/cloudwego/eino/components/embedding"
)

// directions is an embedder whose vectors point anywhere, seeded by the text.
type directions struct {
	dim  int
	seed uint64
}

func (d directions) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, t := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(t))
		rnd := rand.New(rand.NewPCG(h.Sum64(), d.seed))
		out[i] = make([]float64, d.dim)
		for j := range out[i] {
			out[i][j] = rnd.NormFloat64()
		}
	}
	return out, nil
}

func rand6() *rand.Rand { return rand.New(rand.NewPCG(6, 6)) }
