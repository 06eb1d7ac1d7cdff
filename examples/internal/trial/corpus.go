// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package trial is shared by the benchmarks of einomem and of its peers: they store and search the
// same memories and print the same columns. It has made-up texts and vectors, the exact answer to
// each query, the conversations and questions of public data sets, timing, tables and charts.
package trial

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/viterin/vek/vek32"
)

// Corpus is a set of made-up memories, and queries for them. The same arguments
// make the same corpus. It is safe for concurrent use.
type Corpus struct {
	IDs     []string // of the memories, all of one length
	Texts   []string // words, some common and most rare
	Queries []string // of such words, too
	// Strange are queries whose words are in none of the memories: only vectors answer them.
	Strange []string

	centres [][latent]float32 // of the topics
	basis   [latent][]float32
	dim     int
}

const (
	perTopic = 50 // memories about the same
	// latent is how many numbers a vector follows from: embeddings of texts vary in far
	// fewer directions than they have components.
	latent = 64
)

// NewCorpus makes n memories, and as many queries of each sort as asked for, with
// vectors of dim components.
func NewCorpus(n, queries, dim int) *Corpus {
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	c := &Corpus{dim: dim, centres: make([][latent]float32, max(1, n/perTopic))}
	for i := range n {
		c.IDs = append(c.IDs, fmt.Sprintf("m%06d", i))
		c.Texts = append(c.Texts, words(rnd, 10+rnd.IntN(20)))
	}
	for i := range queries {
		c.Queries = append(c.Queries, words(rnd, 8))
		c.Strange = append(c.Strange, strings.Repeat("？", i+1)+"問")
	}
	rnd = rand.New(rand.NewPCG(2, uint64(len(c.centres))))
	for i := range c.centres {
		gaussian(rnd, c.centres[i][:])
	}
	for i := range c.basis {
		c.basis[i] = make([]float32, dim)
		gaussian(rnd, c.basis[i])
	}
	return c
}

// words returns n words whose frequencies follow Zipf's law.
func words(rnd *rand.Rand, n int) string {
	zipf := rand.NewZipf(rnd, 1.1, 8, 20_000)
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("w%dx", zipf.Uint64())
	}
	return strings.Join(out, " ")
}

func gaussian(rnd *rand.Rand, out []float32) {
	for i := range out {
		out[i] = float32(rnd.NormFloat64())
	}
}

// Vector returns the vector of a text, of length 1. A text belongs to one of the topics. Half of
// its vector is the topic's and half is its own, both chosen by the text's hash: two texts of one
// topic have a cosine near 0.5, others near 0.
func (c *Corpus) Vector(text string) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	rnd := rand.New(rand.NewPCG(h.Sum64(), 3))
	z := c.centres[rnd.IntN(len(c.centres))]
	var own [latent]float32
	gaussian(rnd, own[:])
	out, part := make([]float32, c.dim), make([]float32, c.dim)
	for i := range z {
		vek32.MulNumber_Into(part, c.basis[i], z[i]+own[i])
		vek32.Add_Inplace(out, part)
	}
	vek32.DivNumber_Inplace(out, float32(math.Sqrt(float64(vek32.Dot(out, out)))))
	return out
}

// Exact returns, for each query, the ids of the k texts whose vectors are nearest to the query's,
// the nearest first. It compares each with each, and makes the vectors of the texts as it goes, to
// save room.
func (c *Corpus) Exact(queries []string, k int) [][]string {
	cosines := make([][]float32, len(queries)) // of each query, with each text
	wanted := make([][]float32, len(queries))
	for i, q := range queries {
		wanted[i] = c.Vector(q)
	}
	for _, text := range c.Texts {
		v := c.Vector(text)
		for i := range wanted {
			cosines[i] = append(cosines[i], vek32.Dot(v, wanted[i]))
		}
	}
	out := make([][]string, len(queries))
	for i, near := range cosines {
		numbers := make([]int, len(near))
		for n := range numbers {
			numbers[n] = n
		}
		slices.SortFunc(numbers, func(a, b int) int { return cmp.Compare(near[b], near[a]) })
		for _, n := range numbers[:min(k, len(numbers))] {
			out[i] = append(out[i], c.IDs[n])
		}
	}
	return out
}
