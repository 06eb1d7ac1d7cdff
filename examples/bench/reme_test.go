// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

// smallPool has two tasks, one with two memories.
const smallPool = `{"memory_id": "a", "when_to_use": "When rating songs", "content": "Look up the list of songs first.", "metadata": {"task_query": "Rate all my songs"}}
{"memory_id": "b", "when_to_use": "When tokens are refused", "content": "Log in again.", "metadata": {"task_query": "Rate all my songs"}}
{"memory_id": "c", "when_to_use": "When booking a flight", "content": "Compare the prices of flights.", "metadata": {"task_query": "Book the cheapest flight to Lisbon"}}
`

// poolFolder returns a folder in which each pool, and the library, is content.
func poolFolder(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append([]string{remeLibrary}, remePools...) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

func remeRowOf(t *testing.T, r *remeReport, pool string, fields remeFields, ranking string) *remeRow {
	t.Helper()
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Pool == pool && row.Fields == fields && row.Ranking == ranking {
			return row
		}
	}
	require.Failf(t, "no such row", "%s, %s, %s", pool, fields, ranking)
	return nil
}

func TestRemeOnASmallPool(t *testing.T) {
	var r remeReport
	out := bench(t, 0, "reme", "-json", "-load", "5000", "-data", poolFolder(t, smallPool), "-redis", "redis://"+miniredis.RunT(t).Addr())
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, []string{"sqlite", "redis"}, r.Places)
	require.Equal(t, 2*2*2*2, r.Compared, "pools, fields, places, queries")
	require.Len(t, r.Rows, 2*2*3)
	ours := remeRowOf(t, &r, "bfcl_qwen3_8b", whenAndContent, oursName)
	require.Equal(t, map[string]float64{"1": 75, "5": 75, "10": 75, "25": 75}, ours.Recall, "half of one task's memories, all of the other's")
	require.Equal(t, 100.0, ours.Hit["1"])
	require.Equal(t, 3, ours.Memories)
	require.Equal(t, 2, ours.Questions)

	var loaded []string
	for _, l := range r.Loads {
		loaded = append(loaded, fmt.Sprint(l.Library, " into ", l.Place, ": ", l.Memories))
		require.Positive(t, l.Seconds)
		require.Positive(t, min(l.Before, l.After))
	}
	require.Equal(t, []string{"bfcl_v3.jsonl into sqlite: 3", "made up into sqlite: 5000", "bfcl_v3.jsonl into redis: 3", "made up into redis: 5000"}, loaded)
}

func TestRemeTable(t *testing.T) {
	t.Setenv("EINOMEM_REME", poolFolder(t, smallPool))
	out := bench(t, 0, "reme", "-load", "0")
	require.Contains(t, out, "| when_to_use | einomem | 75.0 |")
	require.Contains(t, out, "| bfcl_v3.jsonl | sqlite | 3 |")
	require.NotContains(t, bench(t, 0, "reme", "-load", "-1"), "bfcl_v3.jsonl")
	require.Contains(t, out, "on sqlite alone")
}

func TestRemeThatCannotRun(t *testing.T) {
	t.Setenv("EINOMEM_REME", "")
	bench(t, 2, "reme")
	bench(t, 2, "reme", "-nope")
	bench(t, 1, "reme", "-data", t.TempDir())
	bench(t, 1, "reme", "-data", poolFolder(t, "{"))
	bench(t, 1, "reme", "-data", poolFolder(t, `{"memory_id": "a"}`))
	bench(t, 1, "reme", "-data", poolFolder(t, smallPool), "-redis", "http://localhost")
	gone := miniredis.RunT(t)
	url := "redis://" + gone.Addr()
	gone.Close()
	bench(t, 1, "reme", "-data", poolFolder(t, smallPool), "-redis", url)
}

func TestSameRankingSeesEveryDifference(t *testing.T) {
	hit := func(id string, score float64) backends.Hit {
		return backends.Hit{Memory: backends.Memory{ID: id}, Score: score}
	}
	a := [][]backends.Hit{{hit("a", 1), hit("b", 0.5)}}
	require.NoError(t, sameRanking(a, a))
	for _, b := range [][][]backends.Hit{
		{{hit("b", 0.5), hit("a", 1)}}, {{hit("a", 1), hit("b", 0.4)}}, {{hit("a", 1)}}, {a[0], a[0]},
	} {
		require.Error(t, sameRanking(a, b))
	}
}

func TestPlainBM25(t *testing.T) {
	x := newPlainIndex([]string{"cat", "cat Cat", "the big cat", "dogs"}, plainWords)
	require.Equal(t, []int{1, 0, 2}, x.rank("CAT"), "how often, then how short the text is")
	require.Empty(t, x.rank("dog"))
	require.Equal(t, []int{2}, newPlainIndex([]string{"a cat", "", "The Dogs"}, stemmedWords).rank("the dog"))
}

// TestR3RemeAnchors holds the ranking to what it reaches on the two pools of ReMe's
// paper, above BM25 with a stop list and a stemmer, which reaches 28.6 and 65.6 with
// the content; and all stores to the same ranking.
func TestR3RemeAnchors(t *testing.T) {
	folder := os.Getenv("EINOMEM_REME")
	if folder == "" {
		t.Skip("set EINOMEM_REME to a folder with ReMe's libraries, paper/ among them, to check the anchors")
	}
	r, err := measureReme(t.Context(), &remeConfig{folder: folder, load: -1, url: "redis://" + miniredis.RunT(t).Addr()}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 2*2*(120+96), r.Compared)
	for _, anchor := range []struct {
		pool             string
		tasks            int
		plain            float64 // recall@5 with the content
		when, whenAndAll []float64
	}{
		{"appworld_qwen3_8b", 120, 28.6, []float64{9.9, 25.0, 35.1, 47.1}, []float64{12.7, 31.9, 38.9, 51.1}},
		{"bfcl_qwen3_8b", 96, 65.6, []float64{33.3, 61.5, 71.9, 78.1}, []float64{37.5, 67.7, 79.2, 89.6}},
	} {
		plain := remeRowOf(t, r, anchor.pool, whenAndContent, stemmedWords.name)
		require.Equal(t, anchor.tasks, plain.Questions)
		require.InDelta(t, anchor.plain, plain.Recall["5"], 0.05, "what is published as BM25")
		for fields, want := range map[remeFields][]float64{whenAlone: anchor.when, whenAndContent: anchor.whenAndAll} {
			row := remeRowOf(t, r, anchor.pool, fields, oursName)
			for i, cell := range strings.Split(depthCells(row.Recall), " | ") {
				var got float64
				require.NoError(t, json.Unmarshal([]byte(cell), &got))
				require.GreaterOrEqual(t, got, want[i]-0.05, "%s, %s, recall@%d", anchor.pool, fields, remeDepths[i])
			}
		}
		require.Greater(t, remeRowOf(t, r, anchor.pool, whenAndContent, oursName).Recall["5"], plain.Recall["5"])
	}
}
