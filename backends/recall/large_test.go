// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// large returns a ranker that leaves the vectors of partitions of so many memories
// in the store.
func large(t testing.TB, f store.Records, from int, change func(*recall.Config)) *recall.Ranker {
	return newRanker(t, f, func(c *recall.Config) {
		c.Embedder, c.EmbeddingModel, c.Large = directions{dim: 8}, "directions", from
		if change != nil {
			change(c)
		}
	})
}

// text is that of the memory with the given number.
func text(i int) string { return fmt.Sprintf("tea number %d%s", i, strings.Repeat(" cup", i%23)) }

// stock stores n memories with vectors, from the one numbered first on.
func stock(t testing.TB, f store.Records, r *recall.Ranker, p backends.Partition, first, n int) {
	t.Helper()
	var ms []backends.Memory
	for i := first; i < first+n; i++ {
		ms = append(ms, backends.Memory{ID: fmt.Sprint(i), Kind: backends.KindFact, Text: text(i)})
	}
	putEmbedded(t, f, r, p, ms...)
}

var tea = &backends.SearchRequest{Query: "tea", TopK: 3}

func TestWhichPartitionsAreLarge(t *testing.T) {
	for _, c := range []struct {
		name     string
		large    int
		memories int
		change   func(*recall.Config)
		want     int
	}{
		{"smaller", 11, 10, nil, 0},
		{"as large", 10, 10, nil, 1},
		{"larger", 3, 10, nil, 1},
		{"never", -1, 10, nil, 0},
		{"by default", 0, 10, nil, 0},
		{"no vectors wanted", 1, 10, func(c *recall.Config) { c.Embedder = nil }, 0},
		{"nothing there", 1, 0, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newNearRecords()
			if c.memories > 0 {
				stock(t, f, large(t, f, -1, nil), ann, 0, c.memories)
			}
			r := large(t, f, c.large, c.change)
			require.Len(t, find(t, r, ann, tea), min(3, c.memories))
			require.Equal(t, c.want, r.Stats().Large)
			require.Equal(t, c.want > 0, f.outline > 0)
			if c.large < 0 || c.change != nil {
				require.Empty(t, f.asked, "the ability is not used at all")
			}
		})
	}
	f := newFakeRecords()
	r := large(t, f, 1, nil)
	stock(t, f, r, ann, 0, 10)
	require.Len(t, find(t, r, ann, tea), 3)
	require.Zero(t, r.Stats().Large, "a store without the ability")
}

// What a partition takes in memory does not depend on its vectors.
func TestLargePartitionsTakeNoRoomForVectors(t *testing.T) {
	f := newNearRecords()
	wide := func(c *recall.Config) { c.Embedder = directions{dim: 512} }
	loaded, remote := large(t, f, -1, wide), large(t, f, 1, wide)
	stock(t, f, loaded, ann, 0, 50)
	for _, r := range []*recall.Ranker{loaded, remote} {
		require.Len(t, find(t, r, ann, tea), 3)
	}
	require.InDelta(t, 50*512*4, loaded.Stats().Bytes-remote.Stats().Bytes, 10_000)
	require.Equal(t, int64(0), loaded.Stats().Vectors)
	require.Equal(t, recall.Stats{Partitions: 1, Memories: 50, Bytes: remote.Stats().Bytes, Loads: 1, Large: 1, Direct: 1, Vectors: 50}, remote.Stats())
}

// settle searches until the partition has the form that is waited for.
func settle(t *testing.T, r *recall.Ranker, remote int) {
	t.Helper()
	for r.Stats().Large != remote {
		find(t, r, ann, tea)
	}
}

// A partition that outgrows the threshold gives its vectors up without being read
// again, once the store has shown that it finds neighbours. One that shrinks far
// below it gets them back.
func TestGrowingAndShrinking(t *testing.T) {
	f := newNearRecords()
	r := large(t, f, 20, func(c *recall.Config) { c.Embedder = directions{dim: 256} })
	stock(t, f, r, ann, 0, 19)
	find(t, r, ann, tea)
	require.Zero(t, r.Stats().Large)
	bytes := r.Stats().Bytes

	stock(t, f, r, ann, 19, 1)
	settle(t, r, 1)
	require.Equal(t, int64(1), r.Stats().Loads, "it was not read again")
	require.Less(t, r.Stats().Bytes, bytes)
	require.Equal(t, 1, f.queries[0].Limit, "the probe")
	stock(t, f, r, ann, 20, 5)
	hits := find(t, r, ann, &backends.SearchRequest{Query: text(22), TopK: 3})
	require.Equal(t, "22", hits[0].ID)
	require.InDelta(t, 1, hits[0].Parts.Vector, 1e-6, "what is new is found by its vector, too")

	remove := func(from, to int) {
		for i := from; i < to; i++ {
			apply(t, f, ann, store.Delete(fmt.Sprint(i)))
		}
	}
	remove(0, 15)
	for range 3 {
		find(t, r, ann, tea)
	}
	require.Equal(t, 1, r.Stats().Large, "ten are left: it stays as it is")
	remove(15, 16)
	settle(t, r, 0)
	require.Equal(t, int64(2), r.Stats().Loads)
	queries := len(f.queries)
	require.Equal(t, "22", find(t, r, ann, &backends.SearchRequest{Query: text(22)})[0].ID)
	require.Len(t, f.queries, queries)
}

