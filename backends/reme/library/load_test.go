// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
)

// sizes run a test with loads of one write, and with staged ones.
func sizes(t *testing.T, test func(t *testing.T, o options)) {
	t.Run("at once", func(t *testing.T) { test(t, options{}) })
	t.Run("staged", func(t *testing.T) { test(t, options{config: library.Config{OneBatch: 1}}) })
}

func TestR21LoadReplaces(t *testing.T) {
	sizes(t, func(t *testing.T, o options) {
		w := open(t, o)
		w.put(shop, backends.Memory{ID: "learnt", Kind: backends.KindTask, Text: "learnt here"}, backends.Memory{ID: "a1", Kind: backends.KindTask, Text: "the one before"},
			backends.Memory{ID: "core", Kind: backends.KindCore, Text: "rules of the house"})
		got := w.load(shop, many("a", 3))
		require.Equal(t, &library.LoadResponse{Loaded: 3, Removed: 1, Staged: o.config.OneBatch == 1}, got)
		require.Equal(t, []string{"a0", "a1", "a2"}, w.ids(shop))
		require.Equal(t, "do step 1", w.all(shop)["a1"].Text)
		blocks, err := w.ranker.CoreBlocks(w.ctx, partition(shop))
		require.NoError(t, err)
		require.Len(t, blocks, 1, "core blocks stay")
		require.Equal(t, 2, w.load(shop, many("b", 2)).Loaded)
		require.Equal(t, []string{"b0", "b1"}, w.ids(shop))
		history, err := w.keeper.History(w.ctx, partition(shop), "learnt")
		require.NoError(t, err)
		require.Equal(t, "library", history[len(history)-1].Actor)
	})
}

func TestR21LoadMergesAndAdds(t *testing.T) {
	sizes(t, func(t *testing.T, o options) {
		w := open(t, o)
		w.load(shop, task("a", "w", "old")+task("b", "w", "old"))
		got, err := w.Load(w.ctx, &library.LoadRequest{Scope: shop, Mode: library.Merge}, strings.NewReader(task("b", "w", "new")+task("c", "w", "new")))
		require.NoError(t, err)
		require.Equal(t, []int{2, 0, 0}, []int{got.Loaded, got.Removed, got.Skipped})
		texts := func() []string {
			all := w.all(shop)
			return []string{all["a"].Text, all["b"].Text, all["c"].Text, all["d"].Text}
		}
		require.Equal(t, []string{"old", "new", "new", ""}, texts())
		got, err = w.Load(w.ctx, &library.LoadRequest{Scope: shop, Mode: library.Add}, strings.NewReader(task("a", "w", "newest")+task("d", "w", "newest")))
		require.NoError(t, err)
		require.Zero(t, got.Removed)
		require.Equal(t, []string{"old", "new", "new", "newest"}, texts())
		require.Equal(t, []int{1, 1}, []int{got.Loaded, got.Skipped})
		_, err = w.Load(w.ctx, &library.LoadRequest{Scope: shop, Mode: "sometimes"}, strings.NewReader(many("a", 1)))
		require.ErrorIs(t, err, backends.ErrInvalid)
	})
}

// An input that is missing or empty never empties a workspace.
func TestDEF28NothingToLoad(t *testing.T) {
	w := open(t, options{config: library.Config{Dir: openDir(t)}})
	w.load(shop, many("a", 2))
	for name, in := range map[string]io.Reader{"empty": strings.NewReader(""), "blank lines": strings.NewReader("\n \r\n\n"), "none": nil,
		"a dump of nothing": strings.NewReader(`{"einomem_library":1,"workspace":"x","memories":0}`)} {
		_, err := w.Load(w.ctx, &library.LoadRequest{Scope: shop}, in)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
		require.ErrorContains(t, err, "it is as it was", name)
	}
	_, err := w.LoadFile(w.ctx, &library.LoadRequest{Scope: shop})
	require.ErrorIs(t, err, backends.ErrNotFound)
	require.ErrorContains(t, err, `"shop.jsonl"`)
	require.Equal(t, []string{"a0", "a1"}, w.ids(shop))
	_, err = w.Load(w.ctx, &library.LoadRequest{Scope: shop, Mode: library.Merge}, strings.NewReader(""))
	require.NoError(t, err, "what adds nothing removes nothing")
	require.Equal(t, []string{"a0", "a1"}, w.ids(shop))
}

