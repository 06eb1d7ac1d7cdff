// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
)

// fill writes what takes a few hundred pages, of every table, with text of every length.
func fill(t testing.TB, path string) {
	t.Helper()
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, path, nil)
	require.NoError(t, err)
	for i := range 60 {
		b := put(fmt.Sprint("r", i), fmt.Sprint(i, strings.Repeat(" text", i*i)))
		b.Key, b.Mutations[0].Record.Vector = fmt.Sprint("k", i), []byte(strings.Repeat("v", 20*i))
		apply(t, s, b)
		_, err := s.Append(ctx, ann, fmt.Sprint("s", i%5), one(fmt.Sprint("m", i)))
		require.NoError(t, err)
		require.NoError(t, s.PutBlob(ctx, ann, "s1", fmt.Sprint("b", i), []byte(strings.Repeat("b", 300*i))))
	}
	require.NoError(t, s.Close())
}

// answers is what every read of the store answers, by its name; a read that fails has none.
// The errors are those of the reads that failed.
func answers(s *sqlitestore.Store) (map[string]string, []error) {
	ctx, out, errs := context.Background(), map[string]string{}, []error(nil)
	note := func(what string, v any, err error) {
		if err != nil {
			errs = append(errs, err)
			return
		}
		out[what] = fmt.Sprintf("%+v", v)
	}
	for i := range 60 {
		id := fmt.Sprint("r", i)
		records, err := s.Get(ctx, ann, id)
		note("get "+id, records, err)
		events, err := s.History(ctx, ann, id)
		note("history "+id, events, err)
		data, err := s.GetBlob(ctx, ann, "s1", fmt.Sprint("b", i))
		note(fmt.Sprint("blob ", i), data, err)
	}
	for i := range 5 {
		id := fmt.Sprint("s", i)
		state, err := s.Session(ctx, ann, id)
		note("session "+id, state, err)
		entries, err := s.Read(ctx, ann, id, store.Range{})
		texts := []string{}
		for _, e := range entries {
			texts = append(texts, fmt.Sprint(e.Seq, e.ID, e.Content, e.Time))
		}
		note("read "+id, texts, err)
	}
	set, err := s.Changes(ctx, ann, "")
	note("changes", set, err)
	list, err := s.List(ctx, store.SessionQuery{})
	note("list", list, err)
	blobs, err := s.ListBlobs(ctx, ann, "s1", "", store.Page{})
	note("blobs", blobs, err)
	parts, err := s.Partitions(ctx, ann.Namespace, store.Page{})
	note("partitions", parts, err)
	return out, errs
}

// A damaged index may hide a row or change the order of rows: then Check says so.
func TestAFlippedByteIsNeverServedAsTruth(t *testing.T) {
	testkit.SlowUnderRace(t)
	path := filepath.Join(t.TempDir(), "mem.db")
	fill(t, path)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	s, err := sqlitestore.Open(t.Context(), path, nil)
	require.NoError(t, err)
	truth, errs := answers(s)
	require.Empty(t, errs)
	require.NoError(t, s.Close())

	rounds := 30
	if os.Getenv("SQLITESTORE_FLIPS") != "" {
		_, err := fmt.Sscan(os.Getenv("SQLITESTORE_FLIPS"), &rounds)
		require.NoError(t, err)
	}
	noticed, answered, hidden, served := 0, 0, map[int]string{}, map[int]string{}
	broken := filepath.Join(t.TempDir(), "broken.db")
	for range rounds {
		damaged := append([]byte(nil), whole...)
		at := rand.IntN(len(damaged))
		damaged[at] ^= byte(1 + rand.IntN(255))
		require.NoError(t, os.WriteFile(broken, damaged, 0o600))
		s, err := sqlitestore.Open(t.Context(), broken, nil)
		if err != nil { // the first page, or one of the schema
			require.True(t, errors.Is(err, backends.ErrUnavailable) || errors.Is(err, backends.ErrInvalid), err)
			noticed++
			continue
		}
		got, errs := answers(s)
		wrong := served
		if found, err := s.Check(t.Context()); len(found) > 0 || err != nil {
			wrong = hidden
		}
		require.NoError(t, s.Close())
		for what, answer := range got {
			if truth[what] != answer {
				wrong[at] = what
			}
		}
		for _, err := range errs {
			if errors.Is(err, backends.ErrNotFound) {
				wrong[at] = err.Error()
				continue
			}
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, "damaged")
		}
		if len(errs) > 0 {
			noticed++
			answered += len(got)
		}
	}
	t.Logf("%d bytes of %d flipped: %d noticed, %d served, %d that only Check notices: %v; beside a damaged row %d answers",
		rounds, len(whole), noticed, len(served), len(hidden), hidden, answered)
	require.Empty(t, served)
	require.Positive(t, answered, "the rest answers")
}