// A partition stays loaded while the probe is under way, and when it fails.
func TestProbe(t *testing.T) {
	f := newNearRecords()
	var hours atomic.Int64
	clock := func() time.Time { return f.now.Add(time.Duration(hours.Load()) * time.Hour) }
	r := large(t, f, 20, func(c *recall.Config) { c.Clock = clock })
	stock(t, f, r, ann, 0, 10)
	find(t, r, ann, tea)
	entered, answer := make(chan struct{}), make(chan error)
	f.hold = func(ctx context.Context, call string) error {
		if call != "Nearest" {
			return nil
		}
		entered <- struct{}{}
		select {
		case err := <-answer:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	stock(t, f, r, ann, 10, 15)
	find(t, r, ann, tea) // sees that it is large
	find(t, r, ann, tea)
	<-entered
	require.Len(t, find(t, r, ann, tea), 3, "searches go on")
	require.Zero(t, r.Stats().Large)
	answer <- errors.New("no")
	for range 10 {
		find(t, r, ann, tea)
	}
	require.Zero(t, r.Stats().Large+int(r.Stats().Near))

	for again := false; !again; {
		hours.Add(1)
		find(t, r, ann, tea)
		select {
		case <-entered:
			again = true
		default:
		}
	}
	require.NoError(t, r.Close(), "ends a probe")
}

// Whatever reads a partition reads a large one, too.
func TestLargePartitionsAnswerTheRest(t *testing.T) {
	f := newNearRecords()
	r := large(t, f, 1, func(c *recall.Config) { c.Keys = func(m *backends.Memory) []string { return []string{m.Text} } })
	stock(t, f, r, ann, 0, 12)
	all, err := r.All(t.Context(), ann)
	require.NoError(t, err)
	require.Len(t, all, 12)
	require.Equal(t, 1, r.Stats().Large)
	got, err := r.Get(t.Context(), ann, "3", "nobody")
	require.NoError(t, err)
	require.Equal(t, "3", got[0].ID)
	got, err = r.Lookup(t.Context(), ann, all[4].Text)
	require.NoError(t, err)
	require.Equal(t, all[4], got[0])
	require.Empty(t, f.read)

	apply(t, f, ann, put(backends.Memory{ID: "plain", Text: "tea without a vector"}))
	hits := find(t, r, ann, &backends.SearchRequest{Query: "tea", TopK: 20})
	require.Len(t, hits, 13)
	for _, h := range hits {
		if h.ID == "plain" {
			require.Zero(t, h.Parts.Vector)
			require.Equal(t, h.Parts.Lexical, h.Score)
		}
	}
	_, err = f.Drop(t.Context(), ann)
	require.NoError(t, err)
	require.Empty(t, find(t, r, ann, tea))
	stock(t, f, r, ann, 30, 5)
	require.Len(t, find(t, r, ann, tea), 3)
}

// Vectors of another model are never compared.
func TestLargePartitionOfAnotherModel(t *testing.T) {
	for _, c := range []struct {
		name, model string
		dim         int
	}{{"model", "new", 8}, {"dimension", "directions", 16}, {"both", "new", 16}} {
		t.Run(c.name, func(t *testing.T) {
			f := newNearRecords()
			old := large(t, f, 1, nil)
			stock(t, f, old, ann, 0, 12)
			find(t, old, ann, tea)
			r := large(t, f, 1, func(x *recall.Config) { x.Embedder, x.EmbeddingModel = directions{dim: c.dim}, c.model })
			_, err := r.Search(t.Context(), ann, tea)
			require.ErrorIs(t, err, backends.ErrDimension)
			require.ErrorContains(t, err, "Reembed")
			n, err := r.Reembed(t.Context(), ann)
			require.NoError(t, err)
			require.Equal(t, 12, n)
			hits := find(t, r, ann, &backends.SearchRequest{Query: text(7)})
			require.Equal(t, "7", hits[0].ID)
			require.InDelta(t, 1, hits[0].Parts.Vector, 1e-6)
			_, err = old.Search(t.Context(), ann, tea)
			require.ErrorIs(t, err, backends.ErrDimension, "the former model sees it at once")
		})
	}
}

// A vector that cannot be read is an error with a way out, one of a former model is
// no vector.
func TestLargePartitionWithSpoiltVectors(t *testing.T) {
	f := newNearRecords()
	r := large(t, f, 1, nil)
	stock(t, f, r, ann, 0, 5)
	old := large(t, f, 1, func(c *recall.Config) { c.EmbeddingModel = "old" })
	stale, _, err := old.Embed(t.Context(), []string{"tea"})
	require.NoError(t, err)
	with := func(vector []byte) {
		_, err := f.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{
			store.Put(&store.Record{Memory: backends.Memory{ID: "1", Text: "tea"}, Vector: vector})}})
		require.NoError(t, err)
	}
	with(stale[0])
	for _, h := range find(t, r, ann, &backends.SearchRequest{Query: "tea", TopK: 5}) {
		require.Equal(t, h.ID == "1", h.Score == h.Parts.Lexical, h.ID)
	}
	fresh, _, err := r.Embed(t.Context(), []string{"tea"})
	require.NoError(t, err)
	with(fresh[0][:9])
	_, err = r.Search(t.Context(), ann, tea)
	require.ErrorIs(t, err, backends.ErrDimension)
	require.ErrorContains(t, err, "Reembed")
	_, err = r.Reembed(t.Context(), ann)
	require.NoError(t, err)
	require.Len(t, find(t, r, ann, tea), 3)
}

// A count that fails is a store that fails.
func TestCountFails(t *testing.T) {
	f := newNearRecords()
	r := large(t, f, 1, nil)
	stock(t, f, r, ann, 0, 5)
	f.hold = func(context.Context, string) error { return backends.ErrUnavailable }
	_, err := r.Search(t.Context(), ann, tea)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	f.hold = nil
	require.Len(t, find(t, r, ann, tea), 3)
}
