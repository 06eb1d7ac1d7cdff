// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

func block(id, text string) backends.Memory {
	return backends.Memory{ID: id, Kind: backends.KindCore, Text: text, Origin: backends.Origin{Turn: "1"}}
}

func blocksOf(t testing.TB, r *recall.Ranker) []string {
	t.Helper()
	found, err := r.CoreBlocks(t.Context(), ann)
	require.NoError(t, err)
	out := []string{}
	for _, m := range found {
		out = append(out, m.ID+": "+m.Text)
	}
	return out
}

// Core blocks change nothing for others: neither what is found nor a score, although
// their words, vectors and keys are those that are looked for.
func TestCoreBlocksTakeNoPart(t *testing.T) {
	var stores [2]*fakeRecords
	var rankers [2]*recall.Ranker
	for i := range stores {
		stores[i] = newFakeRecords()
		rankers[i] = newRanker(t, stores[i], func(c *recall.Config) {
			c.Embedder, c.EmbeddingModel = dice{16}, "dice"
			c.Keys = func(m *backends.Memory) []string { return []string{m.Text} }
		})
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		s := sentence(rnd, 6)
		for i, r := range rankers {
			putEmbedded(t, stores[i], r, ann, backends.Memory{ID: fmt.Sprint(round), Text: "fact " + s[:len(s)/2]})
			if i == 0 {
				withVectorOf(t, stores[i], r, s, block(fmt.Sprint("core/", rnd.IntN(5)), s))
			}
		}
		q := &backends.SearchRequest{Query: s, TopK: 8, WithSources: true, IncludeSuperseded: true, IncludeExpired: true}
		require.Equal(t, withoutTimes(find(t, rankers[1], ann, q)), withoutTimes(find(t, rankers[0], ann, q)))
		require.Empty(t, find(t, rankers[0], ann, &backends.SearchRequest{Query: s, Kinds: []backends.Kind{backends.KindCore}}))
		found, err := rankers[0].Lookup(t.Context(), ann, s)
		require.NoError(t, err)
		require.Empty(t, found)
	}
	for i, r := range rankers {
		all, err := r.All(t.Context(), ann)
		require.NoError(t, err)
		require.Len(t, all, 12)
		require.Equal(t, i == 0, len(blocksOf(t, r)) > 0)
	}
	got, err := rankers[0].Get(t.Context(), ann, "core/0", "core/1", "core/2", "core/3", "core/4")
	require.NoError(t, err)
	require.Empty(t, got)
}

// withVectorOf stores a memory with the vector of a text that is not its own to
// embed, as somebody else may have written it.
func withVectorOf(t testing.TB, f store.Records, r *recall.Ranker, text string, m backends.Memory) {
	t.Helper()
	vectors, space, err := r.Embed(t.Context(), []string{text})
	require.NoError(t, err)
	_, err = f.Apply(t.Context(), ann, &store.Batch{Embedding: space, Mutations: []store.Mutation{store.Put(&store.Record{Memory: m, Vector: vectors[0]})}})
	require.NoError(t, err)
}

// withoutTimes clears what two stores count apart.
func withoutTimes(hits []backends.Hit) []backends.Hit {
	for i := range hits {
		hits[i].Version, hits[i].Created, hits[i].Updated = 0, time.Time{}, time.Time{}
	}
	return hits
}

func TestCoreBlocksFollowTheStore(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	tea := &backends.SearchRequest{Query: "tea"}
	apply(t, f, ann, put(block("2", "likes tea")), put(block("1", "tea")), fact("3", "tea"))
	assert.Equal(t, []string{"1: tea", "2: likes tea"}, blocksOf(t, r), "in the order of All")
	assert.Equal(t, []string{"3"}, ids(find(t, r, ann, tea)))
	before := r.Stats().Bytes

	apply(t, f, ann, put(block("1", "tea, a lot")), store.Delete("2"))
	assert.Equal(t, []string{"1: tea, a lot"}, blocksOf(t, r))
	assert.Less(t, r.Stats().Bytes, before)

	apply(t, f, ann, fact("1", "tea"), put(block("3", "tea")))
	assert.Equal(t, []string{"3: tea"}, blocksOf(t, r), "kinds may change")
	assert.Equal(t, []string{"1"}, ids(find(t, r, ann, tea)))

	_, err := f.Drop(t.Context(), ann)
	require.NoError(t, err)
	assert.Empty(t, blocksOf(t, r))
	apply(t, f, user("bob"), put(block("1", "bob's")))
	assert.Empty(t, blocksOf(t, r))
	_, err = r.CoreBlocks(t.Context(), backends.Partition{})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestReembedTakesNoCoreBlock(t *testing.T) {
	f := newFakeRecords()
	old := changeModel(t, f, "old", 8)
	putEmbedded(t, f, old, ann, backends.Memory{ID: "1", Text: "tea"}, block("core/1", "tea"))
	require.Empty(t, f.partitions[ann].records["core/1"].Vector)
	withVectorOf(t, f, old, "tea", block("core/2", "tea"))
	n, err := changeModel(t, f, "new", 16).Reembed(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Empty(t, f.partitions[ann].records["core/2"].Vector, "nor does it leave one of another model")
}
