// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// value reads what a query of one value selects in the file.
func value(t testing.TB, path, query string) string {
	t.Helper()
	var out string
	require.NoError(t, raw(t, path, "").QueryRow(query).Scan(&out))
	return out
}

func TestTheFileCanBeReadWithTheShell(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	apply(t, open(t, path, nil), put("a", "lives <in> Oslo"))
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for query, want := range map[string]string{
		`SELECT memory ->> 'text' FROM records JOIN partitions ON part = partitions.pk
			WHERE kind = 'user' AND partitions.id = 'ann' AND memory ->> 'superseded_by' IS NULL`: "lives <in> Oslo",
		"PRAGMA journal_mode": "wal", "PRAGMA user_version": "1", "PRAGMA application_id": fmt.Sprint(0x65696e6f),
	} {
		require.Equal(t, want, value(t, path, query))
	}
	tables := value(t, path, "SELECT group_concat(name) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
	require.Len(t, strings.Split(tables, ","), 8)
	for name := range strings.SplitSeq(tables, ",") {
		require.Contains(t, string(doc), "//\t"+name+" ", "the table %s is in the package comment", name)
	}
}

func TestAnEmptyFileBecomesADatabaseAndStaysOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	for i := range 3 {
		s, err := sqlitestore.Open(t.Context(), path, nil)
		require.NoError(t, err)
		apply(t, s, put(fmt.Sprint(i), "x"))
		require.NoError(t, s.Close())
	}
	set, err := open(t, path, nil).Changes(t.Context(), ann, "")
	require.NoError(t, err)
	require.Len(t, set.Records, 3)
}

// A file that an older version of this package wrote opens, holds what it held, and
// takes what is new.
func TestAFileOfAnOlderVersionOpens(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "mem.db")
	script, err := os.ReadFile("testdata/version1.sql")
	require.NoError(t, err)
	require.NoError(t, raw(t, path, string(script)).Close())
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

// Every statement that runs on the reply path must find its rows by an index.
func TestNoStatementScansATable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	open(t, path, nil)
	db := raw(t, path, "")
	blobs := strings.ReplaceAll(sqlitestore.BlobsQuery, "?", "1")
	for _, query := range []string{
		"SELECT pk FROM partitions WHERE namespace = '' AND kind = '' AND id = ''",
		"SELECT memory FROM records WHERE part = 1 AND id = ''",
		"SELECT memory FROM records WHERE part = 1 AND version > 1 AND version <= 2 ORDER BY version, pk",
		"SELECT id FROM tombstones WHERE part = 1 AND version > 1 AND version <= 2 ORDER BY version, id",
		"SELECT event FROM events WHERE part = 1 AND id = '' ORDER BY pk",
		"SELECT version FROM batches WHERE part = 1 AND key = ''",
		"DELETE FROM batches WHERE created < 1",
		"SELECT state FROM sessions WHERE part = 1 AND id = ''",
		"SELECT max(changed) FROM sessions",
		"SELECT part, id FROM sessions WHERE expires <= 1 ORDER BY expires LIMIT 4",
		"SELECT pk FROM sessions WHERE pending = 1 ORDER BY changed",
		"SELECT entry FROM messages WHERE session = 1 AND seq > 1 AND seq <= 2 ORDER BY seq LIMIT 3",
		"SELECT pk FROM blobs WHERE part = 1 AND session = '' LIMIT 64",
		"SELECT data FROM blobs WHERE part = 1 AND session = '' AND name = ''",
		blobs,
	} {
		func() {
			rows, err := db.Query("EXPLAIN QUERY PLAN " + query)
			require.NoError(t, err)
			defer rows.Close()
			for rows.Next() {
				var id, parent, unused int
				var detail string
				require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
				require.Contains(t, detail, "USING", query)
				require.NotContains(t, detail, "TEMP B-TREE", query)
				if query == blobs && strings.Contains(detail, " b ") {
					require.Contains(t, detail, "(part=? AND session=? AND name>? AND name<?)")
				}
			}
			require.NoError(t, rows.Err())
		}()
	}
}

func TestExpiredSessionsArePurgedByLaterAppends(t *testing.T) {
	ctx, path, now := t.Context(), filepath.Join(t.TempDir(), "mem.db"), backends.SystemClock()
	s := open(t, path, &sqlitestore.Config{Clock: func() time.Time { return now }, Relaxed: true})
	n := 0
	say := func(session string, ttl time.Duration) {
		n++
		a := one(fmt.Sprint(n))
		a.TTL = ttl
		_, err := s.Append(ctx, ann, session, a)
		require.NoError(t, err)
	}
	for session, blobs := range map[string]int{"a": 100, "b": 100, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1} {
		say(session, time.Minute)
		for i := range blobs {
			require.NoError(t, s.PutBlob(ctx, ann, session, fmt.Sprint(i), []byte("x")))
		}
	}
	now = now.Add(time.Hour)
	left := []string{}
	for range 8 {
		say("stays", 0)
		for _, session := range []string{"a", "b", "g"} {
			page, err := s.ListBlobs(ctx, ann, session, "", store.Page{})
			require.NoError(t, err)
			require.Empty(t, page.Blobs, "purged or not")
		}
		left = append(left, value(t, path, "SELECT (SELECT count(*) FROM blobs) || ', ' || (SELECT count(*) FROM sessions) || ', ' || (SELECT count(*) FROM messages)"))
	}
	require.Equal(t, "0, 1, 8", left[7], "%v", left)
	for i, l := range left[1:] {
		var before, after int
		_, _ = fmt.Sscan(left[i], &before)
		_, _ = fmt.Sscan(l, &after)
		require.LessOrEqual(t, before-after, 64, "%v: a write erases a few blobs", left)
	}
}

func TestOldKeysAreDeleted(t *testing.T) {
	now, path := backends.SystemClock(), filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, &sqlitestore.Config{Clock: func() time.Time { return now }})
	apply(t, s, &store.Batch{Key: "old"})
	now = now.Add(32 * 24 * time.Hour)
	apply(t, s, &store.Batch{Key: "new"})
	require.Equal(t, "new", value(t, path, "SELECT group_concat(key) FROM batches"))
}

func TestDropLeavesNoRow(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, nil)
	b := put("a", "1")
	b.Key = "k"
	apply(t, s, b)
	apply(t, s, put("b", "2"))
	apply(t, s, &store.Batch{Mutations: []store.Mutation{store.Delete("a")}})
	require.NoError(t, s.PutBlob(ctx, ann, "s", "b", []byte("x")))
	_, err := s.Append(ctx, ann, "s", one("m"))
	require.NoError(t, err)
	_, err = s.Drop(ctx, ann)
	require.NoError(t, err)
	for _, table := range []string{"partitions", "records", "tombstones", "events", "batches", "sessions", "messages", "blobs"} {
		require.Equal(t, "0", value(t, path, "SELECT count(*) FROM "+table), table)
	}
}
