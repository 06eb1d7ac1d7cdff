// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/testredis"
)

// tiny is a run that takes a second, and covers every sort of measure.
var tiny = []string{"redis", "-sizes", "60,600", "-users", "5", "-each", "20", "-dim", "96", "-queries", "20", "-clients", "1,4", "-writes", "40", "-yardstick", "100"}

func runRedis(t *testing.T, url string, more ...string) string {
	t.Helper()
	return bench(t, 0, append(append(append([]string{}, tiny...), "-redis", url), more...)...)
}

// rowOf finds a row of a report; where is how its place begins.
func rowOf(t *testing.T, r *trial.Report, where, how string, partitions, memories int) *trial.Search {
	t.Helper()
	for i := range r.Searches {
		if s := &r.Searches[i]; strings.HasPrefix(s.Where, where) && s.How == how && s.Partitions == partitions && s.Memories == memories {
			return s
		}
	}
	require.Failf(t, "no such row", "%s, %s, %d × %d in %+v", where, how, partitions, memories, r.Searches)
	return nil
}

func TestRedisMeasuresEverything(t *testing.T) {
	srv := testredis.Need(t).Start(t)
	var r trial.Report
	require.NoError(t, json.Unmarshal([]byte(runRedis(t, srv.URL(), "-json")), &r))

	for _, s := range r.Searches {
		require.Positive(t, s.Cold.P50, s.How)
		for _, q := range []trial.Quantiles{s.Warm, s.Cold} {
			require.LessOrEqual(t, q.P50, q.P95)
			require.LessOrEqual(t, q.P95, q.P99)
		}
		require.True(t, s.Held > 0 || s.Memories < 600, "%s %s", s.Where, s.How)
		require.Positive(t, s.Stored, "%s %s", s.Where, s.How)
	}
	for _, memories := range []int{60, 600} {
		whole := rowOf(t, &r, "redis", "float32", 1, memories)
		require.InDelta(t, 1, *whole.Recall10, 0, "all vectors are compared, none is rounded")
		small := rowOf(t, &r, "redis", "int8", 1, memories)
		require.Greater(t, *small.Recall10, 0.9)
		require.Less(t, small.Stored, whole.Stored)
		require.Nil(t, rowOf(t, &r, "redis", "lexical", 1, memories).Recall10)
	}
	require.Positive(t, rowOf(t, &r, "redis", "float32", 5, 20).Times, "beside the yardstick")
	require.Zero(t, rowOf(t, &r, "redis", "float32", 1, 600).Times, "more than the yardstick gets")
	require.Len(t, r.Writes, 2*2*3, "two stores, two sorts, and one client, four, and four on one user")
	for _, w := range r.Writes {
		require.Positive(t, w.PerSec)
	}
	require.Contains(t, strings.Join(r.Notes, "\n"), "float32 → int8")

	left, err := srv.Client(t).DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, left, "nothing is left on the server")
}

func TestRedisThatIsNotThere(t *testing.T) {
	gone := miniredis.RunT(t)
	url := "redis://" + gone.Addr()
	gone.Close()
	bench(t, 1, "redis", "-redis", url)
	bench(t, 1, "redis", "-redis", "http://localhost")
	for _, wrong := range [][]string{{"-sizes", "many"}, {"-clients", "0"}, {"-dim", "0"}, {"-users", "-1"}} {
		bench(t, 2, append([]string{"redis"}, wrong...)...)
	}
}
