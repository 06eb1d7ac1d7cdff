// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// A batch that creates a record and deletes it again is told in the history, and
// otherwise leaves what readers know of the id: nothing, or that it was removed.
func TestARecordOfOneBatchIsNoChange(t *testing.T) {
	ctx, s := context.Background(), open(t, sqlitestore.Memory, nil)
	apply := func(ms ...store.Mutation) int64 {
		a, err := s.Apply(ctx, ann, &store.Batch{Mutations: ms})
		require.NoError(t, err)
		return a.Version
	}
	changes := func(cursor string) *store.ChangeSet {
		set, err := s.Changes(ctx, ann, cursor)
		require.NoError(t, err)
		require.False(t, set.More)
		require.False(t, set.Reset)
		return set
	}
	put := func(id string) store.Mutation {
		return store.Put(&store.Record{Memory: backends.Memory{ID: id, Text: "x"}})
	}
	apply(put("was"), put("stays"))
	early := changes("")
	apply(store.Delete("was"))
	late := changes(early.Cursor)
	require.Equal(t, []string{"was"}, late.Removed)

	require.Equal(t, int64(3), apply(put("new"), store.Delete("new"), put("was"), store.Delete("was")))
	after := changes(late.Cursor)
	require.Equal(t, int64(3), after.Version)
	require.NotEqual(t, late.Cursor, after.Cursor)
	require.Empty(t, after.Records)
	require.Empty(t, after.Removed)
	require.Equal(t, []string{"was"}, changes(early.Cursor).Removed, "who read before the deletion hears of it still")
	for id, want := range map[string]int{"new": 2, "was": 4} {
		events, err := s.History(ctx, ann, id)
		require.NoError(t, err)
		require.Len(t, events, want)
	}

	apply(put("was"), put("new"))
	require.Len(t, changes(after.Cursor).Records, 2)
	apply(store.Delete("was"), store.Delete("new"))
	require.ElementsMatch(t, []string{"was", "new"}, changes(after.Cursor).Removed)
}

// A record that is deleted and comes back in one batch is changed, not removed,
// and has the vector that it came back with.
func TestARecordReplacedInOneBatch(t *testing.T) {
	ctx, s := context.Background(), open(t, sqlitestore.Memory, nil)
	rec := func(text string, vector ...byte) *store.Record {
		return &store.Record{Memory: backends.Memory{ID: "a", Text: text}, Vector: vector}
	}
	for _, c := range []struct {
		before, after []byte
	}{{[]byte{1}, []byte{2}}, {[]byte{1}, []byte{1}}, {[]byte{1}, nil}, {nil, []byte{1}}} {
		_, err := s.Apply(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Put(rec("1", c.before...))}})
		require.NoError(t, err)
		seen, err := s.Changes(ctx, ann, "")
		require.NoError(t, err)
		_, err = s.Apply(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Delete("a"), store.Put(rec("2", c.after...)), store.Increment("a", "n", 1)}})
		require.NoError(t, err)
		set, err := s.Changes(ctx, ann, seen.Cursor)
		require.NoError(t, err)
		require.Empty(t, set.Removed)
		require.Len(t, set.Records, 1)
		require.Equal(t, "2", set.Records[0].Text)
		require.Equal(t, c.after, set.Records[0].Vector)
		require.Equal(t, 1.0, set.Records[0].Metadata["n"])
	}
}