// A line that cannot be read, wherever it stands, leaves the workspace as it was.
func TestR21BadLinesChangeNothing(t *testing.T) {
	sizes(t, func(t *testing.T, o options) {
		w := open(t, o)
		w.load(shop, many("a", 3))
		before := w.all(shop)
		for name, bad := range map[string]string{
			"not JSON": "{", "a second one of the id": task("b0", "w", "x"), "no known format": `{"x":1}`,
			"an id that is too long": task(strings.Repeat("i", 600), "w", "x"), "another dump": `{"einomem_library":1,"memories":0}`,
			"a core block": `{"id":"x","kind":"core","text":"y"}`, "a line that is cut off": task("b99", "w", "x")[:50],
		} {
			_, err := w.Load(w.ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(many("b", 56)+bad))
			require.ErrorIs(t, err, backends.ErrInvalid, name)
			require.ErrorContains(t, err, "line 57", name)
			require.ErrorContains(t, err, "it is as it was", name)
			require.Equal(t, before, w.all(shop), name)
		}
		_, err := w.Load(w.ctx, &library.LoadRequest{Scope: shop}, io.MultiReader(strings.NewReader(many("b", 56)), iotest.ErrReader(io.ErrUnexpectedEOF)))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		_, err = w.Load(w.ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(`{"einomem_library":1,"memories":4}`+"\n"+many("b", 3)))
		require.ErrorContains(t, err, "cut off")
		require.Equal(t, before, w.all(shop))
		w.nothingStaged(shop)
	})
}

// nothingStaged proves that no load left anything.
func (w *world) nothingStaged(s backends.Scope) {
	w.t.Helper()
	st, err := w.store.Session(w.ctx, partition(s), library.SessionID)
	require.NoError(w.t, err)
	require.Empty(w.t, st.Summary)
	require.Empty(w.t, st.Lease.Owner)
	require.False(w.t, st.Pending())
	blobs, err := w.store.ListBlobs(w.ctx, partition(s), library.SessionID, "", anyPage)
	require.NoError(w.t, err)
	require.Empty(w.t, blobs.Blobs)
}

func TestR21FormsOfFiles(t *testing.T) {
	w := open(t, options{})
	require.Equal(t, 2, w.load(shop, "\xef\xbb\xbf"+strings.ReplaceAll("\n"+many("a", 2), "\n", "\r\n")).Loaded)
	mixed := many("a", 1) + `{"experience_id":"b","experience_type":"text","content":"c","score":null}` + "\n" +
		`{"unique_id":"c","content":"w","metadata":{"content":"x"}}` + "\n" + `{"id":"d","kind":"personal","text":"她喜欢茶"}`
	require.Equal(t, 4, w.load(shop, mixed).Loaded)
	require.Equal(t, "她喜欢茶", w.all(shop)["d"].Text)
}

// Lines without ids: the same words are the same memory, today and tomorrow.
func TestR21LinesWithoutIDs(t *testing.T) {
	sizes(t, func(t *testing.T, o options) {
		w := open(t, o)
		text := `{"when_to_use":"w","content":"one"}` + "\n" + `{"when_to_use":"w","content":"two"}` + "\n" + `{"when_to_use":"w","content":"one"}` + "\n"
		got := w.load(shop, text)
		require.Equal(t, []int{2, 1}, []int{got.Loaded, got.Skipped})
		ids := w.ids(shop)
		require.Len(t, ids, 2)
		w.clock.pass(1)
		w.load(shop, text)
		require.ElementsMatch(t, ids, w.ids(shop))
		w.load(lab, text)
		require.NotEqual(t, ids, w.ids(lab), "another workspace is another memory")
	})
}

