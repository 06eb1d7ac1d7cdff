// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/examples/internal/trial"
)

func TestTheSameArgumentsMakeTheSameCorpus(t *testing.T) {
	a, b := trial.NewCorpus(30, 5, 64), trial.NewCorpus(30, 5, 64)
	require.Equal(t, a, b)
	require.NotEqual(t, a.Texts, trial.NewCorpus(31, 5, 64).Texts[:30])
	require.Len(t, a.Texts, 30)
	require.Len(t, a.Queries, 5)
	for _, q := range a.Strange {
		require.False(t, strings.ContainsAny(q, "wx0123456789"), q)
	}
	require.Len(t, slices.Compact(slices.Clone(a.Strange)), 5, "each has a vector of its own")
}

func TestTextsOfATopicAreNear(t *testing.T) {
	topics := trial.NewTopics(1, 256)
	many := trial.NewTopics(1000, 256)
	var one, other float64
	const n = 200
	for i := range n {
		x, y := strings.Repeat("a", i+1), strings.Repeat("b", i+1)
		v := topics.Vector(x)
		require.InDelta(t, 1, vek32.Dot(v, v), 1e-5)
		one += float64(vek32.Dot(v, topics.Vector(y))) / n
		other += float64(vek32.Dot(many.Vector(x), many.Vector(y))) / n
	}
	require.InDelta(t, 0.5, one, 0.15)
	require.InDelta(t, 0, other, 0.1)
}

// Exact finds what sorting all by their cosines finds.
func TestExactIsTheHeadOfTheSortedList(t *testing.T) {
	c := trial.NewCorpus(200, 6, 64)
	for i, got := range c.Exact(c.Queries, 10) {
		q := c.Topics.Vector(c.Queries[i])
		all := make([]int, len(c.Texts))
		for n := range all {
			all[n] = n
		}
		cosine := func(n int) float32 { return vek32.Dot(c.Topics.Vector(c.Texts[n]), q) }
		slices.SortFunc(all, func(a, b int) int { return cmp.Compare(cosine(b), cosine(a)) })
		require.Equal(t, all[:10], got)
	}
	require.Len(t, trial.NewCorpus(3, 1, 64).Exact([]string{"q"}, 10)[0], 3, "no more than there are")
}

func TestRecallIsAShare(t *testing.T) {
	require.InDelta(t, 1, trial.Recall([]int{1, 2}, []int{2, 3, 1}), 0)
	require.InDelta(t, 0.5, trial.Recall([]int{1, 2}, []int{2, 3}), 0)
	require.InDelta(t, 0, trial.Recall([]int{1, 2}, nil), 0)
}
