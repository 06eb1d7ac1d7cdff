// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

const secret = "Quetzalcoatlus"

// saysMuch writes a marker in ids, texts, vectors, keys, messages, states and blobs of ann, of
// every length, among the words of bob, in an order that moves what is stored from page to
// page.
func saysMuch(t testing.TB, s *sqlitestore.Store) {
	t.Helper()
	ctx := context.Background()
	for i := range 150 {
		p, word := ann, secret
		if rand.IntN(2) == 0 {
			p, word = backends.Partition{Namespace: "test", Kind: backends.PartitionUser, ID: "bob"}, "harmless"
		}
		b := put(fmt.Sprint(word, rand.IntN(80)), strings.Repeat(word+" ", 1+rand.IntN(60)))
		b.Key, b.Mutations[0].Record.Vector = fmt.Sprint(word, "key", i), []byte(strings.Repeat(word, rand.IntN(300)))
		_, err := s.Apply(ctx, p, b)
		require.NoError(t, err)
		session := fmt.Sprint(word, i%7)
		_, err = s.Append(ctx, p, session, one(fmt.Sprint(word, i)))
		require.NoError(t, err)
		_, err = s.Update(ctx, p, &store.SessionUpdate{Session: session, Title: &word, Summary: &b.Mutations[0].Record.Text})
		require.NoError(t, err)
		require.NoError(t, s.PutBlob(ctx, p, session, fmt.Sprint(word, rand.IntN(20)), []byte(strings.Repeat(word, rand.IntN(2000)))))
	}
}

// markers counts the marker in all files of a database.
func markers(t testing.TB, path string) (n int) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		n += bytes.Count(data, []byte(secret))
	}
	return n
}

func TestWhatWasDroppedIsInNoFileAfterReclaim(t *testing.T) {
	ctx := t.Context()
	for range 3 {
		path := filepath.Join(t.TempDir(), "mem.db")
		s := open(t, path, &sqlitestore.Config{BusyTimeout: time.Millisecond})
		other := open(t, path, nil)
		saysMuch(t, s)
		require.NoError(t, s.Reclaim(ctx))
		before, err := os.Stat(path)
		require.NoError(t, err)
		require.Positive(t, markers(t, path), "the test finds what is there")

		reader := raw(t, path, "BEGIN; SELECT count(*) FROM records") // another process, which reads the old state
		_, err = s.Drop(ctx, ann)
		require.NoError(t, err)
		require.ErrorIs(t, s.Reclaim(ctx), backends.ErrUnavailable)
		_, err = reader.Exec("COMMIT")
		require.NoError(t, err)
		require.NoError(t, s.Reclaim(ctx), "it can be repeated")
		require.Zero(t, markers(t, path))

		after, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, after.Size(), before.Size(), "its room is used again")
		require.NoError(t, s.Compact(ctx))
		after, err = os.Stat(path)
		require.NoError(t, err)
		require.Less(t, after.Size(), before.Size()*3/4, "its room is given back")
		require.Equal(t, "ok", value(t, path, "PRAGMA integrity_check"))
		list, err := other.List(ctx, store.SessionQuery{})
		require.NoError(t, err)
		require.Len(t, list.Sessions, 7, "bob's")
	}
}

// What is overwritten in place is the unused middle of pages alone, in files of many pages, while
// others write.
func TestReclaimChangesNothingThatIsUsed(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "mem.db")
	s, other := open(t, path, nil), open(t, path, nil)
	bob := backends.Partition{Namespace: "test", Kind: backends.PartitionUser, ID: "bob"}
	for round := range 3 {
		saysMuch(t, s)
		var writes sync.WaitGroup
		writes.Go(func() {
			for i := range 40 {
				_, err := other.Append(ctx, bob, fmt.Sprint("beside", i%9), one(fmt.Sprint(round, " ", i, strings.Repeat(" harmless", rand.IntN(40)))))
				require.NoError(t, err)
			}
		})
		before, err := s.Changes(ctx, bob, "")
		require.NoError(t, err)
		_, err = s.Drop(ctx, ann)
		require.NoError(t, err)
		require.NoError(t, s.Reclaim(ctx))
		require.Zero(t, markers(t, path))
		after, err := other.Changes(ctx, bob, "")
		require.NoError(t, err)
		require.Equal(t, before.Records, after.Records)
		writes.Wait()
		require.Equal(t, "ok", value(t, path, "PRAGMA integrity_check"))
	}
}

