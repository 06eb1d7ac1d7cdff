// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
	"github.com/einomem/einomem/backends/store"
)

// dieDecided leaves a load of after that was decided, and of which one batch is
// done, as a process does that dies.
func (w *world) dieDecided(o options) {
	w.t.Helper()
	f := &faulty{Store: w.store}
	applied := 0
	f.before = func(_ int, name string) error {
		if name == "Apply" {
			applied++
		}
		return failIf(applied > 2)
	}
	o.store, o.clock, o.config.OneBatch = f, w.clock, staging
	got, err := open(w.t, o).Load(w.ctx, &library.LoadRequest{Scope: shop}, reader(after))
	require.ErrorIs(w.t, err, backends.ErrUnavailable)
	require.ErrorContains(w.t, err, "call Resume, or load again")
	require.True(w.t, got.Committed)
}

// While half a load is there nobody copies or dumps it; what others do with other
// workspaces goes on.
func TestR21NobodyTakesHalfALoad(t *testing.T) {
	w := open(t, options{config: library.Config{Dir: openDir(t)}})
	w.load(shop, before)
	w.dieDecided(options{})
	_, err := w.Dump(w.ctx, &library.DumpRequest{Scope: shop}, io.Discard)
	require.ErrorIs(t, err, backends.ErrConflict)
	_, err = w.DumpFile(w.ctx, &library.DumpRequest{Scope: shop})
	require.ErrorIs(t, err, backends.ErrConflict)
	_, err = w.Copy(w.ctx, &library.CopyRequest{From: shop, To: lab})
	require.ErrorIs(t, err, backends.ErrConflict)
	w.load(lab, many("c", 2))
	require.Len(t, w.ids(lab), 2)
	w.clock.pass(library.LeaseFor)
	_, err = w.Dump(w.ctx, &library.DumpRequest{Scope: shop}, io.Discard)
	require.ErrorIs(t, err, backends.ErrConflict, "time alone finishes nothing")
	_, err = w.Resume(w.ctx, shop)
	require.NoError(t, err)
	require.Contains(t, w.dump(&library.DumpRequest{Scope: shop}), `"memories":51`)
}

// Whatever writes to the workspace next puts it in order first.
func TestR21WhoComesNextFinishesTheLoad(t *testing.T) {
	for name, next := range map[string]func(*world){
		"load": func(w *world) {
			got, err := w.Load(w.ctx, &library.LoadRequest{Scope: shop, Mode: library.Add}, reader(many("c", 2)+task("both", "w", "later")))
			require.NoError(w.t, err)
			require.Equal(w.t, []int{2, 1}, []int{got.Loaded, got.Skipped})
			require.Len(w.t, w.ids(shop), 53)
			require.Equal(w.t, "after", w.all(shop)["both"].Text)
		},
		"staged load": func(w *world) {
			l, err := library.New(&library.Config{Keeper: w.keeper, OneBatch: 1})
			require.NoError(w.t, err)
			_, err = l.Load(w.ctx, &library.LoadRequest{Scope: shop, Mode: library.Merge}, reader(many("c", 2)))
			require.NoError(w.t, err)
			require.Len(w.t, w.ids(shop), 53)
		},
		"copy to it": func(w *world) {
			w.load(lab, many("c", 2))
			_, err := w.Copy(w.ctx, &library.CopyRequest{From: lab, To: shop})
			require.NoError(w.t, err)
			require.Equal(w.t, []string{"c0", "c1"}, w.ids(shop))
		},
		"delete": func(w *world) {
			n, err := w.Delete(w.ctx, &library.DeleteRequest{Scope: shop})
			require.NoError(w.t, err)
			require.Equal(w.t, 51, n)
			require.Empty(w.t, w.ids(shop))
		},
		"erase": func(w *world) {
			_, err := w.Delete(w.ctx, &library.DeleteRequest{Scope: shop, Erase: true})
			require.NoError(w.t, err)
			require.Empty(w.t, w.ids(shop))
			w.load(shop, many("c", 1))
			require.Equal(w.t, []string{"c0"}, w.ids(shop))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, options{})
			w.load(shop, before)
			w.dieDecided(options{})
			w.clock.pass(library.LeaseFor)
			next(w)
			got, err := w.Resume(w.ctx, shop)
			require.NoError(t, err)
			require.Equal(t, &library.ResumeResponse{}, got)
			w.nothingStaged(shop)
		})
	}
}

// The workspace may be embedded by another model before the load is finished: its
// vectors are left out then, and made by the next Reembed.
func TestR21ResumedAfterTheModelChanged(t *testing.T) {
	w := open(t, options{embedder: &embedder{}})
	w.load(shop, before)
	w.dieDecided(options{embedder: &embedder{}})
	second := open(t, options{store: w.store, clock: w.clock, embedder: &embedder{}, model: "2"})
	_, err := second.ranker.Reembed(w.ctx, partition(shop))
	require.NoError(t, err)
	w.clock.pass(library.LeaseFor)
	_, err = second.Resume(w.ctx, shop)
	require.NoError(t, err)
	require.True(t, whole(t, second, nil))
	require.Contains(t, second.found(shop, "do step 49"), "b49", "by its words")
	n, err := second.Reembed(w.ctx, &library.ReembedRequest{Scope: shop})
	require.NoError(t, err)
	require.Equal(t, 51, n)
	second.vectors(shop, 51)
}

