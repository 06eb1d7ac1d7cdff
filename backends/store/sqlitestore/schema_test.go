// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

func TestTheFileCanBeReadWithTheShell(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, nil)
	apply(t, s, put("a", "lives <in> Oslo"))
	var text, mode string
	var version, application int
	db := raw(t, path)
	require.NoError(t, db.QueryRow(`SELECT memory ->> 'text' FROM records JOIN partitions ON part = partitions.pk
		WHERE kind = 'user' AND partitions.id = 'ann' AND memory ->> 'superseded_by' IS NULL`).Scan(&text))
	require.Equal(t, "lives <in> Oslo", text)
	require.NoError(t, db.QueryRow("PRAGMA journal_mode").Scan(&mode))
	require.Equal(t, "wal", mode)
	require.NoError(t, db.QueryRow("PRAGMA user_version").Scan(&version))
	require.Equal(t, 1, version)
	require.NoError(t, db.QueryRow("PRAGMA application_id").Scan(&application))
	require.Equal(t, 0x65696e6f, application)
}

func TestTheSchemaIsInThePackageComment(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "mem.db")
	open(t, path, nil)
	rows, err := raw(t, path).Query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
	require.NoError(t, err)
	defer rows.Close()
	tables := 0
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		require.Contains(t, string(doc), "//\t"+name+" ", "the table %s", name)
		tables++
	}
	require.NoError(t, rows.Err())
	require.Equal(t, 8, tables)
}

func TestAnEmptyFileBecomesADatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	apply(t, open(t, path, nil), put("a", "1"))
}

func TestOpeningAgainLeavesTheSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	for i := range 3 {
		s := open(t, path, nil)
		apply(t, s, put(fmt.Sprint(i), "x"))
		require.NoError(t, s.Close())
	}
	set, err := open(t, path, nil).Changes(context.Background(), ann, "")
	require.NoError(t, err)
	require.Len(t, set.Records, 3)
}

// Every statement that runs on the reply path must find its rows by an index.
func TestNoStatementScansATable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	open(t, path, nil)
	db := raw(t, path)
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
	} {
		for _, detail := range queryPlan(t, db, query) {
			require.Contains(t, detail, "USING", query)
			require.NotContains(t, detail, "TEMP B-TREE", query)
		}
	}
}

// queryPlan returns the steps in which SQLite carries out a query.
func queryPlan(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query("EXPLAIN QUERY PLAN " + query)
	require.NoError(t, err)
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		plan = append(plan, detail)
	}
	require.NoError(t, rows.Err())
	return plan
}

func TestExpiredSessionsAreSweptByLaterAppends(t *testing.T) {
	ctx, path, now := context.Background(), filepath.Join(t.TempDir(), "mem.db"), backends.SystemClock()
	s := open(t, path, &sqlitestore.Config{Clock: func() time.Time { return now }})
	said := 0
	say := func(session string, ttl time.Duration) {
		said++
		_, err := s.Append(ctx, ann, session, &store.Append{TTL: ttl, Entries: []store.Entry{
			{Message: backends.Message{ID: fmt.Sprint(said), Message: schema.UserMessage("x")}}}})
		require.NoError(t, err)
	}
	for i := range 10 {
		say(fmt.Sprint(i), time.Minute)
		require.NoError(t, s.PutBlob(ctx, ann, fmt.Sprint(i), "b", []byte("x")))
	}
	now = now.Add(time.Hour)
	for range 3 {
		say("stays", 0)
		say("stays too", 0)
	}
	db := raw(t, path)
	for table, want := range map[string]int{"sessions": 2, "messages": 6, "blobs": 0} {
		var n int
		require.NoError(t, db.QueryRow("SELECT count(*) FROM "+table).Scan(&n))
		require.Equal(t, want, n, table)
	}
}

func TestManyBlobsAreSweptAFewAtATime(t *testing.T) {
	ctx, path, now := context.Background(), filepath.Join(t.TempDir(), "mem.db"), backends.SystemClock()
	s := open(t, path, &sqlitestore.Config{Clock: func() time.Time { return now }, Synchronous: sqlitestore.Normal})
	said := 0
	say := func(session string, ttl time.Duration) {
		said++
		_, err := s.Append(ctx, ann, session, &store.Append{TTL: ttl, Entries: []store.Entry{
			{Message: backends.Message{ID: fmt.Sprint(said), Message: schema.UserMessage("x")}}}})
		require.NoError(t, err)
	}
	for _, session := range []string{"a", "b"} {
		say(session, time.Minute)
		for i := range 100 {
			require.NoError(t, s.PutBlob(ctx, ann, session, fmt.Sprint(i), []byte("x")))
		}
	}
	now = now.Add(time.Hour)
	db := raw(t, path)
	for _, want := range []string{"136, 3", "72, 2", "8, 2", "0, 1"} {
		say("stays", 0)
		var left string
		require.NoError(t, db.QueryRow("SELECT (SELECT count(*) FROM blobs) || ', ' || (SELECT count(*) FROM sessions)").Scan(&left))
		require.Equal(t, want, left)
		for _, session := range []string{"a", "b"} {
			page, err := s.ListBlobs(ctx, ann, session, "", store.Page{})
			require.NoError(t, err)
			require.Empty(t, page.Blobs)
		}
	}
}

func TestOldKeysAreForgotten(t *testing.T) {
	ctx, now := context.Background(), backends.SystemClock()
	path := filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, &sqlitestore.Config{Clock: func() time.Time { return now }})
	_, err := s.Apply(ctx, ann, &store.Batch{Key: "old"})
	require.NoError(t, err)
	now = now.Add(32 * 24 * time.Hour)
	_, err = s.Apply(ctx, ann, &store.Batch{Key: "new"})
	require.NoError(t, err)
	var keys string
	require.NoError(t, raw(t, path).QueryRow("SELECT group_concat(key) FROM batches").Scan(&keys))
	require.Equal(t, "new", keys)
}

func TestChangesArePaged(t *testing.T) {
	ctx := context.Background()
	s := open(t, sqlitestore.Memory, nil)
	for i := range sqlitestore.ChangesPage + 1 {
		apply(t, s, put(fmt.Sprint(i), "x"))
	}
	set, err := s.Changes(ctx, ann, "")
	require.NoError(t, err)
	require.True(t, set.More)
	require.Len(t, set.Records, sqlitestore.ChangesPage)
	set, err = s.Changes(ctx, ann, set.Cursor)
	require.NoError(t, err)
	require.False(t, set.More)
	require.Len(t, set.Records, 1)
}

func TestDropLeavesNoRow(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, nil)
	b := put("a", "1")
	b.Key = "k"
	apply(t, s, b)
	apply(t, s, &store.Batch{Mutations: []store.Mutation{store.Delete("a")}})
	require.NoError(t, s.PutBlob(ctx, ann, "s", "b", []byte("x")))
	_, err := s.Append(ctx, ann, "s", &store.Append{Entries: []store.Entry{{Message: backends.Message{ID: "m", Message: schema.UserMessage("x")}}}})
	require.NoError(t, err)
	_, err = s.Drop(ctx, ann)
	require.NoError(t, err)
	for _, table := range []string{"partitions", "records", "tombstones", "events", "batches", "sessions", "messages", "blobs"} {
		var n int
		require.NoError(t, raw(t, path).QueryRow("SELECT count(*) FROM "+table).Scan(&n))
		require.Zero(t, n, table)
	}
}
