// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// A file that an older version of this package wrote opens, holds what it held, and
// takes what is new.
func TestAFileOfAnOlderVersionOpens(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "mem.db")
	script, err := os.ReadFile("testdata/version1.sql")
	require.NoError(t, err)
	db := raw(t, path)
	_, err = db.Exec(string(script))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	p := backends.Partition{Namespace: "app", Kind: backends.PartitionUser, ID: "ann"}
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	want := store.Session{
		Partition: p, ID: "chat", Scope: backends.Scope{UserID: "ann", SessionID: "chat"}, Version: 4, LastSeq: 2, Tokens: 6, Watermark: 2,
		Summary: "Ann moved to Bergen.", SummaryUpto: 2, Lease: store.Lease{Token: at.UnixMicro()}, Created: at, Updated: at,
	}

	for range 2 { // the second time it is one of this version
		s := open(t, path, &sqlitestore.Config{Clock: func() time.Time { return at }})
		st, err := s.Session(ctx, p, "chat")
		require.NoError(t, err)
		require.Equal(t, want, *st)
		entries, err := s.Read(ctx, p, "chat", store.Range{})
		require.NoError(t, err)
		require.Len(t, entries, 2)
		require.Equal(t, "Noted.", entries[1].Content)
		set, err := s.Changes(ctx, p, "")
		require.NoError(t, err)
		require.Equal(t, int64(2), set.Version)
		require.Equal(t, "lives in Bergen", set.Records[0].Text)
		require.Equal(t, &store.Embedding{Model: "m", Dim: 2}, set.Embedding)
		blobs, err := s.ListBlobs(ctx, p, "chat", "", store.Page{})
		require.NoError(t, err)
		require.Equal(t, &store.BlobPage{Blobs: []store.BlobInfo{{Name: "other", Size: 2}, {Name: "turn/t1", Size: 5}, {Name: "turn/t2"}}}, blobs)

		want.Title, want.Version = "Moving to Bergen", want.Version+1
		st, err = s.Update(ctx, p, &store.SessionUpdate{Session: "chat", Title: &want.Title})
		require.NoError(t, err)
		require.Equal(t, want, *st)
		require.NoError(t, s.Close())
	}
}