// Each Forget used to write the whole file anew, that of nobody, too.
func TestReclaimWithoutDeletionsWritesNothing(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "mem.db")
	s, other := open(t, path, nil), open(t, path, nil)
	saysMuch(t, s)
	require.NoError(t, s.Reclaim(ctx))
	_, err := s.Append(ctx, ann, "s", one("m"))
	require.NoError(t, err)
	require.NoError(t, s.Reclaim(ctx))
	wal, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.Positive(t, wal.Size(), "not even a checkpoint")
	_, err = other.Drop(ctx, ann)
	require.NoError(t, err)
	require.NoError(t, s.Reclaim(ctx), "also what another process erased")
	require.Zero(t, markers(t, path))
}

func TestWhatWasErasedIsInNoFileAfterReclaim(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "mem.db")
	s := open(t, path, nil)
	apply(t, s, put("a", secret))
	_, err := s.Append(ctx, ann, "s", one("m"))
	require.NoError(t, err)
	long := one("m2")
	long.Entries[0].Content = strings.Repeat(secret, 1000)
	_, err = s.Append(ctx, ann, "s", long)
	require.NoError(t, err)
	require.NoError(t, s.PutBlob(ctx, ann, "s", "b", []byte(secret)))

	apply(t, s, &store.Batch{Mutations: []store.Mutation{store.Erase("a")}})
	_, err = s.EraseMessages(ctx, ann, "s", 2)
	require.NoError(t, err)
	require.NoError(t, s.PutBlob(ctx, ann, "s", "b", nil))
	require.NoError(t, s.Reclaim(ctx))
	require.Zero(t, markers(t, path))
}

// pagesWithChecksums makes a file as schema version 2 did: eight bytes of each page are
// reserved for the checksum of the rest, and auto_vacuum is incremental.
func pagesWithChecksums(t testing.TB, path string) {
	t.Helper()
	empty := make([]byte, 4096)
	copy(empty, "SQLite format 3\x00\x10\x00\x01\x01\x08\x40\x20\x20")
	for at, v := range map[int]byte{31: 1, 47: 4, 55: 1, 59: 1, 67: 1, 100: 13, 105: 0x0f, 106: 0xf8} {
		empty[at] = v
	}
	require.NoError(t, os.WriteFile(path, empty, 0o600))
	script, err := os.ReadFile("testdata/version1.sql")
	require.NoError(t, err)
	second, err := os.ReadFile("version2.sql")
	require.NoError(t, err)
	require.NoError(t, raw(t, path, string(script)+string(second)+"PRAGMA user_version = 2; PRAGMA application_id = 0x65696e6f").Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for page := range slices.Chunk(data, 4096) {
		copy(page[4088:], "sum.eino")
	}
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

func TestAFileWithChecksumsOfPagesIsReadAndReclaimed(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "mem.db")
	pagesWithChecksums(t, path)
	s := open(t, path, nil)
	require.Equal(t, "2", value(t, path, "PRAGMA auto_vacuum"))
	of := backends.Partition{Namespace: "app", Kind: backends.PartitionUser, ID: "ann"}
	set, err := s.Changes(ctx, of, "")
	require.NoError(t, err)
	require.Equal(t, "lives in Bergen", set.Records[0].Text)
	entries, err := s.Read(ctx, of, "chat", store.Range{})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	saysMuch(t, s)
	_, err = s.Drop(ctx, ann)
	require.NoError(t, err)
	require.NoError(t, s.Reclaim(ctx))
	require.Zero(t, markers(t, path))
	require.Equal(t, "0", value(t, path, "PRAGMA auto_vacuum"), "once it is converted it is overwritten in place")
	saysMuch(t, s)
	_, err = s.Drop(ctx, ann)
	require.NoError(t, err)
	require.NoError(t, s.Reclaim(ctx))
	require.Zero(t, markers(t, path))
	require.Equal(t, "ok", value(t, path, "PRAGMA integrity_check"))
	require.NoError(t, open(t, sqlitestore.Memory, nil).Reclaim(ctx))
}
