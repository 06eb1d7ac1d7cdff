// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/testkit"
)

func embedded(e *testkit.Embedder) func(*keeper.Config, *recall.Config) {
	return func(_ *keeper.Config, rc *recall.Config) { rc.Embedder, rc.EmbeddingModel = e, "hash" }
}

func TestCommitEmbedsWhatLacksAVector(t *testing.T) {
	w := open(t, embedded(&testkit.Embedder{Dim: 8}))
	w.put(ann, fact("old", "She lives in Beijing."))
	before, err := w.Records(ctx, ann, "old")
	require.NoError(t, err)

	expired := fact("kept", "It was so.")
	expired.Vector, expired.Version = before[0].Vector, 1 // as read from the store
	usage := backends.Usage{EmbeddedTexts: 1}
	b := &store.Batch{Mutations: []store.Mutation{
		store.Put(fact("new", "She likes tea.")), store.Supersede("old", fact("next", "She lives in Shanghai.")),
		store.Put(expired), store.Increment("new", "freq", 1),
	}}
	applied, err := w.Commit(ctx, ann, b, &usage)
	require.NoError(t, err)
	require.Len(t, applied.Results, 4)
	require.Equal(t, 3, usage.EmbeddedTexts, "two, beside the one before")
	require.Equal(t, &store.Embedding{Model: "hash", Dim: 8}, b.Embedding)
	recs, err := w.Records(ctx, ann, "new", "next", "kept")
	require.NoError(t, err)
	for i := range recs {
		require.NotEmpty(t, recs[i].Vector, recs[i].ID)
	}
	require.Equal(t, before[0].Vector, recs[2].Vector, "what has a vector keeps it")
}

func TestCommitWithoutAnEmbedder(t *testing.T) {
	w := open(t)
	b := &store.Batch{Mutations: []store.Mutation{store.Put(fact("1", "tea"))}}
	_, err := w.Commit(ctx, ann, b, nil)
	require.NoError(t, err)
	require.Nil(t, b.Embedding)
	require.Equal(t, []string{"tea"}, w.texts(ann))
}

func TestACommitThatFailsStoresNothing(t *testing.T) {
	down := errors.New("no route to host")
	for _, tc := range []struct {
		name string
		with func(*testkit.Embedder)
		last store.Mutation
		want error
	}{
		{"the embedder is down", func(e *testkit.Embedder) { e.Err = down }, store.Put(fact("2", "coffee")), backends.ErrUnavailable},
		{"another embedder", func(e *testkit.Embedder) { e.Dim = 16 }, store.Put(fact("2", "coffee")), backends.ErrDimension},
		{"it exists", nil, store.Mutation{Op: store.OpPut, Record: fact("0", "coffee"), Expect: store.MustNotExist}, backends.ErrConflict},
		{"another version", nil, store.Mutation{Op: store.OpDelete, ID: "0", Expect: 99}, backends.ErrConflict},
		{"nothing to replace", nil, store.Supersede("gone", fact("2", "coffee")), backends.ErrConflict},
		{"no record", nil, store.Put(nil), backends.ErrInvalid},
		{"not UTF-8", nil, store.Put(fact("2", "\xff")), backends.ErrInvalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := &testkit.Embedder{Dim: 8}
			w := open(t, embedded(e))
			w.put(ann, fact("0", "water"))
			before := w.get(ann, "0")
			if tc.with != nil {
				tc.with(e)
			}
			b := &store.Batch{Key: "k", Mutations: []store.Mutation{store.Put(fact("1", "tea")), store.Increment("0", "n", 1), tc.last}}
			_, err := w.Commit(ctx, ann, b, nil)
			require.ErrorIs(t, err, tc.want)
			require.ErrorContains(t, err, "test: ")
			require.Equal(t, []string{"water"}, w.texts(ann))
			require.Equal(t, before, w.get(ann, "0"))
			known, err := w.Replayed(ctx, ann, "k", nil)
			require.NoError(t, err)
			require.Nil(t, known, "the key is unused")
		})
	}
}

