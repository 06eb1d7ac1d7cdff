// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/store/storetest"
	"github.com/einomem/einomem/internal/test/testkit"
)

var ann = backends.Partition{Namespace: "test", Kind: backends.PartitionUser, ID: "ann"}

// open opens a store that the test closes and checks for what it left running.
func open(t testing.TB, path string, cfg *sqlitestore.Config) *sqlitestore.Store {
	t.Helper()
	before := goleak.IgnoreCurrent()
	s, err := sqlitestore.Open(context.Background(), path, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		goleak.VerifyNone(t, before)
	})
	return s
}

// raw opens the file as another application does, and runs a script.
func raw(t testing.TB, path, script string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	_, err = db.Exec(script)
	require.NoError(t, err)
	return db
}

func put(id, text string) *store.Batch {
	return &store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{ID: id, Text: text}})}}
}

func apply(t testing.TB, s *sqlitestore.Store, b *store.Batch) {
	t.Helper()
	_, err := s.Apply(context.Background(), ann, b)
	require.NoError(t, err)
}

func one(id string) *store.Append {
	return &store.Append{Entries: []store.Entry{{Message: backends.Message{ID: id, Message: schema.UserMessage("x")}, Done: true, Tokens: 2}}}
}

func TestContractInAFile(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
		// Normal spares the suite thousands of waits for the disk; what Full adds no test
		// can see without cutting the power.
		return open(t, filepath.Join(t.TempDir(), "mem.db"), &sqlitestore.Config{Clock: o.Clock, Relaxed: true})
	})
}

func TestContractInMemory(t *testing.T) {
	testkit.SlowUnderRace(t)
	storetest.Run(t, func(t *testing.T, o storetest.Options) store.Store {
		return open(t, sqlitestore.Memory, &sqlitestore.Config{Clock: o.Clock})
	})
}

func TestTwoHandlesOnOneFile(t *testing.T) {
	storetest.RunShared(t, func(t *testing.T, o storetest.Options) (a, b store.Store) {
		path := filepath.Join(t.TempDir(), "mem.db")
		first := open(t, path, &sqlitestore.Config{Clock: o.Clock, Relaxed: true})
		return first, open(t, path, &sqlitestore.Config{Clock: o.Clock, Relaxed: true})
	})
}

func TestConfigIsCopiedAndItsClockIsUsed(t *testing.T) {
	cfg := sqlitestore.Config{}
	open(t, sqlitestore.Memory, &cfg)
	require.Nil(t, cfg.Clock)
	require.Equal(t, sqlitestore.Config{}, cfg)

	at := time.Date(2001, 2, 3, 4, 5, 6, 7000, time.FixedZone("CEST", 2*60*60))
	s := open(t, sqlitestore.Memory, &sqlitestore.Config{Clock: func() time.Time { return at }})
	apply(t, s, put("a", "1"))
	got, err := s.Get(t.Context(), ann, "a")
	require.NoError(t, err)
	require.Equal(t, at.UTC(), got[0].Created)
}

func TestWhatIsStoredIsThereAfterReopening(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "it's a 100% odd? #name.db")
	for _, relaxed := range []bool{false, true} {
		cfg := &sqlitestore.Config{Relaxed: relaxed, BusyTimeout: time.Second}
		s, err := sqlitestore.Open(ctx, path, cfg)
		require.NoError(t, err)
		_, err = s.Append(ctx, ann, "", one("m1"))
		require.NoError(t, err)
		lease, err := s.Update(ctx, ann, &store.SessionUpdate{Acquire: &store.Acquire{Owner: "w", For: time.Minute}})
		require.NoError(t, err)
		b, seq := put("a", "says hi"), int64(1)
		b.Mutations[0].Record.Vector = []byte{1, 2}
		b.Key, b.Embedding = "k", &store.Embedding{Model: "m", Dim: 2}
		b.Session = &store.SessionUpdate{Token: lease.Lease.Token, Watermark: &seq, Release: true}
		apply(t, s, b)
		require.NoError(t, s.PutBlob(ctx, ann, "", "b", []byte{}))
		require.NoError(t, s.Close())

		s = open(t, path, cfg)
		got, err := s.Get(ctx, ann, "b", "a")
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Equal(t, "says hi", got[0].Text)
		require.Equal(t, []byte{1, 2}, got[0].Vector)
		entries, err := s.Read(ctx, ann, "", store.Range{})
		require.NoError(t, err)
		require.Len(t, entries, 1)
		data, err := s.GetBlob(ctx, ann, "", "b")
		require.NoError(t, err)
		require.Equal(t, []byte{}, data)
		page, err := s.List(ctx, store.SessionQuery{Pending: true})
		require.NoError(t, err)
		require.Empty(t, page.Sessions)
		parts, err := s.Partitions(ctx, ann.Namespace, store.Page{})
		require.NoError(t, err)
		require.Equal(t, []backends.Partition{ann}, parts.Partitions)
		count, err := s.Drop(ctx, ann)
		require.NoError(t, err)
		require.Equal(t, store.DropCount{Records: 1, Sessions: 1, Messages: 1, Blobs: 1}, count)
	}
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Memory, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Changes(t.Context(), ann, "")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	out, err := s.Apply(t.Context(), ann, put("a", "1"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "closed")
	require.Nil(t, out)
}

func TestMemoryIsPrivate(t *testing.T) {
	a, b := open(t, sqlitestore.Memory, nil), open(t, sqlitestore.Memory, nil)
	apply(t, a, put("a", "1"))
	got, err := b.Get(t.Context(), ann, "a")
	require.NoError(t, err)
	require.Empty(t, got)
	require.NoFileExists(t, sqlitestore.Memory)
}

