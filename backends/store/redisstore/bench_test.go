// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// parallel runs do in so many goroutines at once.
func parallel(b *testing.B, clients int, do func(n int64) error) {
	b.Helper()
	var n atomic.Int64
	b.SetParallelism(max(1, clients/runtime.GOMAXPROCS(0)))
	if clients < runtime.GOMAXPROCS(0) {
		for b.Loop() {
			require.NoError(b, do(n.Add(1)))
		}
		return
	}
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := do(n.Add(1)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// One message a call, each client in a session of its own.
func BenchmarkAppend(b *testing.B) {
	s := benchStore(b)
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			parallel(b, clients, func(n int64) error {
				_, err := s.Append(b.Context(), ann, fmt.Sprint("s", n%int64(clients)), saying(fmt.Sprint(clients, "-", b.N, "-", n)))
				return err
			})
		})
	}
}

// One memory with its history and a vector of 1536 dimensions as int8 a call.
func BenchmarkApply(b *testing.B) {
	s := benchStore(b)
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			parallel(b, clients, func(n int64) error {
				p := someone(fmt.Sprint(clients, "-", n%int64(clients)))
				_, err := s.Apply(b.Context(), p, &store.Batch{Mutations: []store.Mutation{store.Put(record(fmt.Sprint(n%1000), 1536+8))}})
				return err
			})
		})
	}
}

// What every search begins with.
func BenchmarkChangesNothing(b *testing.B) {
	s := benchStore(b)
	_, err := s.Apply(b.Context(), ann, putting("a", "b"))
	require.NoError(b, err)
	all, err := s.Changes(b.Context(), ann, "")
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		c, err := s.Changes(b.Context(), ann, all.Cursor)
		require.NoError(b, err)
		require.Empty(b, c.Records)
	}
}

// All that a process reads when it meets a partition of 10,000 memories of 1536
// dimensions for the first time.
func BenchmarkLoad10k(b *testing.B) {
	for name, size := range map[string]int{"float32": 4 * 1536, "int8": 1536 + 8} {
		b.Run(name, func(b *testing.B) {
			server := testredis.Need(b).Start(b)
			s := newStore(b, server.Client(b), nil)
			empty := used(b, server)
			for i := 0; i < 10_000; i += 500 {
				batch := &store.Batch{}
				for j := range 500 {
					batch.Mutations = append(batch.Mutations, store.Put(record(fmt.Sprintf("0192d4a0-0000-7000-8000-%012d", i+j), size)))
				}
				_, err := s.Apply(b.Context(), ann, batch)
				require.NoError(b, err)
			}
			stored := used(b, server) - empty
			for b.Loop() {
				n := 0
				for cursor, more := "", true; more; {
					c, err := s.Changes(b.Context(), ann, cursor)
					require.NoError(b, err)
					n, cursor, more = n+len(c.Records), c.Cursor, c.More
				}
				require.Equal(b, 10_000, n)
			}
			b.ReportMetric(float64(stored)/10_000, "redisB/memory")
		})
	}
}

func benchStore(b *testing.B) *redisstore.Store {
	b.Helper()
	return newStore(b, testredis.Need(b).Start(b).Client(b), nil)
}

// record is a memory with a vector of so many bytes.
func record(id string, size int) *store.Record {
	r := &store.Record{Vector: make([]byte, size), Memory: backends.Memory{ID: id, Kind: backends.KindFact,
		Text: "Ann moved to Bergen in spring and likes to drink green tea with " + id}}
	for i := range r.Vector {
		r.Vector[i] = byte(rand.Uint32())
	}
	return r
}

// used returns how many bytes the server's data takes.
func used(b *testing.B, server *testredis.Server) int64 {
	b.Helper()
	info, err := server.Client(b).InfoMap(b.Context(), "memory").Result()
	require.NoError(b, err)
	var n int64
	_, err = fmt.Sscan(info["Memory"]["used_memory"], &n)
	require.NoError(b, err)
	return n
}
