// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// 32 goroutines search, two write, partitions come and go: every answer holds at
// least what was stored before it was asked for, and nothing twice.
func TestSearchWhileWriting(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, func(c *recall.Config) {
		c.Embedder, c.EmbeddingModel, c.MaxBytes = dice{16}, "dice", 60_000
	})
	const writes = 60
	partitions := []backends.Partition{ann, user("bob"), user("eve")}
	var stored [3]sync.Map // how many memories are in the partition for sure
	var all sync.WaitGroup
	for n, p := range partitions {
		all.Go(func() {
			for i := range writes {
				vectors, space, err := r.Embed(context.Background(), []string{fmt.Sprint("tea ", i)})
				if err != nil {
					t.Error(err)
					return
				}
				record := &store.Record{Memory: backends.Memory{ID: fmt.Sprint(i), Text: fmt.Sprint("tea ", i)}, Vector: vectors[0]}
				ms := []store.Mutation{store.Put(record), fact("changing", fmt.Sprint("coffee ", i))}
				if _, err := f.Apply(context.Background(), p, &store.Batch{Mutations: ms, Embedding: space}); err != nil {
					t.Error(err)
					return
				}
				stored[n].Store(i, true)
			}
		})
	}
	for g := range 32 {
		all.Go(func() {
			n := g % 3
			for range 20 {
				least := 0
				stored[n].Range(func(any, any) bool { least++; return true })
				resp, err := r.Search(context.Background(), partitions[n], &backends.SearchRequest{Query: "tea", TopK: 1000})
				if err != nil {
					t.Error(err)
					return
				}
				checkAnswer(t, resp.Hits, least)
			}
		})
	}
	all.Wait()
	for _, p := range partitions {
		require.Len(t, find(t, r, p, &backends.SearchRequest{Query: "tea", TopK: 1000}), writes)
	}
}

func checkAnswer(t *testing.T, hits []backends.Hit, least int) {
	seen := map[string]bool{}
	for _, h := range hits {
		if seen[h.ID] {
			t.Errorf("%s stands twice", h.ID)
		}
		seen[h.ID] = true
	}
	delete(seen, "changing")
	if len(seen) < least {
		t.Errorf("%d memories found, %d were stored before", len(seen), least)
	}
}

// A ranker is used by one goroutine while another closes it.
func TestCloseWhileSearching(t *testing.T) {
	f := newFakeRecords()
	apply(t, f, ann, fact("1", "tea"))
	r, err := recall.New(t.Context(), &recall.Config{Records: f})
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if _, err := r.Search(context.Background(), ann, &backends.SearchRequest{Query: "tea"}); err != nil {
					return // it was closed meanwhile
				}
			}
		})
	}
	require.NoError(t, r.Close())
	all.Wait()
}
