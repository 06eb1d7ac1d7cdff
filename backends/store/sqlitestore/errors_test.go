// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bytes"
	"context"
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

func TestOpenSaysWhatIsInTheWay(t *testing.T) {
	dir := t.TempDir()
	text, foreign, newer, marked := filepath.Join(dir, "notes.txt"), filepath.Join(dir, "foreign.db"), filepath.Join(dir, "newer.db"), filepath.Join(dir, "marked.db")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("not a database\n", 1000)), 0o600))
	raw(t, foreign, "CREATE TABLE invoices (id INTEGER)")
	open(t, newer, nil)
	raw(t, newer, "PRAGMA user_version = 99")
	raw(t, marked, "PRAGMA application_id = 7; CREATE TABLE t (id INTEGER)")
	theirs := map[string][]byte{}
	for _, path := range []string{text, foreign, marked} {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		theirs[path] = data
	}

	free := filepath.Join(dir, "x.db")
	for name, c := range map[string]struct {
		path   string
		cfg    *sqlitestore.Config
		target error
		says   string
	}{
		"empty path":                 {"", nil, backends.ErrInvalid, "no file name"},
		"NUL in the path":            {"a\x00b", nil, backends.ErrInvalid, "no file name"},
		"folder":                     {dir, nil, backends.ErrInvalid, "not a regular file"},
		"below a file":               {filepath.Join(text, "mem.db"), nil, backends.ErrInvalid, "is a file, not a folder"},
		"far below a file":           {filepath.Join(text, "a", "b", "mem.db"), nil, backends.ErrUnavailable, "not a directory"},
		"missing folder":             {filepath.Join(dir, "no", "mem.db"), nil, backends.ErrUnavailable, "create it"},
		"no database":                {text, nil, backends.ErrUnavailable, "choose another path"},
		"another application's":      {foreign, nil, backends.ErrInvalid, "choose another path"},
		"another application's mark": {marked, nil, backends.ErrInvalid, "choose another path"},
		"newer schema":               {newer, nil, backends.ErrUnavailable, "update the code"},
		"negative timeout":           {free, &sqlitestore.Config{BusyTimeout: -1}, backends.ErrInvalid, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sqlitestore.Open(t.Context(), c.path, c.cfg)
			require.ErrorIs(t, err, c.target)
			require.ErrorContains(t, err, c.says)
			require.Nil(t, s)
		})
	}
	for path, before := range theirs {
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after, "%s must not change", path)
	}
	require.NoFileExists(t, free)
}

func TestOpenWaitsForANewFileThatIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	other := raw(t, path, "BEGIN EXCLUSIVE")
	_, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Config{BusyTimeout: 100 * time.Millisecond})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "another process holds the file's lock")

	opened := make(chan error, 1)
	go func() {
		s, err := sqlitestore.Open(context.Background(), path, &sqlitestore.Config{BusyTimeout: time.Hour})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	_, err = other.Exec("ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, <-opened)
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "mem.db"), nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestManyOpenANewFileAtTheSameTime(t *testing.T) {
	path, n := filepath.Join(t.TempDir(), "mem.db"), 8
	errs := make(chan error, n)
	for i := range n {
		go func() {
			s, err := sqlitestore.Open(context.Background(), path, &sqlitestore.Config{BusyTimeout: time.Hour})
			if err == nil {
				_, err = s.Apply(context.Background(), ann, put(fmt.Sprint(i), "x"))
				s.Close()
			}
			errs <- err
		}()
	}
	for range n {
		require.NoError(t, <-errs)
	}
	set, err := open(t, path, nil).Changes(t.Context(), ann, "")
	require.NoError(t, err)
	require.Len(t, set.Records, n)
	require.Equal(t, int64(n), set.Version)
}

func TestADamagedFileIsUnavailableNotEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	s, err := sqlitestore.Open(t.Context(), path, nil)
	require.NoError(t, err)
	for i := range 200 {
		apply(t, s, put(fmt.Sprint(i), strings.Repeat("text ", 100)))
	}
	require.NoError(t, s.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	copy(data[8192:], bytes.Repeat([]byte{0xa5}, len(data)-8192))
	require.NoError(t, os.WriteFile(path, data, 0o600))

	s, err = sqlitestore.Open(t.Context(), path, nil)
	if err == nil {
		defer s.Close()
		_, err = s.Changes(t.Context(), ann, "")
	}
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.NotErrorIs(t, err, backends.ErrNotFound)
	require.ErrorContains(t, err, "damaged")
}

func TestARowThatIsNotAsWrittenIsUnavailable(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, nil)
	b := put("a", "x")
	b.Key = "k"
	apply(t, s, b)
	_, err := s.Append(ctx, ann, "s", one("m"))
	require.NoError(t, err)
	for _, c := range []struct {
		script string
		call   func() error
	}{
		{"UPDATE records SET memory = substr(memory, 1, 10)", func() error { _, err := s.Get(ctx, ann, "a"); return err }},
		{"", func() error { _, err := s.Changes(ctx, ann, ""); return err }},
		{"UPDATE events SET event = ''", func() error { _, err := s.History(ctx, ann, "a"); return err }},
		{"UPDATE batches SET results = ''", func() error { _, err := s.Apply(ctx, ann, b); return err }},
		{"UPDATE messages SET entry = ''", func() error { _, err := s.Read(ctx, ann, "s", store.Range{}); return err }},
		{"UPDATE sessions SET state = ''", func() error { _, err := s.List(ctx, store.SessionQuery{}); return err }},
		{"", func() error { _, err := s.Session(ctx, ann, "s"); return err }},
	} {
		raw(t, path, c.script)
		err := c.call()
		require.ErrorIs(t, err, backends.ErrUnavailable, c.script)
		require.ErrorContains(t, err, "restore a backup", c.script)
	}
}

