// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	stores, err := places(t.Context(), "redis://"+miniredis.RunT(t).Addr())
	require.NoError(t, err)
	path := filepath.Join(poolFolder(t, smallPool), remeFiles[1])
	got, err := remeScores(t.Context(), path, stores)
	require.NoError(t, err)
	require.Len(t, got, 2*2, "fields, rankings")
	ours := got[len(got)-1]
	require.Equal(t, []any{"bfcl_qwen3_8b", whenAndContent, oursName, 3, 2}, []any{ours.pool, ours.fields, ours.ranking, ours.memories, ours.queries})
	require.InDelta(t, 75, ours.at(1), 0, "half of one task's memories, all of the other's")
	for _, p := range stores {
		l, err := p.load(t.Context(), madeUpLibrary(500))
		require.NoError(t, err)
		require.Equal(t, 500, l.memories)
		require.Positive(t, min(l.took.Seconds(), l.peak))
	}
	for _, folder := range []string{t.TempDir(), poolFolder(t, "{"), poolFolder(t, `{"memory_id": "a"}`)} {
		program(t, 1, "reme", "-data", folder)
	}
}

// The ranking reaches what it is known to reach on the two pools of ReMe's paper, above
// BM25 with a stop list and a stemmer, which reaches 28.6 and 65.6 with the content; and
// all stores rank alike.
func TestRemeAnchors(t *testing.T) {
	folder := os.Getenv("EINOMEM_REME")
	if folder == "" {
		t.Skip("set EINOMEM_REME to a folder with ReMe's libraries, paper/ among them, to check the anchors")
	}
	stores, err := places(t.Context(), "redis://"+miniredis.RunT(t).Addr())
	require.NoError(t, err)
	known := map[string][4]float64{ // recall@1 / 5 / 10 / 25 by pool and fields
		"appworld_qwen3_8b when_to_use":           {9.9, 25.0, 35.1, 47.1},
		"appworld_qwen3_8b when_to_use + content": {12.7, 31.9, 38.9, 51.1},
		"bfcl_qwen3_8b when_to_use":               {33.3, 61.5, 71.9, 78.1},
		"bfcl_qwen3_8b when_to_use + content":     {37.5, 67.7, 79.2, 89.6},
	}
	for i, published := range []float64{28.6, 65.6} {
		got, err := remeScores(t.Context(), filepath.Join(folder, remeFiles[i]), stores)
		require.NoError(t, err)
		require.InDelta(t, published, got[2].at(5), 0.05, "%s with the content", got[2].ranking)
		require.Greater(t, got[3].at(5), got[2].at(5))
		for _, r := range []remeRow{got[1], got[3]} {
			for k, want := range known[r.pool+" "+r.fields] {
				require.GreaterOrEqual(t, r.at(depths[k]), want-0.05, "%s %s", r.pool, r.fields)
			}
		}
	}
}
