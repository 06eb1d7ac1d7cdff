// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"cmp"
	"slices"

	"github.com/viterin/vek/vek32"
)

// Exact returns, for each query, the numbers of the k texts whose vectors are
// nearest to the query's, the nearest first. It compares each with each, and makes
// the vectors of the texts as it goes, so that it needs no room for them.
func (c *Corpus) Exact(queries []string, k int) [][]int {
	wanted := make([][]float32, len(queries))
	for i, q := range queries {
		wanted[i] = c.Topics.Vector(q)
	}
	best := make([]nearest, len(queries))
	for n, text := range c.Texts {
		v := c.Topics.Vector(text)
		for i := range wanted {
			best[i].add(candidate{n, vek32.Dot(v, wanted[i])}, k)
		}
	}
	out := make([][]int, len(queries))
	for i := range best {
		for _, found := range best[i] {
			out[i] = append(out[i], found.number)
		}
	}
	return out
}

type candidate struct {
	number int
	cosine float32
}

// nearest are candidates, those of the highest cosine first.
type nearest []candidate

func (n *nearest) add(c candidate, k int) {
	if len(*n) == k && c.cosine <= (*n)[k-1].cosine {
		return
	}
	at, _ := slices.BinarySearchFunc(*n, c, func(a, b candidate) int { return cmp.Compare(b.cosine, a.cosine) })
	*n = slices.Insert(*n, at, c)
	*n = (*n)[:min(k, len(*n))]
}

// Recall returns the share of exact, 0 to 1, that is among found.
func Recall(exact, found []int) float64 {
	n := 0
	for _, e := range exact {
		if slices.Contains(found, e) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(exact)))
}