func TestADamagedRecordIsNamedAndTheRestAnswers(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "mem.db")
	fill(t, path)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[bytes.LastIndex(data, bytes.Repeat([]byte("v"), 1000))] ^= 1 // the vector of one of the longest
	require.NoError(t, os.WriteFile(path, data, 0o1000))

	s := open(t, path, nil)
	damaged := []string{}
	for i := range 60 {
		id := fmt.Sprint("r", i)
		if _, err := s.Get(ctx, ann, id); err != nil {
			damaged = append(damaged, strconv.Quote(id))
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, "damaged")
			require.ErrorContains(t, err, "record "+strconv.Quote(id))
			_, err := s.Apply(ctx, ann, put(id, "new"))
			require.ErrorContains(t, err, "record "+strconv.Quote(id))
		}
	}
	require.Len(t, damaged, 1, "a long one has pages of its own")
	_, err = s.Changes(ctx, ann, "")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "record "+damaged[0])
	apply(t, s, put("another", "x"))
	list, err := s.List(ctx, store.SessionQuery{})
	require.NoError(t, err)
	require.Len(t, list.Sessions, 5)
}

// An index without all records would pass for the whole.
func TestReadingWhatLostARowFails(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, nil)
	for i := range 3 {
		apply(t, s, put(fmt.Sprint("r", i), "x"))
	}
	_, err := s.Append(ctx, ann, "s", &store.Append{Entries: append(one("m1").Entries, one("m2").Entries...)})
	require.NoError(t, err)
	raw(t, path, "DELETE FROM records WHERE id = 'r1'; DELETE FROM messages WHERE id = 'm1'")
	_, err = s.Changes(ctx, ann, "")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "2 of 3 records")
	_, err = s.Read(ctx, ann, "s", store.Range{})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "1 of 2 messages")
	raw(t, path, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'tombstones_changed') WHERE name = 'records_changed'")
	found, err := open(t, path, nil).Check(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, found, "an index that has no entries")
	got, err := s.Get(ctx, ann, "r0", "r2")
	require.NoError(t, err, "the rest answers")
	require.Len(t, got, 2)
}

// Other programs may read, copy and vacuum the file.
func TestAFileThatAnotherProgramVacuumedIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	fill(t, path)
	s, err := sqlitestore.Open(t.Context(), path, nil)
	require.NoError(t, err)
	truth, errs := answers(s)
	require.Empty(t, errs)
	backup := filepath.Join(t.TempDir(), "backup.db")
	raw(t, path, fmt.Sprintf("VACUUM INTO '%s'", backup))
	require.NoError(t, s.Close())
	require.NoError(t, raw(t, path, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").Close())
	for _, path := range []string{path, backup} {
		s := open(t, path, nil)
		got, errs := answers(s)
		require.Empty(t, errs)
		found, err := s.Check(t.Context())
		require.NoError(t, err)
		require.Empty(t, found)
		require.Equal(t, truth, got)
	}
}

// A row that was as it was written is looked at again when it has changed.
func TestARowThatWasReadBeforeIsCheckedAgain(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, nil)
	apply(t, s, put("r", "x"))
	changes := func() error { _, err := s.Changes(ctx, ann, ""); return err }
	for range 5 { // by each connection
		require.NoError(t, changes())
	}
	for _, damage := range []string{"records = records + 1", "records = records - 1, sum = sum + 1"} {
		raw(t, path, "UPDATE partitions SET "+damage)
		for range 5 {
			require.ErrorContains(t, changes(), "damaged: not as it was written")
		}
	}
	raw(t, path, "UPDATE partitions SET sum = sum - 1")
	require.NoError(t, changes())
}