func TestABatchThatLostARaceIsNotEmbeddedAgain(t *testing.T) {
	w := open(t, embedded(&testkit.Embedder{Dim: 8}))
	var usage backends.Usage
	wait := store.Delete("0")
	wait.Expect = 1
	b := &store.Batch{Mutations: []store.Mutation{store.Put(fact("1", "tea")), wait}}
	_, err := w.Commit(ctx, ann, b, &usage)
	require.ErrorIs(t, err, backends.ErrConflict)
	b.Mutations = b.Mutations[:1]
	_, err = w.Commit(ctx, ann, b, &usage)
	require.NoError(t, err)
	require.Equal(t, 1, usage.EmbeddedTexts)
	require.Equal(t, "tea", w.found(ann, "tea").Hits[0].Text)
}

// A vector whose space nobody tells would be found by nothing.
func TestARecordInAnotherBatchIsEmbeddedAgain(t *testing.T) {
	w := open(t, embedded(&testkit.Embedder{Dim: 8}))
	rec := fact("1", "tea")
	wait := store.Delete("0")
	wait.Expect = 1
	_, err := w.Commit(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Put(rec), wait}}, nil)
	require.ErrorIs(t, err, backends.ErrConflict)
	_, err = w.Commit(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Put(rec)}}, nil)
	require.NoError(t, err)
	require.InDelta(t, 1, w.found(ann, "tea").Hits[0].Parts.Vector, 1e-6)
}

func TestReplayedTellsOfAnEarlierBatch(t *testing.T) {
	w := open(t)
	none, err := w.Replayed(ctx, ann, "", nil)
	require.NoError(t, err)
	require.Nil(t, none, "no key, no batch")
	b := &store.Batch{Key: "k", Mutations: []store.Mutation{store.Put(fact("1", "tea"))}}
	first, err := w.Commit(ctx, ann, b, nil)
	require.NoError(t, err)
	again, err := w.Replayed(ctx, ann, "k", nil)
	require.NoError(t, err)
	require.Equal(t, first.Results, again.Results)
	other, err := w.Replayed(ctx, bob, "k", nil)
	require.NoError(t, err)
	require.Nil(t, other, "a key is its partition's")

	f := &faulty{Store: w.Store(), fail: fmt.Errorf("disk full: %w", backends.ErrUnavailable)}
	down := open(t, on(f))
	_, err = down.Replayed(ctx, ann, "k", nil)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = down.Replayed(ctx, ann, "", nil)
	require.NoError(t, err, "the store is not asked for no key")
}

func TestReembedAfterTheModelChanged(t *testing.T) {
	w := open(t, embedded(&testkit.Embedder{Dim: 8}))
	w.put(ann, fact("1", "tea"))
	next := open(t, on(w.Store()), func(_ *keeper.Config, rc *recall.Config) {
		rc.Embedder, rc.EmbeddingModel = &testkit.Embedder{Dim: 16}, "other"
	})
	_, err := next.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, backends.ErrDimension)
	n, err := next.Reembed(ctx, ann)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Len(t, next.found(ann, "tea").Hits, 1)
	_, err = open(t).Reembed(ctx, ann)
	require.ErrorIs(t, err, backends.ErrInvalid, "no embedder")
}

func TestRetryIsBounded(t *testing.T) {
	n := 0
	err := keeper.Retry(ctx, func() error { n++; return fmt.Errorf("lost: %w", backends.ErrConflict) })
	require.ErrorIs(t, err, backends.ErrConflict)
	require.Equal(t, keeper.Attempts, n)
	n = 0
	require.ErrorIs(t, keeper.Retry(ctx, func() error { n++; return backends.ErrInvalid }), backends.ErrInvalid)
	require.Equal(t, 1, n, "only a lost race is worth another try")
	n = 0
	require.NoError(t, keeper.Retry(ctx, func() error {
		if n++; n < 3 {
			return backends.ErrConflict
		}
		return nil
	}))
	require.Equal(t, 3, n)
}
