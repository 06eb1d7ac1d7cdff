// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// raw opens the file as another application does.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	_, err := db.Exec(query)
	require.NoError(t, err)
}

func put(id, text string) *store.Batch {
	return &store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{ID: id, Text: text}})}}
}

func apply(t *testing.T, s *sqlitestore.Store, b *store.Batch) {
	t.Helper()
	_, err := s.Apply(context.Background(), ann, b)
	require.NoError(t, err)
}

func TestOpenTellsWhatIsInTheWay(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	text := file("notes.txt", bytes.Repeat([]byte("not a database\n"), 1000))
	foreign := filepath.Join(dir, "foreign.db")
	run(t, raw(t, foreign), "CREATE TABLE invoices (id INTEGER)")
	newer := filepath.Join(dir, "newer.db")
	open(t, newer, nil)
	run(t, raw(t, newer), "PRAGMA user_version = 99")
	marked := filepath.Join(dir, "marked.db")
	run(t, raw(t, marked), "PRAGMA application_id = 7; CREATE TABLE t (id INTEGER)")

	theirs := map[string][]byte{text: nil, foreign: nil, marked: nil}
	for path := range theirs {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		theirs[path] = data
	}

	for _, c := range []struct {
		name, path string
		cfg        *sqlitestore.Config
		target     error
		says       string
	}{
		{"empty path", "", nil, backends.ErrInvalid, "no file name"},
		{"NUL in the path", "a\x00b", nil, backends.ErrInvalid, "no file name"},
		{"folder", dir, nil, backends.ErrInvalid, "not a regular file"},
		{"below a file", filepath.Join(text, "mem.db"), nil, backends.ErrInvalid, "is a file, not a folder"},
		{"far below a file", filepath.Join(text, "a", "b", "mem.db"), nil, backends.ErrInvalid, "is a file, not a folder"},
		{"missing folder", filepath.Join(dir, "no", "mem.db"), nil, backends.ErrUnavailable, "create it"},
		{"no database", text, nil, backends.ErrUnavailable, "choose another path"},
		{"another application's", foreign, nil, backends.ErrInvalid, "choose another path"},
		{"another application's mark", marked, nil, backends.ErrInvalid, "choose another path"},
		{"newer schema", newer, nil, backends.ErrUnavailable, "update the code"},
		{"unknown durability", filepath.Join(dir, "x.db"), &sqlitestore.Config{Synchronous: "off"}, backends.ErrInvalid, "use full or normal"},
		{"negative timeout", filepath.Join(dir, "x.db"), &sqlitestore.Config{BusyTimeout: -1}, backends.ErrInvalid, "negative"},
		{"too many connections", filepath.Join(dir, "x.db"), &sqlitestore.Config{ReadConns: 65}, backends.ErrInvalid, "1 to 64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := sqlitestore.Open(context.Background(), c.path, c.cfg)
			require.ErrorIs(t, err, c.target)
			require.ErrorContains(t, err, c.says)
			require.Nil(t, s)
		})
	}
	for path, before := range theirs {
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after, "%s is not ours to change", path)
	}
	require.NoFileExists(t, filepath.Join(dir, "x.db"))
}

func TestANewFileThatIsLockedIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	other, err := raw(t, path).Conn(context.Background())
	require.NoError(t, err)
	_, err = other.ExecContext(context.Background(), "BEGIN EXCLUSIVE")
	require.NoError(t, err)
	_, err = sqlitestore.Open(context.Background(), path, &sqlitestore.Config{BusyTimeout: 100 * time.Millisecond})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "another process holds the file's lock")

	opened := make(chan error, 1)
	go func() {
		s, err := sqlitestore.Open(context.Background(), path, nil)
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	_, err = other.ExecContext(context.Background(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, <-opened)
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "mem.db"), nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestADamagedFileIsUnavailableNotEmpty(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "mem.db")
	s, err := sqlitestore.Open(ctx, path, nil)
	require.NoError(t, err)
	for i := range 200 {
		apply(t, s, put(fmt.Sprint(i), string(bytes.Repeat([]byte("text "), 100))))
	}
	require.NoError(t, s.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	copy(data[8192:], bytes.Repeat([]byte{0xa5}, len(data)-8192))
	require.NoError(t, os.WriteFile(path, data, 0o600))

	s, err = sqlitestore.Open(ctx, path, nil)
	if err == nil {
		defer s.Close()
		_, err = s.Changes(ctx, ann, "")
	}
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.NotErrorIs(t, err, backends.ErrNotFound)
	require.ErrorContains(t, err, "damaged")
}

func TestARowThatIsNotAsWrittenIsUnavailable(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, nil)
	apply(t, s, put("a", "x"))
	run(t, raw(t, path), "UPDATE records SET memory = substr(memory, 1, 10)")
	_, err := s.Get(ctx, ann, "a")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "restore a backup")
	_, err = s.Changes(ctx, ann, "")
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

func TestALockedFileIsUnavailable(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, &sqlitestore.Config{BusyTimeout: 60 * time.Millisecond})
	patient := open(t, path, &sqlitestore.Config{BusyTimeout: time.Hour})
	apply(t, s, put("a", "1"))
	other := raw(t, path)
	run(t, other, "BEGIN IMMEDIATE")

	_, err := s.Apply(ctx, ann, put("a", "2"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "BusyTimeout")
	_, err = sqlitestore.Open(ctx, path, &sqlitestore.Config{BusyTimeout: time.Millisecond})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	got, err := s.Get(ctx, ann, "a")
	require.NoError(t, err, "reading goes on")
	require.Equal(t, "1", got[0].Text)

	late, cancel := context.WithTimeout(ctx, 80*time.Millisecond)
	defer cancel()
	_, err = patient.Apply(late, ann, put("a", "2"))
	require.ErrorIs(t, err, context.DeadlineExceeded, "waiting for a lock ends with the context")

	waited := make(chan error, 1)
	go func() {
		_, err := patient.Apply(ctx, ann, put("a", "3"))
		waited <- err
	}()
	run(t, other, "COMMIT")
	require.NoError(t, <-waited)
	got, err = s.Get(ctx, ann, "a")
	require.NoError(t, err)
	require.Equal(t, "3", got[0].Text)
}

func TestAFullDiskLosesNothing(t *testing.T) {
	ctx := context.Background()
	s := open(t, filepath.Join(t.TempDir(), "mem.db"), nil)
	apply(t, s, put("first", "x"))
	require.NoError(t, s.LimitPages(4))
	large := put("large", string(bytes.Repeat([]byte("x"), 1<<20)))
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

func TestAClosedStoreIsUnavailable(t *testing.T) {
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Changes(ctx, ann, "")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = s.Apply(ctx, ann, put("a", "1"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "closed")
}

func TestMemoryIsPrivate(t *testing.T) {
	a, b := open(t, sqlitestore.Memory, nil), open(t, sqlitestore.Memory, nil)
	apply(t, a, put("a", "1"))
	got, err := b.Get(context.Background(), ann, "a")
	require.NoError(t, err)
	require.Empty(t, got)
	require.NoFileExists(t, sqlitestore.Memory)
}

func TestManyOpenANewFileAtTheSameTime(t *testing.T) {
	path, n := filepath.Join(t.TempDir(), "mem.db"), 8
	errs := make(chan error, n)
	for i := range n {
		go func() {
			s, err := sqlitestore.Open(context.Background(), path, nil)
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
	set, err := open(t, path, nil).Changes(context.Background(), ann, "")
	require.NoError(t, err)
	require.Len(t, set.Records, n)
	require.Equal(t, int64(n), set.Version)
}