func TestAFileThatIsNotThereAnyMoreIsUnavailable(t *testing.T) {
	ctx := t.Context()
	for says, c := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) { require.NoError(t, os.Rename(path, path+".old")) },
		"replaced": func(t *testing.T, path string) {
			require.NoError(t, os.Rename(path, path+".old"))
			other, err := sqlitestore.Open(ctx, path, nil)
			require.NoError(t, err)
			require.NoError(t, other.Close())
		},
		"emptied": func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path+".old", data, 0o600))
			require.NoError(t, os.Truncate(path, 0))
		},
	} {
		t.Run(says, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mem.db")
			s, err := sqlitestore.Open(ctx, path, nil)
			require.NoError(t, err)
			apply(t, s, put("a", "1"))
			c(t, path)
			_, err = s.Apply(ctx, ann, put("b", "2"))
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, "open")
			_, err = s.Get(ctx, ann, "a")
			require.ErrorIs(t, err, backends.ErrUnavailable)
			if says == "removed" { // the same file is back
				require.NoError(t, os.Rename(path+".old", path))
				apply(t, s, put("b", "2"))
				require.Equal(t, []string{"a", "b"}, ids(t, s))
			}
			require.NoError(t, s.Close())
		})
	}
}

func TestALockedFileIsUnavailable(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, &sqlitestore.Config{BusyTimeout: 60 * time.Millisecond})
	long := open(t, path, &sqlitestore.Config{BusyTimeout: time.Hour})
	apply(t, s, put("a", "1"))
	other := raw(t, path, "BEGIN IMMEDIATE")

	_, err := s.Apply(ctx, ann, put("a", "2"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "BusyTimeout")
	_, err = sqlitestore.Open(ctx, path, &sqlitestore.Config{BusyTimeout: time.Millisecond})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	got, err := s.Get(ctx, ann, "a")
	require.NoError(t, err, "reading continues")
	require.Equal(t, "1", got[0].Text)

	late, cancel := context.WithTimeout(ctx, 80*time.Millisecond)
	defer cancel()
	_, err = long.Apply(late, ann, put("a", "2"))
	require.ErrorIs(t, err, context.DeadlineExceeded, "waiting for a lock ends with the context")

	waited := make(chan error, 1)
	go func() {
		_, err := long.Apply(ctx, ann, put("a", "3"))
		waited <- err
	}()
	_, err = other.Exec("COMMIT")
	require.NoError(t, err)
	require.NoError(t, <-waited)
	got, err = s.Get(ctx, ann, "a")
	require.NoError(t, err)
	require.Equal(t, "3", got[0].Text)
}

func TestAFullDiskLosesNothing(t *testing.T) {
	ctx := t.Context()
	s := open(t, filepath.Join(t.TempDir(), "mem.db"), nil)
	apply(t, s, put("first", "x"))
	require.NoError(t, s.LimitPages(4))
	large := put("large", strings.Repeat("x", 1<<20))
	large.Mutations = append(put("small", "y").Mutations, large.Mutations...)
	large.Key = "k"

	_, err := s.Apply(ctx, ann, large)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "free some space")
	require.ErrorContains(t, s.PutBlob(ctx, ann, "s", "b", make([]byte, 1<<20)), "free some space")
	got, err := s.Get(ctx, ann, "first", "small", "large")
	require.NoError(t, err)
	require.Len(t, got, 1)

	require.NoError(t, s.LimitPages(-1))
	applied, err := s.Apply(ctx, ann, large)
	require.NoError(t, err)
	require.False(t, applied.Replayed)
	require.Equal(t, int64(2), applied.Version)
}

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
		"PRAGMA journal_mode": "wal", "PRAGMA user_version": "3", "PRAGMA application_id": fmt.Sprint(0x65696e6f),
	} {
		require.Equal(t, want, value(t, path, query))
	}
	tables := value(t, path, "SELECT group_concat(name) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
	require.Len(t, strings.Split(tables, ","), 10)
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
		"SELECT part, id FROM sessions WHERE expires <= 1 ORDER BY expires LIMIT 4",
		"SELECT part, pk, state FROM sessions WHERE part = 1 AND pk > 1 AND (expires IS NULL OR expires > 1) ORDER BY part, pk LIMIT 9",
		"SELECT part, pk, state FROM sessions WHERE part = 1 AND pk > 1 AND pending = 1 AND (expires IS NULL OR expires > 1) ORDER BY part, pk LIMIT 9",
		"SELECT part, pk, state FROM sessions WHERE part > 1 AND (expires IS NULL OR expires > 1) ORDER BY part, pk LIMIT 9",
		"SELECT part, pk, state FROM sessions WHERE part > 1 AND pending = 1 AND (expires IS NULL OR expires > 1) ORDER BY part, pk LIMIT 9",
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
	require.Contains(t, left[0], ", 4, ", "a write erases a few sessions")
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
