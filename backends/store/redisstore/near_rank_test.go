// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// counting counts the searches of the index.
type counting struct {
	*redisstore.Store
	near *int
}

func (c counting) Nearest(ctx context.Context, p backends.Partition, q *store.NearestQuery) (*store.Neighbours, error) {
	*c.near++
	return c.Store.Nearest(ctx, p, q)
}

// A ranker that leaves the vectors in Redis answers what one says that has loaded them,
// to the last tie, while the partition changes.
func TestSearchesOnTheIndexRankTheSame(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	for _, float32s := range []bool{false, true} {
		t.Run(fmt.Sprint("float32 ", float32s), func(t *testing.T) {
			cfg := nearConfig()
			cfg.Clock, cfg.Prefix, cfg.Near.Float32, cfg.Near.Ahead = atNoon, fmt.Sprint("rank", float32s), float32s, 10_000
			asked := 0
			s := counting{newStore(t, srv.Client(t), cfg), &asked}
			ranker := func(large int) *recall.Ranker {
				r, err := recall.New(t.Context(), &recall.Config{Records: s, Clock: atNoon, Embedder: dice{}, EmbeddingModel: "dice", Large: large})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, r.Close()) })
				return r
			}
			loaded, remote := ranker(-1), ranker(1)
			crowd(t, s, loaded, 1000)
			for range 4 {
				corpus(t, s, loaded, 15)
				require.Equal(t, queries(t, loaded), queries(t, remote))
			}
			require.Positive(t, asked)
			t.Logf("%d searches of the index", asked)
		})
	}
}

// crowd writes many memories, so that a search cannot look at all of them.
func crowd(t *testing.T, s store.Records, r *recall.Ranker, n int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 7))
	b, texts := &store.Batch{}, make([]string, n)
	for i := range texts {
		texts[i] = phrase(rnd, 1+rnd.IntN(8))
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: backends.Memory{ID: fmt.Sprint("crowd-", i), Kind: backends.KindFact, Text: texts[i], Observed: noon}}))
	}
	vectors, space, err := r.Embed(t.Context(), texts)
	require.NoError(t, err)
	b.Embedding = space
	for i := range texts {
		b.Mutations[i].Record.Vector = vectors[i]
	}
	_, err = s.Apply(t.Context(), ann, b)
	require.NoError(t, err)
}
