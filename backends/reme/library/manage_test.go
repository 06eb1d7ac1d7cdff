// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
	"github.com/einomem/einomem/backends/store"
)

func TestR21Delete(t *testing.T) {
	w := open(t, options{})
	w.load(shop, many("a", 5))
	w.put(shop, backends.Memory{ID: "core", Kind: backends.KindCore, Text: "rules"})
	_, err := w.Delete(backends.WithScope(w.ctx, shop), &library.DeleteRequest{})
	require.ErrorIs(t, err, backends.ErrNoScope, "the workspace is named")
	_, err = w.Delete(backends.WithScope(w.ctx, shop), nil)
	require.ErrorIs(t, err, backends.ErrNoScope)
	n, err := w.Delete(w.ctx, &library.DeleteRequest{Scope: shop})
	require.NoError(t, err)
	require.Equal(t, 5, n)
	require.Empty(t, w.ids(shop))
	events, err := w.keeper.History(w.ctx, partition(shop), "a1")
	require.NoError(t, err)
	require.Equal(t, backends.EventDeleted, events[len(events)-1].Type)
	require.Equal(t, []string{"shop"}, w.workspaces(""))
	blocks, err := w.ranker.CoreBlocks(w.ctx, partition(shop))
	require.NoError(t, err)
	require.Len(t, blocks, 1)

	_, err = w.Delete(w.ctx, &library.DeleteRequest{Scope: shop, Erase: true})
	require.NoError(t, err)
	require.Empty(t, w.workspaces(""))
	_, err = w.keeper.History(w.ctx, partition(shop), "a1")
	require.ErrorIs(t, err, backends.ErrNotFound)
	n, err = w.Delete(w.ctx, &library.DeleteRequest{Scope: shop})
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestR21DeleteIDs(t *testing.T) {
	w := open(t, options{})
	w.load(shop, many("a", 3))
	w.put(shop, backends.Memory{ID: "core", Kind: backends.KindCore, Text: "rules"})
	got, err := w.DeleteIDs(w.ctx, &library.DeleteIDsRequest{Scope: shop, IDs: []string{"a2", "x", "a0", "a2", "core", "x"}})
	require.NoError(t, err)
	require.Equal(t, &library.DeleteIDsResponse{Deleted: []string{"a2", "a0"}, Missing: []string{"x", "core"}}, got)
	require.Equal(t, []string{"a1"}, w.ids(shop))
	for _, ids := range [][]string{nil, {""}, make([]string, 50_001)} {
		_, err = w.DeleteIDs(w.ctx, &library.DeleteIDsRequest{Scope: shop, IDs: ids})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	_, err = w.DeleteIDs(w.ctx, nil)
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestR21List(t *testing.T) {
	w := open(t, options{})
	day := func(n int) time.Time { return start.AddDate(0, 0, n) }
	tagged := func(tags ...any) map[string]any { return map[string]any{"tags": tags, "n": float64(len(tags))} }
	w.put(shop, backends.Memory{ID: "1", Kind: backends.KindTask, Text: "a", Created: day(1), Metadata: tagged("api", "登录")},
		backends.Memory{ID: "2", Kind: backends.KindTask, Text: "b", Created: day(2), Metadata: tagged("api")},
		backends.Memory{ID: "3", Kind: backends.KindTool, Text: "c", Created: day(3), Metadata: tagged()},
		backends.Memory{ID: "4", Kind: backends.KindTask, Text: "d", Created: day(4), SupersededBy: "2", Invalidated: start})
	two := backends.Eq("n", 2)
	for name, test := range map[string]struct {
		r    library.ListRequest
		want string
	}{
		"all": {library.ListRequest{}, "123"}, "kinds": {library.ListRequest{Kinds: []backends.Kind{backends.KindTool}}, "3"},
		"tags": {library.ListRequest{Tags: []string{"api"}}, "12"}, "all tags": {library.ListRequest{Tags: []string{"api", "登录"}}, "1"},
		"from": {library.ListRequest{From: day(2)}, "23"}, "until": {library.ListRequest{Until: day(2)}, "1"}, "both": {library.ListRequest{From: day(2), Until: day(3)}, "2"},
		"filter": {library.ListRequest{Filter: &two}, "1"}, "past": {library.ListRequest{Past: true}, "1234"}, "no tag": {library.ListRequest{Tags: []string{"ap"}}, ""},
	} {
		test.r.Scope, test.r.Limit = shop, 1
		got := ""
		for {
			page, err := w.List(w.ctx, &test.r)
			require.NoError(t, err, name)
			for _, m := range page.Memories {
				got += m.ID
			}
			if test.r.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		require.Equal(t, test.want, got, name)
	}
	_, err := w.List(w.ctx, nil)
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func (w *world) workspaces(namespace string) []string {
	w.t.Helper()
	var out []string
	for r := (library.WorkspacesRequest{Namespace: namespace, Page: store.Page{Limit: 1}}); ; {
		page, err := w.Workspaces(w.ctx, &r)
		require.NoError(w.t, err)
		out = append(out, page.Workspaces...)
		if r.Page.Cursor = page.Next; page.Next == "" {
			return out
		}
	}
}

func TestR21Workspaces(t *testing.T) {
	w := open(t, options{})
	require.Empty(t, w.workspaces(""))
	for _, s := range []backends.Scope{shop, lab, {Workspace: "工/作"}, {Workspace: "x", Namespace: "other"}} {
		w.load(s, many("a", 1))
	}
	_, err := w.keeper.Commit(w.ctx, backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"},
		&store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{ID: "a", Text: "x"}})}}, nil)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"shop", "lab", "工/作"}, w.workspaces(""))
	require.Equal(t, []string{"x"}, w.workspaces(" other "))
	_, err = w.Workspaces(w.ctx, &library.WorkspacesRequest{Namespace: "a*"})
	require.ErrorIs(t, err, backends.ErrInvalid)
	page, err := w.Workspaces(w.ctx, nil)
	require.NoError(t, err)
	require.NotEmpty(t, page.Workspaces)
}