// benchRecord looks like what a backend writes: a sentence, its origin, and the
// vector of a common embedding model.
func benchRecord(i int) *store.Record {
	r := &store.Record{Memory: backends.Memory{
		ID: fmt.Sprintf("018f3c5e-0000-7000-8000-%012d", i), Kind: backends.KindFact,
		Text:     fmt.Sprintf("In spring of year %d Ann moved the garden shed closer to the old apple tree.", i),
		Scope:    backends.Scope{UserID: "ann", AgentID: "gardener", SessionID: "s1"},
		Observed: backends.SystemClock(),
		Origin:   backends.Origin{Session: "s1", Turn: "t1", MessageIDs: []string{"t1-0"}, Role: "user"},
	}, Vector: make([]byte, 4*1536)}
	_, _ = rand.Read(r.Vector)
	return r
}

func BenchmarkApply(b *testing.B) {
	for name, relaxed := range map[string]bool{"full": false, "relaxed": true} {
		b.Run(name, func(b *testing.B) {
			s, r, i := open(b, filepath.Join(b.TempDir(), "bench.db"), &sqlitestore.Config{Relaxed: relaxed}), benchRecord(0), 0
			for b.Loop() {
				i++
				r.ID = fmt.Sprint(i)
				apply(b, s, &store.Batch{Mutations: []store.Mutation{store.Put(r)}})
			}
		})
	}
}

func BenchmarkChangesIdle(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "bench.db"), nil)
	apply(b, s, &store.Batch{Mutations: []store.Mutation{store.Put(benchRecord(1))}})
	all, err := s.Changes(b.Context(), ann, "")
	require.NoError(b, err)
	for b.Loop() {
		none, err := s.Changes(b.Context(), ann, all.Cursor)
		require.NoError(b, err)
		require.Empty(b, none.Records)
	}
}

// BenchmarkLoad10k loads a partition of 10,000 memories with vectors of 1,536
// float32 (61 MB), as an index does at its first search.
func BenchmarkLoad10k(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "bench.db"), &sqlitestore.Config{Relaxed: true})
	for i := 0; i < 10_000; i += 100 {
		var batch store.Batch
		for j := range 100 {
			batch.Mutations = append(batch.Mutations, store.Put(benchRecord(i+j)))
		}
		apply(b, s, &batch)
	}
	for b.Loop() {
		n, cursor := 0, ""
		for more := true; more; {
			page, err := s.Changes(b.Context(), ann, cursor)
			require.NoError(b, err)
			n, cursor, more = n+len(page.Records), page.Cursor, page.More
		}
		require.Equal(b, 10_000, n)
	}
}

// Putting a blob must cost the same however many others the session has, and so
// must a page of a list.
func BenchmarkBlobs(b *testing.B) {
	data := make([]byte, 200<<10)
	for _, others := range []int{0, 500} {
		s := open(b, filepath.Join(b.TempDir(), "bench.db"), nil)
		for i := range others {
			require.NoError(b, s.PutBlob(b.Context(), ann, "s", fmt.Sprintf("archive/%04d", i), data))
		}
		b.Run(fmt.Sprintf("put 200 KB beside %d", others), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				require.NoError(b, s.PutBlob(b.Context(), ann, "s", "archive/b", data))
			}
		})
		b.Run(fmt.Sprintf("list 100 of %d", others), func(b *testing.B) {
			for b.Loop() {
				_, err := s.ListBlobs(b.Context(), ann, "s", "archive/", store.Page{})
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkAppendBy appends turns of two messages, by clients that each have a user and
// a session of their own. An operation is one append that is on disk.
func BenchmarkAppendBy(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			s, next := open(b, filepath.Join(b.TempDir(), "bench.db"), nil), atomic.Int64{}
			var all sync.WaitGroup
			b.ResetTimer()
			for c := range clients {
				all.Go(func() {
					p := backends.Partition{Namespace: "bench", Kind: backends.PartitionUser, ID: fmt.Sprint(c)}
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						_, err := s.Append(b.Context(), p, "s1", turn(i))
						assert.NoError(b, err)
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

func turn(i int64) *store.Append {
	return &store.Append{Entries: []store.Entry{
		{Message: backends.Message{ID: fmt.Sprint(i, "-0"), Message: schema.UserMessage("Where did I put the shed?")}},
		{Message: backends.Message{ID: fmt.Sprint(i, "-1"), Message: schema.AssistantMessage("Closer to the old apple tree.", nil)}, Done: true},
	}}
}

// BenchmarkList reads the first and the last page of 20,000 sessions.
func BenchmarkList(b *testing.B) {
	const sessions = 20_000
	s := open(b, filepath.Join(b.TempDir(), "bench.db"), &sqlitestore.Config{Relaxed: true})
	var all sync.WaitGroup
	for c := range 64 {
		all.Go(func() {
			for i := c; i < sessions; i += 64 {
				_, err := s.Append(b.Context(), ann, fmt.Sprint("s", i), turn(0))
				assert.NoError(b, err)
			}
		})
	}
	all.Wait()
	last := ""
	for _, q := range []store.SessionQuery{{}, {Partition: &ann}, {Partition: &ann, Pending: true}} {
		for next := "start"; next != ""; {
			page, err := s.List(b.Context(), q)
			require.NoError(b, err)
			last, next = q.Page.Cursor, page.Next
			q.Page.Cursor = next
		}
		for name, cursor := range map[string]string{"first": "", "last": last} {
			q.Page.Cursor = cursor
			b.Run(fmt.Sprintf("%s page/of one partition=%t/pending=%t", name, q.Partition != nil, q.Pending), func(b *testing.B) {
				for b.Loop() {
					page, err := s.List(b.Context(), q)
					require.NoError(b, err)
					require.Len(b, page.Sessions, 100)
				}
			})
		}
	}
}
