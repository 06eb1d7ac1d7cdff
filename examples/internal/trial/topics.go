// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/viterin/vek/vek32"
)

// latent is how many numbers a vector follows from: embeddings of texts vary in far
// fewer directions than they have components.
const latent = 64

// Topics makes vectors. A text belongs to one of the topics, and its vector is that
// topic's and as much again that is its own, both chosen by the text's hash. Two texts
// of one topic have a cosine near 0.5, others near 0. It is safe for concurrent use.
type Topics struct {
	centres [][latent]float32
	basis   [latent][]float32
	dim     int
}

// NewTopics returns n topics in a space of dim dimensions.
func NewTopics(n, dim int) *Topics {
	rnd := rand.New(rand.NewPCG(2, uint64(n)))
	t := &Topics{centres: make([][latent]float32, n), dim: dim}
	for i := range t.centres {
		gaussian(rnd, t.centres[i][:])
	}
	for i := range t.basis {
		t.basis[i] = make([]float32, dim)
		gaussian(rnd, t.basis[i])
	}
	return t
}

// Dim returns how many components a vector has.
func (t *Topics) Dim() int { return t.dim }

// Vector returns the vector of a text, of length 1.
func (t *Topics) Vector(text string) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	rnd := rand.New(rand.NewPCG(h.Sum64(), 3))
	z := t.centres[rnd.IntN(len(t.centres))]
	var own [latent]float32
	gaussian(rnd, own[:])
	out, part := make([]float32, t.dim), make([]float32, t.dim)
	for i := range z {
		vek32.MulNumber_Into(part, t.basis[i], z[i]+own[i])
		vek32.Add_Inplace(out, part)
	}
	vek32.DivNumber_Inplace(out, float32(math.Sqrt(float64(vek32.Dot(out, out)))))
	return out
}

func gaussian(rnd *rand.Rand, out []float32) {
	for i := range out {
		out[i] = float32(rnd.NormFloat64())
	}
}
