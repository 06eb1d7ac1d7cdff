// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

var ann = backends.Partition{Namespace: "bench", Kind: backends.PartitionUser, ID: "ann"}

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

func openBench(b *testing.B, cfg *sqlitestore.Config) *sqlitestore.Store {
	s, err := sqlitestore.Open(context.Background(), filepath.Join(b.TempDir(), "bench.db"), cfg)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s
}

func BenchmarkApply(b *testing.B) {
	for _, level := range []sqlitestore.Synchronous{sqlitestore.Full, sqlitestore.Normal} {
		b.Run(string(level), func(b *testing.B) {
			s, ctx, i := openBench(b, &sqlitestore.Config{Synchronous: level}), context.Background(), 0
			r := benchRecord(0)
			for b.Loop() {
				i++
				r.ID = fmt.Sprint(i)
				_, err := s.Apply(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Put(r)}})
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	s, ctx, i := openBench(b, nil), context.Background(), 0
	for b.Loop() {
		i++
		_, err := s.Append(ctx, ann, "s1", &store.Append{Entries: []store.Entry{
			{Message: backends.Message{ID: fmt.Sprint(i, "-0"), Message: schema.UserMessage("Where did I put the shed?")}},
			{Message: backends.Message{ID: fmt.Sprint(i, "-1"), Message: schema.AssistantMessage("Closer to the old apple tree.", nil)}, Done: true},
		}})
		require.NoError(b, err)
	}
}

func BenchmarkChangesIdle(b *testing.B) {
	s, ctx := openBench(b, nil), context.Background()
	_, err := s.Apply(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Put(benchRecord(1))}})
	require.NoError(b, err)
	all, err := s.Changes(ctx, ann, "")
	require.NoError(b, err)
	for b.Loop() {
		none, err := s.Changes(ctx, ann, all.Cursor)
		require.NoError(b, err)
		require.Empty(b, none.Records)
	}
}

// BenchmarkLoad10k loads a partition of 10,000 memories with vectors of 1,536
// float32 (61 MB), as an index does at its first search.
func BenchmarkLoad10k(b *testing.B) {
	s, ctx := openBench(b, &sqlitestore.Config{Synchronous: sqlitestore.Normal}), context.Background()
	for i := 0; i < 10_000; i += 100 {
		var batch store.Batch
		for j := range 100 {
			batch.Mutations = append(batch.Mutations, store.Put(benchRecord(i+j)))
		}
		_, err := s.Apply(ctx, ann, &batch)
		require.NoError(b, err)
	}
	for b.Loop() {
		n, cursor := 0, ""
		for more := true; more; {
			page, err := s.Changes(ctx, ann, cursor)
			require.NoError(b, err)
			n, cursor, more = n+len(page.Records), page.Cursor, page.More
		}
		require.Equal(b, 10_000, n)
	}
}
