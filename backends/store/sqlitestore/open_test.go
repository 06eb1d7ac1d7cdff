// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

func TestWhatIsStoredIsThereAfterReopening(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "it's a 100% odd? #name.db")
	s, err := sqlitestore.Open(ctx, path, nil)
	require.NoError(t, err)
	require.Equal(t, path, s.Path())

	_, err = s.Append(ctx, ann, "", &store.Append{Entries: []store.Entry{
		{Message: backends.Message{ID: "m1", Message: schema.UserMessage("hi")}, Done: true, Tokens: 2}}})
	require.NoError(t, err)
	lease, err := s.Update(ctx, ann, &store.SessionUpdate{Acquire: &store.Acquire{Owner: "w", For: time.Minute}})
	require.NoError(t, err)
	one := int64(1)
	applied, err := s.Apply(ctx, ann, &store.Batch{
		Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{ID: "a", Text: "says hi"}, Vector: []byte{1, 2}})},
		Key:       "k", Embedding: &store.Embedding{Model: "m", Dim: 2},
		Session: &store.SessionUpdate{Token: lease.Lease.Token, Watermark: &one, Release: true},
	})
	require.NoError(t, err)
	require.False(t, applied.Session.Pending())
	require.NoError(t, s.PutBlob(ctx, ann, "", "b", []byte{}))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Get(ctx, ann, "a")
	require.ErrorIs(t, err, backends.ErrUnavailable)

	s, err = sqlitestore.Open(ctx, path, nil)
	require.NoError(t, err)
	defer s.Close()
	got, err := s.Get(ctx, ann, "b", "a")
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "says hi", got[0].Text)
	require.Equal(t, []byte{1, 2}, got[0].Vector)
	entries, err := s.Read(ctx, ann, "", store.Range{})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "hi", entries[0].Content)
	data, err := s.GetBlob(ctx, ann, "", "b")
	require.NoError(t, err)
	require.Equal(t, []byte{}, data)
	page, err := s.List(ctx, store.SessionQuery{Pending: true})
	require.NoError(t, err)
	require.Empty(t, page.Sessions)
	parts, err := s.Partitions(ctx, ann.Namespace, store.Page{})
	require.NoError(t, err)
	require.Equal(t, []backends.Partition{ann}, parts.Partitions)
	count, err := s.Drop(ctx, ann)
	require.NoError(t, err)
	require.Equal(t, store.DropCount{Records: 1, Sessions: 1, Messages: 1, Blobs: 1}, count)
}
