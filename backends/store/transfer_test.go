// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
)

// countdown is a context that is cancelled once it was checked so many times: every
// call of a store checks it, before and while it works.
type countdown struct {
	context.Context
	left atomic.Int64
}

func counted(ctx context.Context, checks int) *countdown {
	c := &countdown{Context: ctx}
	c.left.Store(int64(checks))
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func ptr[T any](v T) *T { return &v }

// A user moves from one store to another, here from SQLite to SQLite. A program would
// stop its agents first.
func ExampleTransfer() {
	ctx := context.Background()
	from, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil) // or "memory.db"
	if err != nil {
		log.Fatal(err)
	}
	defer from.Close()
	to, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil) // or redisstore.Open
	if err != nil {
		log.Fatal(err)
	}
	defer to.Close()
	ann := backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionUser, ID: "ann"}
	if _, err := from.Apply(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Put(rec("1", "lives in Oslo"))}}); err != nil {
		log.Fatal(err)
	}
	for range 2 { // the second time all is there
		done, err := store.Transfer(ctx, from, to, ann)
		fmt.Println(done.Partitions, "partition,", done.Records, "memories,", err)
	}
	// Output:
	// 1 partition, 1 memories, <nil>
	// 1 partition, 0 memories, <nil>
}

// The tests of package storetest compare all that a transfer moves, on every store.
func TestTransfer(t *testing.T) {
	testkit.SlowUnderRace(t)
	ann := backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionUser, ID: "ann"}
	today := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	open := func(t *testing.T) store.Store {
		s, err := sqlitestore.Open(t.Context(), sqlitestore.Memory, &sqlitestore.Config{Clock: func() time.Time { return today }})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	apply := func(s store.Store, p backends.Partition, ms ...store.Mutation) {
		_, err := s.Apply(t.Context(), p, &store.Batch{Embedding: &store.Embedding{Model: "m", Dim: 2}, Mutations: ms})
		require.NoError(t, err)
	}
	// say appends n messages, numbered from first on.
	say := func(s store.Store, p backends.Partition, session string, first, n int) {
		a := &store.Append{Scope: backends.Scope{UserID: "ann", SessionID: session}}
		for i := range n {
			m := backends.Message{ID: fmt.Sprint("m", first+i), Turn: "t", Message: schema.UserMessage(fmt.Sprint(session, i))}
			a.Entries = append(a.Entries, store.Entry{Message: m, AgentID: "bot", Tokens: 3, Done: i%2 == 1})
		}
		_, err := s.Append(t.Context(), p, session, a)
		require.NoError(t, err)
	}
	// fill stores something of everything that a partition can hold, and returns the count.
	fill := func(s store.Store, p backends.Partition) store.TransferCount {
		vector := rec("b", "lives in Oslo")
		vector.Vector = []byte{1, 2}
		apply(s, p, store.Put(rec("a", "lives in Rome")), store.Put(rec("gone", "likes tea")), store.Put(rec("bare", "")))
		apply(s, p, store.Supersede("a", vector), store.Increment("b", "n", 2), store.Delete("gone"))
		say(s, p, "first", 1, 5)
		say(s, p, "second", 1, 2)
		say(s, p, "", 1, 1)
		for _, u := range []store.SessionUpdate{
			{Session: "second", Watermark: ptr(int64(2))},
			{Session: "first", Watermark: ptr(int64(3)), Title: ptr("a trip"), Summary: ptr("Ann moved."), Retry: &store.Retry{Attempts: 2}, Expires: ptr(today.Add(time.Hour))},
		} {
			_, err := s.Update(t.Context(), p, &u)
			require.NoError(t, err)
		}
		for _, b := range [][2]string{{"first", "archive/1"}, {"first", "archive/2"}, {"not begun", "turn"}} {
			require.NoError(t, s.PutBlob(t.Context(), p, b[0], b[1], []byte("data of "+b[1])))
		}
		return store.TransferCount{Partitions: 1, Records: 3, Deleted: 1, Sessions: 3, Messages: 8, Blobs: 3}
	}
	move := func(ctx context.Context, from, to store.Store) (store.TransferCount, error) {
		return store.Transfer(ctx, from, to, ann)
	}
	// same proves that there is nothing to move, in either direction.
	same := func(t *testing.T, a, b store.Store) {
		for _, pair := range [][2]store.Store{{a, b}, {b, a}} {
			done, err := move(t.Context(), pair[0], pair[1])
			require.NoError(t, err)
			require.Equal(t, store.TransferCount{Partitions: 1}, done)
		}
	}

	t.Run("moves what is asked for", func(t *testing.T) {
		from, to := open(t), open(t)
		bob, eve, other := ann, ann, ann
		bob.ID, eve.ID, other.Namespace = "bob", "eve", "other"
		fill(from, ann)
		for _, p := range []backends.Partition{bob, eve, other} {
			fill(from, p)
		}
		done, err := store.Transfer(t.Context(), from, to, eve)
		require.NoError(t, err)
		require.Equal(t, 3, done.Records)
		held, err := to.Partitions(t.Context(), ann.Namespace, store.Page{})
		require.NoError(t, err)
		require.Equal(t, []backends.Partition{eve}, held.Partitions)
		_, err = move(t.Context(), from, to)
		require.NoError(t, err)
		same(t, from, to)
		pending, err := to.List(t.Context(), store.SessionQuery{Partition: &ann, Pending: true})
		require.NoError(t, err)
		require.Len(t, pending.Sessions, 2)
		_, err = store.Transfer(t.Context(), from, to, backends.Partition{})
		require.ErrorIs(t, err, backends.ErrInvalid)
	})
	t.Run("moves many pages", func(t *testing.T) {
		from, to := open(t), open(t)
		var big []store.Mutation
		for i := range 2500 {
			big = append(big, store.Put(rec(fmt.Sprintf("big%d", i), "x")))
		}
		apply(from, ann, big...)
		for i := range 1100 {
			apply(from, ann, store.Put(rec(fmt.Sprintf("one%d", i), "x")), store.Put(rec("gone", "y")))
			apply(from, ann, store.Delete("gone"), store.Put(rec(fmt.Sprintf("gone%d", i), "x")), store.Delete(fmt.Sprintf("gone%d", i)))
			say(from, ann, fmt.Sprint("s", i), 1, 1)
		}
		say(from, ann, "long", 1, 2600)
		_, err := from.Update(t.Context(), ann, &store.SessionUpdate{Session: "long", Watermark: ptr(int64(1500))})
		require.NoError(t, err)
		done, err := move(t.Context(), from, to)
		require.NoError(t, err)
		require.Equal(t, store.TransferCount{Partitions: 1, Records: 3600, Deleted: 1101, Sessions: 1101, Messages: 3700}, done)
		same(t, from, to)
	})
	t.Run("continues wherever it was interrupted", func(t *testing.T) {
		from, complete := open(t), open(t)
		fill(from, ann)
		_, err := move(t.Context(), from, complete)
		require.NoError(t, err)
		step := 1
		if testing.Short() {
			step = 7
		}
		for checks := 0; ; checks += step {
			to := open(t)
			_, err := move(counted(t.Context(), checks), from, to)
			if err == nil {
				require.Greater(t, checks, 50)
				break
			}
			require.ErrorIs(t, err, context.Canceled)
			_, err = move(counted(t.Context(), checks), from, to) // and once more, further on
			require.True(t, err == nil || errors.Is(err, context.Canceled), "%v", err)
			_, err = move(t.Context(), from, to)
			require.NoError(t, err, "after %d checks", checks)
			same(t, from, to)
			_, err = move(counted(t.Context(), 2*checks), from, complete)
			require.True(t, err == nil || errors.Is(err, context.Canceled), "%v", err)
		}
	})
	t.Run("refuses a target with other data", func(t *testing.T) {
		blob := func(session, name string) func(store.Store) {
			return func(to store.Store) { require.NoError(t, to.PutBlob(t.Context(), ann, session, name, []byte("x"))) }
		}
		put := func(id, text string) func(store.Store) {
			return func(to store.Store) { apply(to, ann, store.Put(rec(id, text))) }
		}
		for name, other := range map[string]func(store.Store){
			"another memory":      put("z", "x"),
			"another text":        put("b", "lives in Bonn"),
			"another vector":      put("b", "lives in Oslo"),
			"another history":     func(to store.Store) { apply(to, ann, store.Put(rec("gone", "x")), store.Delete("gone")) },
			"another session":     func(to store.Store) { say(to, ann, "third", 1, 1) },
			"another message":     func(to store.Store) { say(to, ann, "first", 2, 1) },
			"a longer log":        func(to store.Store) { say(to, ann, "second", 1, 3) },
			"a pending message":   func(to store.Store) { say(to, ann, "second", 1, 1) },
			"another blob":        blob("third", "b"),
			"another blob's data": blob("first", "archive/1"),
			"another title": func(to store.Store) {
				say(to, ann, "first", 1, 0)
				_, err := to.Update(t.Context(), ann, &store.SessionUpdate{Session: "first", Title: ptr("another")})
				require.NoError(t, err)
			},
		} {
			from, to, before := open(t), open(t), open(t)
			count := fill(from, ann)
			other(to)
			_, err := move(t.Context(), to, before)
			require.NoError(t, err, name)
			_, err = move(t.Context(), from, to)
			require.ErrorIs(t, err, backends.ErrConflict, name)
			require.ErrorContains(t, err, "drop the partition", name)
			same(t, before, to)
			_, err = to.Drop(t.Context(), ann)
			require.NoError(t, err, name)
			done, err := move(t.Context(), from, to)
			require.NoError(t, err, "%s: the way out", name)
			require.Equal(t, count, done, name)
		}
	})
}
