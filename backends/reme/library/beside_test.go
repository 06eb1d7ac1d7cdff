// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
)

// once calls do ahead of the first call of that name.
func (f *faulty) once(name string, do func()) {
	f.before = func(_ int, called string) error {
		if called == name {
			f.before = nil
			do()
		}
		return nil
	}
}

// What a dead load removed already is not removed again when it was learnt anew.
func TestR21ResumedLoadsRemoveNothingTwice(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	f := &faulty{Store: w.store}
	applied := 0
	f.before = func(_ int, name string) error {
		if name == "Apply" {
			applied++
		}
		return failIf(applied == 6 && name != "Apply") // the decision, four batches to write and one to remove
	}
	got, err := open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: staging}}).Load(w.ctx, &library.LoadRequest{Scope: shop}, reader(after))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.True(t, got.Committed)
	require.True(t, whole(t, w, nil))
	w.put(shop, backends.Memory{ID: "a0", Kind: backends.KindTask, WhenToUse: "when", Text: "learnt anew"})
	w.clock.pass(library.LeaseFor)
	_, err = w.Resume(w.ctx, shop)
	require.NoError(t, err)
	require.Equal(t, "learnt anew", w.all(shop)["a0"].Text)
}

// With Add, what an agent learns in the very moment stays as it is, too.
func TestR21AddingBesideLearning(t *testing.T) {
	sizes(t, func(t *testing.T, o options) {
		w := open(t, options{})
		f := &faulty{Store: w.store}
		f.before = func(_ int, name string) error {
			if name == "Apply" && len(w.ids(shop)) == 0 {
				w.put(shop, backends.Memory{ID: "b0", Kind: backends.KindTask, WhenToUse: "when", Text: "learnt"})
			}
			return nil
		}
		o.store, o.clock = f, w.clock
		got, err := open(t, o).Load(w.ctx, &library.LoadRequest{Scope: shop, Mode: library.Add}, reader(many("b", 5)))
		require.NoError(t, err)
		require.Equal(t, []int{4, 1}, []int{got.Loaded, got.Skipped})
		require.Equal(t, "learnt", w.all(shop)["b0"].Text)
	})
}

// A load that is decided while a dump looks at the workspace leaves it no half of itself.
func TestR21ALoadWhileADumpLooks(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	f := &faulty{Store: w.store}
	looking := open(t, options{store: f, clock: w.clock})
	f.once("Changes", func() { w.dieDecided(options{}) })
	_, err := looking.Dump(w.ctx, &library.DumpRequest{Scope: shop}, io.Discard)
	require.ErrorIs(t, err, backends.ErrConflict)
}

// A vector is written with the words that it was made of, or not at all.
func TestR21VectorsOfWordsThatChange(t *testing.T) {
	w := open(t, options{embedder: &embedder{}})
	w.load(shop, many("a", 2))
	f := &faulty{Store: w.store}
	looking := open(t, options{store: f, clock: w.clock, embedder: &embedder{}})
	f.once("Get", func() {
		w.put(shop, backends.Memory{ID: "a0", Kind: backends.KindTask, WhenToUse: "at another time", Text: "other"})
	})
	text := looking.dump(&library.DumpRequest{Scope: shop, Vectors: true})
	require.Equal(t, 1, strings.Count(text, `"vector":`))
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"id":"a0"`) {
			require.NotContains(t, line, `"vector":`)
		}
	}
}
