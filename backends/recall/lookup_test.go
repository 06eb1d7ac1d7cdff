// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// byKindAndState gives each memory two keys, or the first of them twice: the kind
// with the state, which changes while the text stays, and the first letter.
func byKindAndState(m *backends.Memory) []string {
	state := fmt.Sprint(m.Kind, " ", m.Active())
	if m.Text == "" {
		return []string{state, state}
	}
	return []string{state, m.Text[:1]}
}

func withKeys(c *recall.Config) { c.Keys = byKindAndState }

func idsOf(ms []*backends.Memory) []string {
	out := []string{}
	for _, m := range ms {
		out = append(out, m.ID)
	}
	return out
}

func lookup(t testing.TB, r *recall.Ranker, p backends.Partition, keys ...string) []string {
	t.Helper()
	found, err := r.Lookup(context.Background(), p, keys...)
	require.NoError(t, err)
	return idsOf(found)
}

// What a lookup finds is what reading everything finds, after any changes, and an
// index that followed them takes as many bytes as one that is loaded anew.
func TestLookupEqualsReadingEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		f := newFakeRecords()
		f.pageSize = rapid.IntRange(1, 5).Draw(t, "page")
		cfg := &recall.Config{Records: f, Keys: byKindAndState}
		grown, err := recall.New(ctx, cfg)
		require.NoError(t, err)
		defer grown.Close()
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if rapid.IntRange(0, 9).Draw(t, "drop") == 0 {
				_, err := f.Drop(ctx, ann)
				require.NoError(t, err)
			}
			step(t, f, ann, nil)
			keys := rapid.SliceOfN(rapid.SampledFrom([]string{"fact true", "fact false", "episode true", "episode false", "t", "t", "n", "茶", "?"}), 0, 4).Draw(t, "keys")
			wanted := rapid.SliceOfN(rapid.StringMatching("[0-9]|1[0-3]"), 0, 4).Draw(t, "ids")
			all, err := grown.All(ctx, ann)
			require.NoError(t, err)
			byKey, byID := []*backends.Memory{}, []*backends.Memory{}
			for _, m := range all {
				if slices.ContainsFunc(byKindAndState(m), func(k string) bool { return slices.Contains(keys, k) }) {
					byKey = append(byKey, m)
				}
				if slices.Contains(wanted, m.ID) {
					byID = append(byID, m)
				}
			}
			found, err := grown.Lookup(ctx, ann, keys...)
			require.NoError(t, err)
			require.Equal(t, idsOf(byKey), idsOf(found))
			found, err = grown.Get(ctx, ann, wanted...)
			require.NoError(t, err)
			require.Equal(t, idsOf(byID), idsOf(found))
			rebuilt, err := recall.New(ctx, cfg)
			require.NoError(t, err)
			again, err := rebuilt.Lookup(ctx, ann, keys...)
			require.NoError(t, err)
			require.Equal(t, idsOf(byKey), idsOf(again))
			require.Equal(t, rebuilt.KeyBytes(ann), grown.KeyBytes(ann))
			require.NoError(t, rebuilt.Close())
		}
	})
}

func TestLookupIsCurrentAndFollowsKeysThatChange(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, withKeys)
	require.Empty(t, lookup(t, r, ann, "t", "fact true"))
	apply(t, f, ann, fact("1", "tea"), fact("2", "toast"))
	require.Equal(t, []string{"1", "2"}, lookup(t, r, ann, "t", "fact true", "t"), "each once")
	apply(t, f, ann, store.Supersede("1", fact("3", "coffee").Record), store.Delete("2"))
	require.Equal(t, []string{"1"}, lookup(t, r, ann, "t"), "superseded ones too, deleted ones not")
	require.Equal(t, []string{"1"}, lookup(t, r, ann, "fact false"))
	require.Equal(t, []string{"3"}, lookup(t, r, ann, "fact true"))
	require.Empty(t, lookup(t, r, ann))
}

func TestLookupIsInTheOrderStored(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, withKeys)
	for i, id := range []string{"c", "a", "b"} {
		m := fact(id, "tea")
		m.Record.Created = f.now.Add(time.Duration(i/2) * time.Hour)
		apply(t, f, ann, m)
	}
	require.Equal(t, []string{"a", "c", "b"}, lookup(t, r, ann, "t"))
	got, err := r.Get(t.Context(), ann, "b", "nobody", "a", "b", "c")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c", "b"}, idsOf(got))
}

func TestLookupStaysInItsPartition(t *testing.T) {
	f := newFakeRecords()
	r := newRanker(t, f, withKeys)
	apply(t, f, ann, fact("1", "tea"))
	apply(t, f, user("bob"), fact("2", "tea"))
	require.Equal(t, []string{"2"}, lookup(t, r, user("bob"), "t"))
	got, err := r.Get(t.Context(), user("bob"), "1", "2")
	require.NoError(t, err)
	require.Equal(t, []string{"2"}, idsOf(got))
	_, err = r.Lookup(t.Context(), backends.Partition{}, "t")
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = r.Get(t.Context(), backends.Partition{}, "1")
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestLookupNeedsKeys(t *testing.T) {
	r := newRanker(t, newFakeRecords(), nil)
	_, err := r.Lookup(t.Context(), ann, "t")
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestKeysCountInBytes(t *testing.T) {
	f := newFakeRecords()
	apply(t, f, ann, fact("1", "tea"))
	long := func(c *recall.Config) {
		c.Keys = func(*backends.Memory) []string { return []string{string(make([]byte, 5000))} }
	}
	bytes := func(r *recall.Ranker) int64 {
		_, err := r.All(t.Context(), ann)
		require.NoError(t, err)
		return r.Stats().Bytes
	}
	require.Greater(t, bytes(newRanker(t, f, long)), bytes(newRanker(t, f, nil))+5000)
}
