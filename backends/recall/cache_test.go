// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
)

func user(id string) backends.Partition {
	return backends.Partition{Namespace: "test", Kind: backends.PartitionUser, ID: id}
}

func TestLeastRecentlyUsedLeaves(t *testing.T) {
	f := newFakeRecords()
	long := strings.Repeat("tea ", 2000)
	for _, id := range []string{"a", "b", "c"} {
		apply(t, f, user(id), fact("1", long))
	}
	r := newRanker(t, f, func(c *recall.Config) { c.MaxBytes = 25_000 }) // room for two
	visit := func(id string) {
		require.Len(t, find(t, r, user(id), &backends.SearchRequest{Query: "tea"}), 1)
	}
	visit("a")
	visit("b")
	require.Equal(t, int64(0), r.Stats().Evictions)
	visit("a")
	visit("c") // b leaves
	s := r.Stats()
	require.Equal(t, recall.Stats{Partitions: 2, Memories: 2, Bytes: s.Bytes, Loads: 3, Hits: 1, Evictions: 1}, s)
	require.LessOrEqual(t, s.Bytes, int64(25_000))
	visit("a")
	require.Equal(t, int64(3), r.Stats().Loads)
	visit("b")
	require.Equal(t, int64(4), r.Stats().Loads)
}

func TestPartitionBiggerThanTheBudget(t *testing.T) {
	f := newFakeRecords()
	apply(t, f, ann, fact("1", strings.Repeat("tea ", 1000)), fact("2", "tea"))
	apply(t, f, user("bob"), fact("1", "tea"))
	r := newRanker(t, f, func(c *recall.Config) { c.MaxBytes = 1 })
	for range 3 {
		require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 2)
	}
	require.Equal(t, int64(1), r.Stats().Loads, "alone it stays")
	require.Len(t, find(t, r, user("bob"), &backends.SearchRequest{Query: "tea"}), 1)
	require.Equal(t, 1, r.Stats().Partitions)
	apply(t, f, ann, fact("3", "tea"))
	require.Len(t, find(t, r, ann, &backends.SearchRequest{Query: "tea"}), 3)
}

// A partition that shrinks gives its bytes back, and unknown ones cost something.
func TestBytesFollowTheContents(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, nil)
	apply(t, f, ann, fact("1", "tea"))
	find(t, r, ann, &backends.SearchRequest{Query: "tea"})
	small := r.Stats().Bytes
	apply(t, f, ann, fact("1", strings.Repeat("coffee ", 1000)))
	find(t, r, ann, &backends.SearchRequest{Query: "tea"})
	require.Greater(t, r.Stats().Bytes, small+6900)
	for i := range 50 {
		find(t, r, user(fmt.Sprint("stranger", i)), &backends.SearchRequest{Query: "tea"})
	}
	require.Greater(t, r.Stats().Bytes, int64(50*1024))
	require.Equal(t, 51, r.Stats().Partitions)
}