// Of a tool a workspace has one memory, found by its name; ReMe gets its own id back.
func TestR21MemoriesOfTools(t *testing.T) {
	w := open(t, options{})
	line := `{"workspace_id":"x","memory_id":"0123","memory_type":"tool","when_to_use":"search","content":"use it","score":0,"time_created":"2025-07-24 21:15:17","time_modified":"2025-07-24 21:15:17","author":"","metadata":{},"tool_call_results":[{"tool_name":"search","call_hash":"h"}]}`
	w.load(shop, line)
	in, err := w.keeper.Get(w.ctx, partition(shop), toolID(shop, "search"))
	require.NoError(t, err)
	require.Equal(t, "use it", in.Text)
	require.Equal(t, parsed(t, line), parsed(t, w.dump(&library.DumpRequest{Scope: shop, Format: library.ReMe})))
	w.load(lab, w.dump(&library.DumpRequest{Scope: shop}))
	require.Equal(t, []string{toolID(lab, "search")}, w.ids(lab))
	_, err = w.Load(w.ctx, &library.LoadRequest{Scope: shop}, strings.NewReader(line+"\n"+line))
	require.ErrorContains(t, err, `line 2: invalid: tool "search" (of which a workspace has one memory) stands on line 1 already`)
}

// ReMe could come to have two memories of one tool (DEF-18): none is lost.
func TestR21TwoMemoriesOfOneTool(t *testing.T) {
	sizes(t, func(t *testing.T, o options) {
		w := open(t, o)
		line := `{"workspace_id":"x","memory_id":"0123","memory_type":"tool","when_to_use":"search","content":"use it","score":0,"time_created":"2025-07-24 21:15:17","time_modified":"2025-07-24 21:15:17","author":"","metadata":{},"tool_call_results":[]}`
		other := strings.NewReplacer("0123", "4567", "use it", "use it twice", "21:15:17", "21:15:18").Replace(line)
		w.load(shop, line+"\n"+other)
		require.ElementsMatch(t, []string{toolID(shop, "search"), "4567"}, w.ids(shop))
		in, err := w.keeper.Get(w.ctx, partition(shop), toolID(shop, "search"))
		require.NoError(t, err)
		require.Equal(t, "use it", in.Text, "the first is found by its name")
		dumped := parsed(t, w.dump(&library.DumpRequest{Scope: shop, Format: library.ReMe}))
		require.Equal(t, parsed(t, line+"\n"+other), dumped)
		w.load(lab, w.dump(&library.DumpRequest{Scope: shop}))
		require.ElementsMatch(t, []string{toolID(lab, "search"), "4567"}, w.ids(lab))
		w.load(shop, w.dump(&library.DumpRequest{Scope: lab, Format: library.ReMe}))
		require.ElementsMatch(t, []string{toolID(shop, "search"), "4567"}, w.ids(shop))
	})
}

func TestR21TextsAreRedacted(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	sizes(t, func(t *testing.T, o options) {
		o.redact = hide
		w := open(t, o)
		w.load(shop, task("z", "w", "c")+`{"memory_id":"a","when_to_use":"hunter2?","content":"say hunter2","author":"hunter2","target":"hunter2","score":9,"other":["hunter2"],"metadata":{"k":[{"x":"hunter2"}]}}`)
		m := w.all(shop)["a"]
		require.NotContains(t, fmt.Sprint(m), "hunter2")
		require.Equal(t, "say ***", m.Text)
	})
}

func TestR22ScopesOfLoads(t *testing.T) {
	w := open(t, options{})
	for name, s := range map[string]backends.Scope{"none": {}, "a user's": {UserID: "ann"}} {
		_, err := w.Load(w.ctx, &library.LoadRequest{Scope: s}, strings.NewReader(many("a", 1)))
		require.ErrorIs(t, err, backends.ErrNoScope, name)
	}
	_, err := w.Load(backends.WithScope(w.ctx, shop), nil, strings.NewReader(many("a", 1)))
	require.NoError(t, err)
	require.Equal(t, []string{"a0"}, w.ids(shop))
}

func TestR21CancelledLoadsChangeNothing(t *testing.T) {
	sizes(t, func(t *testing.T, o options) {
		w := open(t, o)
		w.load(shop, many("a", 3))
		ctx, cancel := context.WithCancel(w.ctx)
		in := io.MultiReader(strings.NewReader(many("b", 40)), readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF }), strings.NewReader(many("c", 40)))
		_, err := w.Load(ctx, &library.LoadRequest{Scope: shop}, in)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, []string{"a0", "a1", "a2"}, w.ids(shop))
		w.nothingStaged(shop)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
