// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// together makes the calls wait for the writer, in this order, and lets them go: they
// share a transaction. It runs in a bubble of synctest, where time stands still.
func together(s *sqlitestore.Store, calls ...func() error) []error {
	release := s.HoldWriter()
	out, outcomes := make([]error, len(calls)), make([]chan error, len(calls))
	for i, call := range calls {
		outcomes[i] = make(chan error, 1)
		go func() { outcomes[i] <- call() }()
		synctest.Wait()
	}
	release()
	for i := range out {
		out[i] = <-outcomes[i]
	}
	return out
}

func ids(t testing.TB, s *sqlitestore.Store) []string {
	t.Helper()
	set, err := s.Changes(context.Background(), ann, "")
	require.NoError(t, err)
	out := []string{}
	for _, r := range set.Records {
		out = append(out, r.ID)
	}
	return out
}

// ending is a context that ends in the middle of a call: when it was asked twice, before
// the call waits and before its statements run.
type ending struct {
	context.Context
	asked atomic.Int64
}

func (c *ending) Err() error {
	if c.asked.Add(1) > 2 {
		return context.Canceled
	}
	return nil
}

func TestCallsThatShareACommitFailAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := open(t, filepath.Join(t.TempDir(), "mem.db"), nil)
		puts := func(id string) func() error {
			return func() error { _, err := s.Apply(ctx, ann, put(id, "x")); return err }
		}
		conflict := func() error {
			b := put("late", "x")
			b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: backends.Memory{ID: "a", Text: "y"}}))
			b.Mutations[1].Expect = store.MustNotExist
			_, err := s.Apply(ctx, ann, b)
			return err
		}
		says := func() error { _, err := s.Append(ctx, ann, "s", one("m")); return err }
		ended := func() error { return s.PutBlob(&ending{Context: ctx}, ann, "ended", "b", []byte("x")) }
		errs := together(s, puts("a"), conflict, puts("b"), ended, says, says, puts("c"), conflict)
		require.ErrorIs(t, errs[1], backends.ErrConflict, "it saw what the same transaction wrote before")
		require.ErrorIs(t, errs[3], context.Canceled)
		require.ErrorIs(t, errs[7], backends.ErrConflict)
		for _, i := range []int{0, 2, 4, 5, 6} {
			require.NoError(t, errs[i], i)
		}
		require.Equal(t, []string{"a", "b", "c"}, ids(t, s))
		log, err := s.Session(ctx, ann, "s")
		require.NoError(t, err)
		require.Equal(t, int64(1), log.LastSeq)
		blobs, err := s.BlobSessions(ctx, ann, store.Page{})
		require.NoError(t, err)
		require.Empty(t, blobs.IDs)

		for i, err := range together(s, conflict, puts("d"), conflict, puts("e")) { // the first ends the transaction
			require.Equal(t, i%2 == 0, err != nil, "%d: %v", i, err)
		}
		require.Equal(t, []string{"a", "b", "c", "d", "e"}, ids(t, s))
	})
}

func TestAnErrorOfACommitIsEverybodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := open(t, filepath.Join(t.TempDir(), "mem.db"), nil)
		apply(t, s, put("a", "1"))
		// A foreign key that is checked at COMMIT makes it fail.
		require.NoError(t, s.Script(`PRAGMA foreign_keys = ON; CREATE TABLE child (parent REFERENCES parents (pk) DEFERRABLE INITIALLY DEFERRED);
		CREATE TABLE parents (pk INTEGER PRIMARY KEY); CREATE TRIGGER t AFTER INSERT ON blobs BEGIN INSERT INTO child VALUES (1); END`))
		puts := func(id string) func() error {
			return func() error { _, err := s.Apply(ctx, ann, put(id, "x")); return err }
		}
		replayed := func() error { // it sees that b is there, which nobody will find
			b := put("b", "x")
			b.Mutations[0].Expect = store.MustNotExist
			_, err := s.Apply(ctx, ann, b)
			return err
		}
		for i, err := range together(s, puts("b"), func() error { return s.PutBlob(ctx, ann, "s", "b", []byte("x")) }, replayed) {
			require.ErrorIs(t, err, backends.ErrUnavailable, i)
			require.NotErrorIs(t, err, backends.ErrConflict)
		}
		require.Equal(t, []string{"a"}, ids(t, s))
		require.NoError(t, puts("b")())
		require.Equal(t, []string{"a", "b"}, ids(t, s))
	})
}

func TestACallThatEndsTheTransactionTakesNobodyWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := open(t, filepath.Join(t.TempDir(), "mem.db"), nil)
		apply(t, s, put("a", "1"))
		require.NoError(t, s.LimitPages(20))
		puts := func(id string) func() error {
			return func() error { _, err := s.Apply(ctx, ann, put(id, "x")); return err }
		}
		large := func() error { return s.PutBlob(ctx, ann, "s", "b", make([]byte, 1<<20)) }
		for i, err := range together(s, puts("b"), puts("c"), large, puts("d"), large) {
			if i == 2 || i == 4 {
				require.ErrorContains(t, err, "free some space")
				continue
			}
			require.NoError(t, err, i)
		}
		require.ElementsMatch(t, []string{"a", "b", "c", "d"}, ids(t, s))
	})
}

func TestACallStopsWaitingForOthersWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, filepath.Join(t.TempDir(), "mem.db"), nil)
		release := s.HoldWriter()
		ctx, cancel := context.WithCancel(t.Context())
		gone, stays := make(chan error, 1), make(chan error, 1)
		go func() { _, err := s.Apply(ctx, ann, put("gone", "x")); gone <- err }()
		go func() { _, err := s.Apply(t.Context(), ann, put("stays", "x")); stays <- err }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-gone, context.Canceled)
		release()
		require.NoError(t, <-stays)
		require.Equal(t, []string{"stays"}, ids(t, s))
	})
}

// Calls of two handles, as of two processes, take turns: a handle's group waits for the
// other's, and every call is done once.
func TestGroupsOfTwoHandlesTakeTurns(t *testing.T) {
	const clients, each = 16, 20
	path := filepath.Join(t.TempDir(), "mem.db")
	handles := []*sqlitestore.Store{
		open(t, path, &sqlitestore.Config{Relaxed: true, BusyTimeout: time.Hour}),
		open(t, path, &sqlitestore.Config{Relaxed: true, BusyTimeout: time.Hour}),
	}
	apply(t, handles[0], put("count", ""))
	done := make(chan error)
	for c := range clients {
		go func() {
			var err error
			for i := 0; i < each && err == nil; i++ {
				b := put(fmt.Sprint(c, "-", i), "x")
				b.Mutations = append(b.Mutations, store.Increment("count", "n", 1))
				_, err = handles[c%2].Apply(context.Background(), ann, b)
			}
			done <- err
		}()
	}
	for range clients {
		require.NoError(t, <-done)
	}
	got, err := handles[0].Get(t.Context(), ann, "count")
	require.NoError(t, err)
	require.EqualValues(t, clients*each, got[0].Metadata["n"])
	require.Len(t, ids(t, handles[1]), clients*each+1)
}
