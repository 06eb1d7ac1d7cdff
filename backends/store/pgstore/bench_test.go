// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testpostgres"
	"github.com/einomem/einomem/internal/test/testredis"
)

// onEach runs a benchmark on each store, where every acknowledged write is on the disk.
func onEach(b *testing.B, f func(b *testing.B, s store.Store)) {
	b.Run("sqlite", func(b *testing.B) {
		s, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "memory.db"), nil)
		require.NoError(b, err)
		defer s.Close()
		f(b, s)
	})
	b.Run("redis", func(b *testing.B) {
		server := testredis.Need(b).Start(b, "--appendonly", "yes", "--appendfsync", "always")
		s, err := redisstore.New(b.Context(), server.Client(b), nil)
		require.NoError(b, err)
		f(b, s)
	})
	for _, mode := range []string{"cache_describe", "cache_statement"} {
		b.Run("postgres-"+mode, func(b *testing.B) {
			f(b, open(b, testpostgres.Need(b).URL+"&default_query_exec_mode="+mode, &pgstore.Options{Schema: newSchema()}))
		})
	}
}

// BenchmarkAppendBy64 is a turn of two messages, by 64 clients with a user each.
func BenchmarkAppendBy64(b *testing.B) {
	onEach(b, func(b *testing.B, s store.Store) {
		var next atomic.Int64
		var all sync.WaitGroup
		b.ResetTimer()
		for client := range 64 {
			p := backends.Partition{Namespace: "bench", Kind: backends.PartitionUser, ID: fmt.Sprint("u", client)}
			all.Go(func() {
				for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
					if _, err := s.Append(b.Context(), p, "s", messages(fmt.Sprint(i, "a"), fmt.Sprint(i, "b"))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	})
}

// fill writes memories with vectors of 384 numbers in one byte each, and some more.
func fill(b *testing.B, s store.Store, n int) {
	b.Helper()
	vector := make([]byte, 400)
	for from := 0; from < n; from += 1000 {
		batch := &store.Batch{}
		for i := from; i < from+1000; i++ {
			for j := range vector {
				vector[j] = byte(i*31 + j*j)
			}
			batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Vector: slices.Clone(vector), Memory: backends.Memory{
				ID: fmt.Sprintf("memory-%06d", i), Kind: backends.KindFact, Text: fmt.Sprintf("Friend number %d keeps %d bees in Bergen and likes tea at %d o'clock.", i, i%97, i%24)}}))
		}
		_, err := s.Apply(b.Context(), ann, batch)
		require.NoError(b, err)
	}
}

// BenchmarkColdLoad reads a partition of 10,000 memories with vectors.
func BenchmarkColdLoad(b *testing.B) {
	onEach(b, func(b *testing.B, s store.Store) {
		fill(b, s, 10_000)
		for b.Loop() {
			all, _, err := store.All(b.Context(), s, ann, nil)
			require.NoError(b, err)
			require.Len(b, all, 10_000)
		}
	})
}

// BenchmarkSearch ranks 10,000 memories by words, each time after a look for changes.
func BenchmarkSearch(b *testing.B) {
	onEach(b, func(b *testing.B, s store.Store) {
		fill(b, s, 10_000)
		r, err := recall.New(b.Context(), &recall.Config{Records: s})
		require.NoError(b, err)
		defer r.Close()
		var took []time.Duration
		for b.Loop() {
			began := backends.SystemClock()
			found, err := r.Search(b.Context(), ann, &backends.SearchRequest{Query: "Who keeps bees in Bergen?", TopK: 10})
			took = append(took, backends.SystemClock().Sub(began))
			require.NoError(b, err)
			require.NotEmpty(b, found.Hits)
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	})
}
