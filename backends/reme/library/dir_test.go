// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
)

// hostile are names of workspaces that mean something to file systems.
var hostile = []string{"../../etc/passwd", "..", ".", "/etc/passwd", `..\..\windows`, "a/b", "C:", "con", "工作区", "a b", ".hidden", "%2e%2e", "~", "a\u202eb", "-rf", strings.Repeat("长", 85), strings.Repeat("/", 256)}

func TestDEF27FileNames(t *testing.T) {
	require.Equal(t, "appworld.jsonl", library.FileName("appworld"))
	require.Equal(t, "工作区.v1-a_b.jsonl", library.FileName("工作区.v1-a_b"))
	require.Equal(t, "%2E.%2F%2E.%2Fetc.jsonl", strings.ReplaceAll(library.FileName("../../etc"), "%2F..", "%2F%2E."))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom(hostile), rapid.StringN(1, -1, 256)).Draw(t, "workspace")
		file := library.FileName(name)
		require.True(t, filepath.IsLocal(file), file)
		require.Equal(t, file, filepath.Base(file))
		require.NotContains(t, file, `\`)
		require.NotContains(t, file, ":")
		require.False(t, strings.HasPrefix(file, "."))
		require.LessOrEqual(t, len(file), 210)
		other := rapid.OneOf(rapid.SampledFrom(hostile), rapid.StringN(1, -1, 256)).Draw(t, "other")
		require.Equal(t, name == other, file == library.FileName(other))
	})
}

// No name of a workspace or a file leads out of the folder.
func TestDEF27NothingOutsideTheFolder(t *testing.T) {
	w := open(t, options{config: library.Config{Dir: openDir(t)}})
	outside := filepath.Join(t.TempDir(), "outside.jsonl")
	require.NoError(t, os.WriteFile(outside, []byte(many("secret", 2)), 0o600))
	for _, name := range hostile {
		s := backends.Scope{Workspace: name}
		if _, err := s.Normalize(); err != nil {
			continue
		}
		w.load(s, task("a", "w", name))
		_, err := w.DumpFile(w.ctx, &library.DumpRequest{Scope: s})
		require.NoError(t, err, name)
		_, err = w.LoadFile(w.ctx, &library.LoadRequest{Scope: s})
		require.NoError(t, err, name)
		require.Equal(t, name, w.all(s)["a"].Text)
	}
	for _, file := range []string{outside, "../outside.jsonl", "a/../../outside.jsonl", "..", "/", ""} {
		if file == "" {
			continue
		}
		_, err := w.LoadFile(w.ctx, &library.LoadRequest{Scope: shop, File: file})
		require.Error(t, err, file)
		w.load(shop, many("a", 1))
		_, err = w.DumpFile(w.ctx, &library.DumpRequest{Scope: shop, File: file})
		require.Error(t, err, file)
	}
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, many("secret", 2), string(data))
}

func TestDEF27LinksOutOfTheFolder(t *testing.T) {
	path := t.TempDir()
	d, err := library.OpenDir(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	outside := filepath.Join(t.TempDir(), "outside.jsonl")
	require.NoError(t, os.WriteFile(outside, []byte(many("secret", 2)), 0o600))
	if err := os.Symlink(outside, filepath.Join(path, "shop.jsonl")); err != nil {
		t.Skip("no links here:", err)
	}
	w := open(t, options{config: library.Config{Dir: d}})
	_, err = w.LoadFile(w.ctx, &library.LoadRequest{Scope: shop})
	require.Error(t, err)
	w.load(shop, many("a", 1))
	_, err = w.DumpFile(w.ctx, &library.DumpRequest{Scope: shop})
	require.NoError(t, err, "the link is replaced, not followed")
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, many("secret", 2), string(data))
}

func TestR21FilesAreReplacedWhole(t *testing.T) {
	path := t.TempDir()
	d, err := library.OpenDir(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	f := &faulty{}
	w := open(t, options{config: library.Config{Dir: d}, embedder: &embedder{}})
	f.Store = w.store
	w.load(shop, many("a", 500))
	_, err = w.DumpFile(w.ctx, &library.DumpRequest{Scope: shop, Vectors: true})
	require.NoError(t, err)
	was, err := os.ReadFile(filepath.Join(path, "shop.jsonl"))
	require.NoError(t, err)
	w.load(shop, many("b", 500))

	gets := 0
	f.before = func(_ int, name string) error {
		if name == "Get" {
			gets++
		}
		return failIf(gets == 2)
	}
	failing := open(t, options{store: f, clock: w.clock, config: library.Config{Dir: d}, embedder: &embedder{}})
	_, err = failing.DumpFile(w.ctx, &library.DumpRequest{Scope: shop, Vectors: true})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	now, err := os.ReadFile(filepath.Join(path, "shop.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(was), string(now))
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file stays")
}

// A dump to the file that the workspace was loaded from, and a load while a dump
// replaces it, lose nothing.
func TestDEF28DumpToTheSourceOfTheLoad(t *testing.T) {
	path := t.TempDir()
	d, err := library.OpenDir(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, os.WriteFile(filepath.Join(path, "shop.jsonl"), []byte(many("a", 300)), 0o600))
	w := open(t, options{config: library.Config{Dir: d, OneBatch: 50}})
	n, dumped := 0, false
	got, err := w.LoadFile(w.ctx, &library.LoadRequest{Scope: shop, Progress: func(done, total int, stage string) {
		if n++; n == 2 && stage == library.StageRead {
			other := open(t, options{config: library.Config{Dir: d}})
			other.load(shop, many("c", 2))
			_, err := other.DumpFile(w.ctx, &library.DumpRequest{Scope: shop})
			require.NoError(t, err)
			dumped = true
		}
	}})
	require.NoError(t, err)
	require.True(t, dumped)
	require.Equal(t, 300, got.Loaded)
	for range 3 {
		_, err := w.DumpFile(w.ctx, &library.DumpRequest{Scope: shop, Format: library.ReMe})
		require.NoError(t, err)
		got, err := w.LoadFile(w.ctx, &library.LoadRequest{Scope: shop})
		require.NoError(t, err)
		require.Equal(t, 300, got.Loaded)
	}
	_, err = w.Delete(w.ctx, &library.DeleteRequest{Scope: shop})
	require.NoError(t, err)
	_, err = w.DumpFile(w.ctx, &library.DumpRequest{Scope: shop})
	require.ErrorIs(t, err, backends.ErrNotFound, "what is empty replaces no file")
	require.Equal(t, 300, w.loadFile(shop).Loaded)
}

func (w *world) loadFile(s backends.Scope) *library.LoadResponse {
	w.t.Helper()
	out, err := w.LoadFile(w.ctx, &library.LoadRequest{Scope: s})
	require.NoError(w.t, err)
	return out
}

// A folder is no file, in either direction.
func TestR21AFolderIsNoFile(t *testing.T) {
	path := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(path, "sub.jsonl"), 0o700))
	d, err := library.OpenDir(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	w := open(t, options{config: library.Config{Dir: d}})
	w.load(shop, many("a", 1))
	for _, name := range []string{"sub.jsonl", "."} {
		_, err = w.LoadFile(w.ctx, &library.LoadRequest{Scope: shop, File: name})
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorContains(t, err, "it is as it was")
		_, err = w.DumpFile(w.ctx, &library.DumpRequest{Scope: shop, File: name})
		require.Error(t, err)
	}
	left, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing half written is left")
	require.Len(t, w.ids(shop), 1)
}

func TestFilesNeedAFolder(t *testing.T) {
	w := open(t, options{})
	w.load(shop, many("a", 1))
	_, err := w.LoadFile(w.ctx, &library.LoadRequest{Scope: shop})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = w.DumpFile(w.ctx, &library.DumpRequest{Scope: shop})
	require.ErrorIs(t, err, backends.ErrInvalid)
	blocked := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	_, err = library.OpenDir(blocked)
	require.Error(t, err)
}
