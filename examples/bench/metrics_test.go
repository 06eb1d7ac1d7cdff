// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestScores(t *testing.T) {
	s := newScores()
	s.add([]string{"x", "a", "y", "b"}, []string{"a", "b", "c"}) // two of three, the first at place 2
	s.add(nil, []string{"a"})
	s.add(append(make([]string, 5), "a"), []string{"a"}) // at place 6
	s.mean()
	require.Equal(t, 3, s.Questions)
	require.Equal(t, map[string]float64{"5": 22.22, "10": 55.56, "25": 55.56, "50": 55.56}, s.Recall)
	require.Equal(t, map[string]float64{"5": 33.33, "10": 66.67, "25": 66.67, "50": 66.67}, s.Hit)
	require.Equal(t, 0.2222, s.MRR) // (1/2 + 0 + 1/6) / 3
}

func TestScoresOfNothing(t *testing.T) {
	s := newScores()
	s.mean()
	require.Equal(t, newScores(), s, "no division by zero")
}

func TestNDCG(t *testing.T) {
	require.Equal(t, 1.0, ndcg([]string{"a", "b"}, []string{"b", "a"}, 10))
	require.InDelta(t, 0.6309, ndcg([]string{"x", "a"}, []string{"a"}, 10), 1e-4)
	require.InDelta(t, 0.6131, ndcg([]string{"a", "x"}, []string{"a", "b"}, 10), 1e-4)
	require.Zero(t, ndcg([]string{"x", "a"}, []string{"a"}, 1))
	require.Zero(t, ndcg(nil, []string{"a"}, 10))
}

func TestTimings(t *testing.T) {
	times := func(n int, unit time.Duration) []time.Duration {
		var out []time.Duration
		for i := n; i > 0; i-- {
			out = append(out, time.Duration(i)*unit)
		}
		return out
	}
	rows := timings(10, []*sample{
		{name: "bare scan", times: times(101, time.Microsecond)},
		{name: "lexical", times: times(101, time.Microsecond)},
		{name: "vector int8", times: times(101, 2*time.Microsecond)},
	})
	require.Equal(t, []timing{
		{Memories: 10, Search: "bare scan", P50: 51, P95: 96, P99: 100},
		{Memories: 10, Search: "lexical", P50: 51, P95: 96, P99: 100},
		{Memories: 10, Search: "vector int8", P50: 102, P95: 192, P99: 200, Ratio: 2},
	}, rows)
}

func TestMadeUpWorldsAreRepeatable(t *testing.T) {
	a, b := makeUp(5, 4), makeUp(5, 4)
	require.Equal(t, a.texts, b.texts)
	require.Equal(t, a.queries, b.queries)
	require.Len(t, a.matrix, 20)
	require.Len(t, strings.Fields(a.queries[0]), 8)
	one, err := a.EmbedStrings(t.Context(), []string{"x", "y"})
	require.NoError(t, err)
	two, err := b.EmbedStrings(t.Context(), []string{"x"})
	require.NoError(t, err)
	require.Equal(t, one[0], two[0])
	require.NotEqual(t, one[0], one[1])
	require.NoError(t, a.bareScan(""))
	require.NotZero(t, a.sink)
}
