// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/recall"
)

// pool is the memories that a draft compares: one sort, in the order of storing.
type pool struct {
	memories []*backends.Memory
	vectors  [][]float32 // nil for a memory without one
	pairs    []pair      // of similar memories, the most alike first
}

// pair are two memories of a pool that resemble each other.
type pair struct {
	a, b   int
	alike  float64 // decides which memories are shown together
	cosine float64 // 0 unless both have a vector
}

// How many neighbours a memory is paired with, and how common a shared word may be.
const (
	neighbours = 6
	maxHolders = 200
)

// newPool pairs memories by shared and related words, the rarer the better, and by their vectors.
func newPool(ctx context.Context, k *keeper.Keeper, p backends.Partition, memories []*backends.Memory) (*pool, error) {
	out := &pool{memories: memories}
	ids := make([]string, len(memories))
	analysis, holders := k.Ranker().Words(), map[string][]int{}
	related := make([]map[string]bool, len(memories))
	for i, m := range memories {
		ids[i] = m.ID
		related[i] = analysis.Related(analysis.Of(recall.EmbedText(m))) // for lessons, when they help
		for w := range related[i] {
			holders[w] = append(holders[w], i)
		}
	}
	var err error
	if out.vectors, err = k.Ranker().Vectors(ctx, p, ids...); err != nil {
		return nil, err
	}
	rarity := func(w string) float64 { return math.Log(1 + float64(len(memories))/float64(len(holders[w]))) }
	weights := make([]float64, len(memories))
	for i := range related {
		for w := range related[i] {
			weights[i] += rarity(w)
		}
	}
	seen := map[[2]int]bool{}
	for i := range memories {
		near := out.near(i, related[i], holders, rarity, weights)
		for _, n := range near {
			if key := [2]int{min(n.a, n.b), max(n.a, n.b)}; !seen[key] {
				seen[key] = true
				out.pairs = append(out.pairs, n)
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	slices.SortStableFunc(out.pairs, func(a, b pair) int { return cmp.Compare(b.alike, a.alike) })
	return out, nil
}

// near returns the pairs of one memory with the ones most like it.
func (p *pool) near(i int, words map[string]bool, holders map[string][]int, rarity func(string) float64, weights []float64) []pair {
	shared := make([]float64, len(p.memories))
	for w := range words {
		if len(holders[w]) <= maxHolders {
			for _, j := range holders[w] {
				shared[j] += rarity(w)
			}
		}
	}
	var best []pair // sorted
	for j := range p.memories {
		n := pair{a: i, b: j, alike: shared[j] / max(1, math.Sqrt(weights[i]*weights[j]))}
		if p.vectors[i] != nil && p.vectors[j] != nil {
			n.cosine = float64(vek32.Dot(p.vectors[i], p.vectors[j]))
			n.alike += max(0, n.cosine)
		}
		if j == i || n.alike == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, n, func(a, b pair) int { return cmp.Or(cmp.Compare(b.alike, a.alike), cmp.Compare(a.b, b.b)) })
		if at < neighbours {
			best = slices.Insert(best, at, n)
			best = best[:min(len(best), neighbours)]
		}
	}
	return best
}

// groups divides the wanted memories into the fewest groups of at most size, so that similar ones
// share a group. The numbers in a group rise.
func (p *pool) groups(size int, wanted func(i int) bool) [][]int {
	of := make([][]int, len(p.memories)) // the cluster of each, shared by its members
	var all [][]int
	for i := range of {
		if wanted(i) {
			of[i] = []int{i}
		}
	}
	for _, n := range p.pairs {
		a, b := of[n.a], of[n.b]
		if a == nil || b == nil || &a[0] == &b[0] || len(a)+len(b) > size {
			continue
		}
		joined := slices.Concat(a, b)
		for _, i := range joined {
			of[i] = joined
		}
	}
	count := 0
	for i, cluster := range of {
		if cluster != nil && slices.Min(cluster) == i {
			all = append(all, cluster)
			count += len(cluster)
		}
	}
	slices.SortStableFunc(all, func(a, b []int) int { return len(b) - len(a) })
	out := make([][]int, (count+size-1)/size)
	var rest []int // of clusters too large for any group
	for _, cluster := range all {
		at := slices.IndexFunc(out, func(g []int) bool { return len(g)+len(cluster) <= size })
		if at < 0 {
			rest = append(rest, cluster...)
			continue
		}
		out[at] = append(out[at], cluster...)
	}
	for i := range out {
		n := min(len(rest), size-len(out[i]))
		out[i], rest = append(out[i], rest[:n]...), rest[n:]
		slices.Sort(out[i])
	}
	return out
}