func TestR21Reembed(t *testing.T) {
	first := open(t, options{embedder: &embedder{}})
	first.load(shop, many("a", 250))
	var told []int
	second := open(t, options{store: first.store, clock: first.clock, embedder: &embedder{}, model: "2"})
	n, err := second.Reembed(first.ctx, &library.ReembedRequest{Scope: shop, Progress: func(done, total int, stage string) {
		require.Equal(t, []any{250, library.StageEmbed}, []any{total, stage})
		told = append(told, done)
	}})
	require.NoError(t, err)
	require.Equal(t, 250, n)
	require.Equal(t, []int{0, 100, 200, 250, 250}, told)
	require.Len(t, second.found(shop, "do step 7"), 250)
	_, err = open(t, options{}).Reembed(first.ctx, &library.ReembedRequest{Scope: shop})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = second.Reembed(first.ctx, nil)
	require.ErrorIs(t, err, backends.ErrNoScope)
	require.Nil(t, library.Watched(nil))
	kind, _ := components.GetType(library.Watched(&embedder{}))
	require.Equal(t, "Embedder", kind)
}

func TestR21Progress(t *testing.T) {
	type state struct {
		done, total int
		stage       string
	}
	var told []state
	w := open(t, options{config: library.Config{OneBatch: 100, Dir: openDir(t), Progress: func(done, total int, stage string) { told = append(told, state{done, total, stage}) }}})
	w.load(shop, many("a", 150))
	require.Equal(t, []state{{100, 0, "reading"}, {150, 150, "reading"}, {100, 150, "writing"}, {101, 150, "writing"}, {150, 150, "writing"}}, told)
	told = nil
	_, err := w.DumpFile(w.ctx, &library.DumpRequest{Scope: shop, Format: library.ReMe})
	require.NoError(t, err)
	require.Equal(t, []state{{150, 150, "writing"}}, told)
	told = nil
	w.loadFile(shop)
	require.Equal(t, state{100, 150, "reading"}, told[0], "how many there are is known of a file")
	told = nil
	_, err = w.Load(w.ctx, &library.LoadRequest{Scope: shop, Progress: library.Bar(&bytes.Buffer{})}, strings.NewReader(many("b", 1)))
	require.NoError(t, err)
	require.Empty(t, told)
}

func TestR21Bar(t *testing.T) {
	var b bytes.Buffer
	bar := library.DrawnBar(&b)
	for _, done := range []int{0, 1, 500, 500, 1000} {
		bar(done, 1000, library.StageRead)
	}
	bar(7, 0, library.StageWrite)
	bar(9, 8, library.StageRemove)
	lines := strings.Split(b.String(), "\r")
	require.Equal(t, []string{"",
		"reading   [                              ]   0% of 1000\x1b[K",
		"reading   [===============               ]  50% of 1000\x1b[K",
		"reading   [==============================] 100% of 1000\x1b[K\n",
		"writing   7\x1b[K",
		"removing  [==============================] 100% of 8\x1b[K\n"}, lines)

	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	require.NoError(t, err)
	library.Bar(f)(1, 2, library.StageRead)
	require.NoError(t, f.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, data, "a file is no terminal")
}

func TestConfig(t *testing.T) {
	w := open(t, options{})
	for _, c := range []*library.Config{nil, {}, {Keeper: w.keeper, OneBatch: -1}, {Keeper: w.keeper, OneBatch: 50_001}} {
		_, err := library.New(c)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	c := library.Config{Keeper: w.keeper}
	l, err := library.New(&c)
	require.NoError(t, err)
	require.Equal(t, library.Config{Keeper: w.keeper}, c, "it is left as it was")
	c.Keeper = nil
	_, err = l.Load(w.ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(many("a", 1)))
	require.NoError(t, err)
	got, err := l.Resume(w.ctx, lab)
	require.NoError(t, err)
	require.Equal(t, &library.ResumeResponse{}, got)
}
