// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
)

// parsed returns the lines of a file of ReMe by their ids, without the workspace.
func parsed(t testing.TB, text string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for line := range strings.Lines(text) {
		var o map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &o))
		delete(o, "workspace_id")
		out[o["memory_id"].(string)] = o
	}
	return out
}

// The libraries that ReMe ships load unchanged, and a dump of them is what was
// loaded, member by member; loaded again it gives the same memories.
func TestR21ShippedLibraries(t *testing.T) {
	for name, want := range map[string]int{"appworld.jsonl": 193, "bfcl_v3.jsonl": 474, "paper/appworld_qwen3_8b.jsonl": 207, "paper/bfcl_qwen3_8b.jsonl": 96} {
		t.Run(name, func(t *testing.T) {
			text := remeData(t, name)
			w := open(t, options{})
			require.Equal(t, &library.LoadResponse{Loaded: want}, w.load(shop, text))
			again := w.dump(&library.DumpRequest{Scope: shop, Format: library.ReMe})
			require.Equal(t, parsed(t, text), parsed(t, again))

			for _, format := range []library.Format{library.ReMe, library.Einomem} {
				dump := w.dump(&library.DumpRequest{Scope: shop, Format: format})
				other := open(t, options{})
				require.Equal(t, want, other.load(shop, dump).Loaded)
				require.Equal(t, w.all(shop), other.all(shop))
				require.Equal(t, dump, other.dump(&library.DumpRequest{Scope: shop, Format: format}))
			}
			for _, m := range w.all(shop) {
				require.Nil(t, m.Quality, "nobody judged")
				require.Equal(t, backends.KindTask, m.Kind)
				require.Equal(t, "shop", m.Scope.Workspace)
				require.False(t, m.Created.IsZero())
			}
		})
	}
}

func TestR21OlderLibrary(t *testing.T) {
	text := remeData(t, "older_experience_20.jsonl")
	w := open(t, options{})
	require.Equal(t, 20, w.load(shop, text).Loaded)
	for _, m := range w.all(shop) {
		require.Equal(t, backends.KindTask, m.Kind)
		require.NotEmpty(t, m.Origin.Author)
		require.Equal(t, 2025, m.Created.Year())
		require.Nil(t, m.Quality)
	}
	dump := w.dump(&library.DumpRequest{Scope: shop, Format: library.ReMe})
	for _, line := range parsed(t, dump) {
		require.Equal(t, float64(0), line["score"], "ReMe 0.2 refuses null")
		require.Equal(t, "task", line["memory_type"])
		require.NotEmpty(t, line["author"])
	}
	other := open(t, options{})
	other.load(shop, dump)
	require.Equal(t, w.all(shop), other.all(shop))
}

// What the libraries have in extra_info is found by filters.
func TestR2TagsOfShippedLibraries(t *testing.T) {
	w := open(t, options{})
	w.load(shop, remeData(t, "bfcl_v3.jsonl"))
	var some string
	for _, m := range w.all(shop) {
		if tags, ok := m.Metadata["tags"].([]any); ok && len(tags) > 0 {
			some = tags[0].(string)
		}
	}
	require.NotEmpty(t, some)
	page, err := w.List(w.ctx, &library.ListRequest{Scope: shop, Tags: []string{some}, Limit: 1000})
	require.NoError(t, err)
	require.NotEmpty(t, page.Memories)
	for _, m := range page.Memories {
		require.True(t, slices.Contains(m.Metadata["tags"].([]any), any(some)))
	}
}
