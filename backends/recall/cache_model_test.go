// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// The cache holds what a list of the partitions, used last first, would hold.
func TestCacheEqualsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		f := newFakeRecords()
		sizes := map[string]int64{}
		for i := range 5 { // how big each one is, by itself
			id := fmt.Sprint(i)
			text := strings.Repeat("tea ", rapid.IntRange(1, 2000).Draw(t, "words"))
			_, err := f.Apply(ctx, user(id), &store.Batch{Mutations: []store.Mutation{fact("1", text)}})
			require.NoError(t, err)
			alone, err := recall.New(ctx, &recall.Config{Records: f})
			require.NoError(t, err)
			_, err = alone.All(ctx, user(id))
			require.NoError(t, err)
			sizes[id] = alone.Stats().Bytes
			require.NoError(t, alone.Close())
		}
		budget := int64(rapid.IntRange(1, 30_000).Draw(t, "budget"))
		r, err := recall.New(ctx, &recall.Config{Records: f, MaxBytes: budget})
		require.NoError(t, err)
		defer r.Close()
		var held []string // used last comes first
		var loads int64
		for range 30 {
			id := fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "partition"))
			_, err := r.Search(ctx, user(id), &backends.SearchRequest{Query: "tea"})
			require.NoError(t, err)
			held, loads = useList(held, id, sizes, budget, loads)
			s := r.Stats()
			require.Equal(t, len(held), s.Partitions)
			require.Equal(t, loads, s.Loads)
			require.Equal(t, len(held), s.Memories)
		}
	})
}

// useList is the model: what is held after id was used, and how often something
// was loaded. A partition that is not held takes a little room before its size is
// known, and then what it needs.
func useList(held []string, id string, sizes map[string]int64, budget, loads int64) ([]string, int64) {
	at := -1
	for i, h := range held {
		if h == id {
			at = i
		}
	}
	next := []string{id}
	for i, h := range held {
		if i != at {
			next = append(next, h)
		}
	}
	size := func(mine int64) int64 {
		total := mine
		for _, h := range next[1:] {
			total += sizes[h]
		}
		return total
	}
	if at < 0 {
		loads++
		for len(next) > 1 && size(recall.PerPartition) > budget {
			next = next[:len(next)-1]
		}
		for len(next) > 1 && size(sizes[id]) > budget {
			next = next[:len(next)-1]
		}
	}
	return next, loads
}
