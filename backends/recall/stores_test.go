// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// The ranking is the same on every store, to the last tie.
func TestRankingIsTheSameOnEveryStore(t *testing.T) {
	f := newFakeRecords()
	db, err := sqlitestore.Open(t.Context(), ":memory:", &sqlitestore.Config{Clock: func() time.Time { return f.now }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	stores := []store.Records{f, db}
	rankers := make([]*recall.Ranker, len(stores))
	for i, s := range stores {
		rankers[i] = newRanker(t, s, func(c *recall.Config) { c.Embedder, c.EmbeddingModel, c.Encoding = dice{16}, "dice", recall.Int8 })
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range 120 {
		m := backends.Memory{ID: fmt.Sprint(rnd.IntN(60)), Kind: backends.KindFact, Text: sentence(rnd, rnd.IntN(12)),
			Observed: f.now.Add(time.Duration(rnd.IntN(3)) * time.Hour), Metadata: map[string]any{"n": float64(i)}}
		for n, s := range stores {
			if i%7 == 3 {
				apply(t, s, ann, store.Delete(m.ID))
				continue
			}
			putEmbedded(t, s, rankers[n], ann, m)
		}
		q := &backends.SearchRequest{Query: sentence(rnd, 4), TopK: 60}
		require.Equal(t, withoutVersions(find(t, rankers[0], ann, q)), withoutVersions(find(t, rankers[1], ann, q)))
	}
}

// withoutVersions clears what stores count in their own way.
func withoutVersions(hits []backends.Hit) []backends.Hit {
	for i := range hits {
		hits[i].Version = 0
	}
	return hits
}

func TestReembedOnSQLite(t *testing.T) {
	db, err := sqlitestore.Open(t.Context(), ":memory:", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	old := changeModel(t, db, "old", 8)
	putEmbedded(t, db, old, ann, backends.Memory{ID: "1", Text: "tea"}, backends.Memory{ID: "2", Text: "green tea"})
	r := changeModel(t, db, "new", 12)
	_, err = r.Search(t.Context(), ann, &backends.SearchRequest{Query: "tea"})
	require.ErrorIs(t, err, backends.ErrDimension)
	n, err := r.Reembed(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 2)

	apply(t, db, ann, store.Delete("1"), store.Delete("2"))
	third := changeModel(t, db, "third", 4)
	_, err = third.Reembed(t.Context(), ann)
	require.NoError(t, err)
	putEmbedded(t, db, third, ann, backends.Memory{ID: "3", Text: "tea"})
	require.Len(t, find(t, third, ann, &backends.SearchRequest{Query: "tea"}), 1)
}
