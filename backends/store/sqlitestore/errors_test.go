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
		"too many connections":       {free, &sqlitestore.Config{ReadConns: 65}, backends.ErrInvalid, "1 to 64"},
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
