// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
)

func TestR21DumpsAreOfOneFormat(t *testing.T) {
	w := open(t, options{})
	require.Equal(t, `{"einomem_library":1,"workspace":"shop","memories":0}`+"\n", w.dump(&library.DumpRequest{Scope: shop}))
	require.Empty(t, w.dump(&library.DumpRequest{Scope: shop, Format: library.ReMe}))
	w.load(shop, many("a", 2))
	lines := strings.Split(w.dump(&library.DumpRequest{Scope: shop}), "\n")
	require.Equal(t, `{"einomem_library":1,"workspace":"shop","memories":2}`, lines[0])
	require.Contains(t, lines[1], `"id":"a0"`)
	require.Len(t, lines, 4)
	for _, r := range []*library.DumpRequest{{Scope: shop, Format: "xml"}, {Scope: shop, Format: library.ReMe, Vectors: true}} {
		_, err := w.Dump(w.ctx, r, io.Discard)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	_, err := w.Dump(w.ctx, nil, io.Discard)
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, err = w.Dump(w.ctx, &library.DumpRequest{Scope: shop}, brokenPipe{})
	require.ErrorIs(t, err, errPipe)
	_, err = w.Dump(w.ctx, &library.DumpRequest{Scope: shop}, nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

var errPipe = errors.New("broken pipe")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

// ReMe has no past: what it would take for the present is left out, unless asked for.
func TestR21WhatHoldsNoMore(t *testing.T) {
	w := open(t, options{})
	w.put(shop, backends.Memory{ID: "old", Kind: backends.KindPersonal, Text: "lives in Beijing", SupersededBy: "new", Invalidated: start},
		backends.Memory{ID: "new", Kind: backends.KindPersonal, Text: "lives in Shanghai", Supersedes: "old"},
		backends.Memory{ID: "gone", Kind: backends.KindTask, Text: "for the season", Expires: start.Add(-time.Hour)})
	var b strings.Builder
	got, err := w.Dump(w.ctx, &library.DumpRequest{Scope: shop, Format: library.ReMe}, &b)
	require.NoError(t, err)
	require.Equal(t, &library.DumpResponse{Memories: 1, LeftOut: 2}, got)
	require.NotContains(t, b.String(), "Beijing")
	for _, r := range []*library.DumpRequest{{Scope: shop, Format: library.ReMe, Past: true}, {Scope: shop}} {
		w.load(lab, w.dump(r))
		require.Len(t, w.all(lab), 3)
		require.Equal(t, []string{"new"}, w.ids(lab), "in einomem they stay past")
		require.Equal(t, "new", w.all(lab)["old"].SupersededBy)
	}
}

// Vectors of the same model are not made twice, those of another are not believed.
func TestR21VectorsInDumps(t *testing.T) {
	e := &embedder{}
	w := open(t, options{embedder: e})
	w.load(shop, many("a", 250))
	require.Equal(t, 250, e.count())
	dump := w.dump(&library.DumpRequest{Scope: shop, Vectors: true})
	require.Contains(t, dump, `"embedding":{"model":"model","dim":8}`)
	for _, test := range []struct {
		name     string
		o        options
		without  bool
		embedded int
	}{
		{"the same model", options{embedder: &embedder{}}, false, 1}, // one to know
		{"the same model, staged", options{embedder: &embedder{}, config: library.Config{OneBatch: 20}}, false, 1},
		{"another model", options{embedder: &embedder{}, model: "2"}, false, 251},
		{"without vectors", options{embedder: &embedder{}}, true, 250},
		{"no embedder", options{}, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			other := open(t, test.o)
			got, err := other.Load(w.ctx, &library.LoadRequest{Scope: lab, WithoutVectors: test.without}, strings.NewReader(dump))
			require.NoError(t, err)
			require.Equal(t, test.embedded, got.Usage.EmbeddedTexts)
			if test.o.embedder == nil {
				return
			}
			require.Equal(t, test.embedded, test.o.embedder.count())
			require.Equal(t, w.vectors(shop, 250), other.vectors(lab, 250), "the embedders make the same")
			require.Len(t, other.found(lab, "do step 7"), 250)
		})
	}
}

// vectors are the components of all vectors, without the mark of the model.
func (w *world) vectors(s backends.Scope, n int) map[string]string {
	w.t.Helper()
	c, err := w.store.Changes(w.ctx, partition(s), "")
	require.NoError(w.t, err)
	out := map[string]string{}
	for c.More || len(out) == 0 {
		for _, r := range c.Records {
			require.NotEmpty(w.t, r.Vector)
			out[r.ID] = string(r.Vector[5:])
		}
		if !c.More {
			break
		}
		c, err = w.store.Changes(w.ctx, partition(s), c.Cursor)
		require.NoError(w.t, err)
	}
	require.Len(w.t, out, n)
	return out
}

// A load that replaces a workspace also replaces the model of its vectors; one that
// adds to it cannot.
func TestR21LoadsAfterTheModelChanged(t *testing.T) {
	for _, oneBatch := range []int{0, 20} {
		first := open(t, options{embedder: &embedder{}})
		first.load(shop, many("a", 60))
		second := open(t, options{store: first.store, clock: first.clock, embedder: &embedder{}, model: "2", config: library.Config{OneBatch: oneBatch}})
		was := first.all(shop)
		_, err := second.Load(first.ctx, &library.LoadRequest{Scope: shop, Mode: library.Merge}, strings.NewReader(many("b", 60)))
		require.ErrorIs(t, err, backends.ErrDimension)
		require.ErrorContains(t, err, "Reembed the workspace first")
		require.Equal(t, was, first.all(shop))
		require.Equal(t, 60, second.load(shop, many("b", 60)).Loaded)
		require.Len(t, second.found(shop, "do step 7"), 60)
	}
}
