// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
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
	for _, name := range append([]string{remeLibrary}, remeFiles...) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

func TestReme(t *testing.T) {
	args := []string{"reme", "-load", "500", "-data", poolFolder(t, smallPool), "-redis", "redis://" + miniredis.RunT(t).Addr()}
	got := rows[remeRow](t, 0, args...)
	require.Len(t, got, 2*2*3, "pools, fields, rankings")
	ours := got[len(got)-1]
	require.Equal(t, []any{"bfcl_qwen3_8b", whenAndContent, oursName, 3, 2}, []any{ours.Pool, ours.Fields, ours.Ranking, ours.Memories, ours.Questions})
	require.Equal(t, depths{75, 75, 75, 75, 75}, ours.Recall, "half of one task's memories, all of the other's")
	require.Equal(t, 100.0, ours.Hit.At1)

	var loaded []string
	for _, l := range rows[remeLoad](t, 1, args...) {
		loaded = append(loaded, fmt.Sprint(l.Library, " into ", l.Place, ": ", l.Memories))
		require.Positive(t, min(l.Seconds, l.Before, l.After, l.Peak))
	}
	require.Equal(t, []string{"bfcl_v3.jsonl into sqlite: 3", "made up into sqlite: 500", "bfcl_v3.jsonl into redis: 3", "made up into redis: 500"}, loaded)

	t.Setenv("EINOMEM_REME", args[4])
	require.NotContains(t, bench(t, 0, "reme", "-load", "-1"), "bfcl_v3.jsonl")
	for _, folder := range []string{t.TempDir(), poolFolder(t, "{"), poolFolder(t, `{"memory_id": "a"}`)} {
		bench(t, 1, "reme", "-data", folder)
	}
	bench(t, 1, "reme", "-redis", "http://localhost")
}

func TestPlainBM25(t *testing.T) {
	x := newPlainIndex([]string{"cat", "cat Cat", "the big cat", "dogs"}, plainWords)
	require.Equal(t, []int{1, 0, 2}, x.rank("CAT"), "how often, then how short the text is")
	require.Empty(t, x.rank("dog"))
	require.Equal(t, []int{2}, newPlainIndex([]string{"a cat", "", "The Dogs"}, stemmedWords).rank("the dog"))
}

// The ranking reaches what it is known to reach on the two pools of ReMe's paper, above
// BM25 with a stop list and a stemmer, which reaches 28.6 and 65.6 with the content; and
// all stores rank alike.
func TestRemeAnchors(t *testing.T) {
	folder := os.Getenv("EINOMEM_REME")
	if folder == "" {
		t.Skip("set EINOMEM_REME to a folder with ReMe's libraries, paper/ among them, to check the anchors")
	}
	type ranking struct{ pool, fields, name string }
	got := map[ranking]remeRow{}
	for _, r := range rows[remeRow](t, 0, "reme", "-load", "-1", "-data", folder, "-redis", "redis://"+miniredis.RunT(t).Addr()) {
		got[ranking{r.Pool, r.Fields, r.Ranking}] = r
	}
	for at, want := range map[ranking]depths{
		{"appworld_qwen3_8b", whenAlone, oursName}:      {9.9, 25.0, 35.1, 47.1, 0},
		{"appworld_qwen3_8b", whenAndContent, oursName}: {12.7, 31.9, 38.9, 51.1, 0},
		{"bfcl_qwen3_8b", whenAlone, oursName}:          {33.3, 61.5, 71.9, 78.1, 0},
		{"bfcl_qwen3_8b", whenAndContent, oursName}:     {37.5, 67.7, 79.2, 89.6, 0},
	} {
		recall := got[at].Recall
		for _, c := range [][2]float64{{recall.At1, want.At1}, {recall.At5, want.At5}, {recall.At10, want.At10}, {recall.At25, want.At25}} {
			require.GreaterOrEqual(t, c[0], c[1]-0.05, "%v", at)
		}
	}
	for pool, published := range map[string]float64{"appworld_qwen3_8b": 28.6, "bfcl_qwen3_8b": 65.6} {
		plain := got[ranking{pool, whenAndContent, stemmedWords.name}].Recall.At5
		require.InDelta(t, published, plain, 0.05)
		require.Greater(t, got[ranking{pool, whenAndContent, oursName}].Recall.At5, plain)
	}
}
