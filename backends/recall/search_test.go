// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testkit"
)

var ann = backends.Partition{Namespace: "test", Kind: backends.PartitionUser, ID: "ann"}

func newRanker(t testing.TB, f store.Records, change func(*recall.Config)) *recall.Ranker {
	t.Helper()
	cfg := &recall.Config{Records: f}
	if change != nil {
		change(cfg)
	}
	r, err := recall.New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// apply stores mutations and fails the test if it cannot.
func apply(t testing.TB, f store.Records, p backends.Partition, ms ...store.Mutation) {
	t.Helper()
	_, err := f.Apply(context.Background(), p, &store.Batch{Mutations: ms})
	require.NoError(t, err)
}

// fact returns a mutation that puts a fact.
func fact(id, text string) store.Mutation {
	return store.Put(&store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: text}})
}

func ids(hits []backends.Hit) []string {
	out := make([]string, len(hits))
	for i := range hits {
		out[i] = hits[i].ID
	}
	return out
}

func find(t testing.TB, r *recall.Ranker, p backends.Partition, q *backends.SearchRequest) []backends.Hit {
	t.Helper()
	resp, err := r.Search(context.Background(), p, q)
	require.NoError(t, err)
	require.NoError(t, resp.Degraded)
	return resp.Hits
}

func TestSearchFindsByWords(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("1", "Ann loves climbing"), fact("2", "Ann has two cats"), fact("3", "张伟喜欢喝绿茶"))
	require.Equal(t, []string{"1"}, ids(find(t, r, ann, &backends.SearchRequest{Query: "who climbs?"})))
	require.Equal(t, []string{"3"}, ids(find(t, r, ann, &backends.SearchRequest{Query: "绿茶"})))
	require.Empty(t, find(t, r, ann, &backends.SearchRequest{Query: "  "}))
}

func TestSearchFindsByVectors(t *testing.T) {
	f := newFakeRecords()
	for _, e := range []recall.Encoding{recall.Float32, recall.Int8} {
		r := newRanker(t, f, func(c *recall.Config) {
			c.Embedder, c.EmbeddingModel, c.Encoding = &testkit.Embedder{Dim: 64}, "hash", e
		})
		vs, space, err := r.Embed(t.Context(), []string{"green tea", "black coffee"})
		require.NoError(t, err)
		batch := &store.Batch{Embedding: space}
		for i, text := range []string{"绿茶", "咖啡"} {
			batch.Mutations = append(batch.Mutations, store.Put(&store.Record{
				Memory: backends.Memory{ID: text, Text: text}, Vector: vs[i]}))
		}
		_, err = f.Apply(t.Context(), ann, batch)
		require.NoError(t, err)
		hits := find(t, r, ann, &backends.SearchRequest{Query: "coffee"})
		require.Equal(t, "咖啡", hits[0].ID)
		require.InDelta(t, 0.7, hits[0].Parts.Vector, 0.02)
	}
}