// What cannot be read is told, and nothing is guessed.
func TestR21ADamagedJournal(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	was := w.all(shop)
	garbage := "{"
	_, err := w.store.Update(w.ctx, partition(shop), &store.SessionUpdate{Session: library.SessionID, Summary: &garbage})
	require.NoError(t, err)
	for range 2 {
		_, err = w.Resume(w.ctx, shop)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.ErrorContains(t, err, "Erase")
		w.clock.pass(library.LeaseFor)
		_, err = w.Load(w.ctx, &library.LoadRequest{Scope: shop}, reader(after))
		require.ErrorIs(t, err, backends.ErrUnavailable)
		w.clock.pass(library.LeaseFor)
	}
	require.Equal(t, was, w.all(shop))
	_, err = w.Delete(w.ctx, &library.DeleteRequest{Scope: shop, Erase: true})
	require.NoError(t, err)
	require.Equal(t, 4, w.load(shop, before).Loaded)
}

// A dump that the keeper wrote is one of memories without a header.
func TestR21LoadsTheDumpsOfBackends(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	var b bytes.Buffer
	_, err := w.keeper.Dump(w.ctx, partition(shop), &b)
	require.NoError(t, err)
	was := w.all(shop)
	w.load(shop, many("c", 1))
	w.load(shop, b.String())
	require.Equal(t, was, w.all(shop))
	_, err = w.keeper.Load(w.ctx, partition(lab), &b)
	require.NoError(t, err)
}

// Lines that would break a store, or a search, are refused with their number.
func TestR21HostileLines(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	deep := strings.Repeat(`{"a":`, 1100) + "1" + strings.Repeat("}", 1100)
	for name, line := range map[string]string{
		"deep metadata":        `{"memory_id":"x","content":"c","metadata":` + deep + `}`,
		"a scope that is none": `{"id":"x","kind":"task","text":"c","scope":{"agent_id":"*"}}`,
		"a huge number":        `{"memory_id":"x","content":"c","metadata":{"n":1e999}}`,
		"deeper than JSON":     `{"memory_id":"x","content":` + strings.Repeat("[", 20_000),
	} {
		_, err := w.Load(w.ctx, &library.LoadRequest{Scope: shop}, reader(many("b", 2)+line))
		require.ErrorIs(t, err, backends.ErrInvalid, name)
		require.ErrorContains(t, err, "line 3", name)
	}
	require.Len(t, w.ids(shop), 4)
	w.load(shop, `{"memory_id":"x","content":"c","metadata":{"einomem":{"v":1,"id":"x","version":9,"scope":{"namespace":"other","workspace":"lab","user_id":"ann"}}}}`)
	m := w.all(shop)["x"]
	require.Equal(t, backends.Scope{Namespace: "default", Workspace: "shop", UserID: "ann"}, m.Scope, "the workspace is the request's, whatever a line says")
	require.Empty(t, w.ids(lab))
}

// Vectors may come with some of the memories.
func TestR21SomeVectors(t *testing.T) {
	e := &embedder{}
	w := open(t, options{embedder: e})
	w.load(shop, many("a", 40))
	lines := strings.SplitAfter(w.dump(&library.DumpRequest{Scope: shop, Vectors: true}), "\n")
	for i := 1; i <= 30; i++ {
		lines[i] = task(fmt.Sprint("bare", i), fmt.Sprint("when ", i), "no vector")
	}
	for _, oneBatch := range []int{0, 10} {
		other := open(t, options{embedder: &embedder{}, config: library.Config{OneBatch: oneBatch}})
		got, err := other.Load(w.ctx, &library.LoadRequest{Scope: lab}, reader(strings.Join(lines, "")))
		require.NoError(t, err)
		require.Equal(t, 31, got.Usage.EmbeddedTexts, "30 without, and one to know that the others fit")
		other.vectors(lab, 40)
	}
}

var errNoTexts = errors.New("no texts today")

// A watched embedder is the one inside, but for the counting.
func TestWatchedEmbedder(t *testing.T) {
	e := &embedder{fail: func(int) error { return errNoTexts }}
	in := library.Watched(e)
	_, err := in.EmbedStrings(t.Context(), []string{"x"})
	require.ErrorIs(t, err, errNoTexts)
	require.False(t, components.IsCallbacksEnabled(in))
	kind, ok := components.GetType(library.Watched(named{e}))
	require.True(t, ok)
	require.Equal(t, "Letters", kind)
	require.True(t, components.IsCallbacksEnabled(library.Watched(named{e})))
}

type named struct{ *embedder }

func (named) GetType() string { return "Letters" }

func (named) IsCallbacksEnabled() bool { return true }
