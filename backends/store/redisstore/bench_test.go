// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testredis"
)

// One message a call, each client in a session of its own; and one memory with its
// history and a vector of 1536 dimensions as int8 a call, each client in a partition of
// its own.
func BenchmarkWrites(b *testing.B) {
	s := newStore(b, testredis.Need(b).Start(b).Client(b), nil)
	appendOne := func(clients int, n int64) error {
		_, err := s.Append(b.Context(), ann, fmt.Sprint("s", n%int64(clients)), messages(fmt.Sprint(clients, "-", b.N, "-", n)))
		return err
	}
	applyOne := func(clients int, n int64) error {
		p := user(fmt.Sprint(clients, "-", n%int64(clients)))
		_, err := s.Apply(b.Context(), p, batch(store.Put(record(fmt.Sprint(n%1000), 1536+8))))
		return err
	}
	for name, write := range map[string]func(clients int, n int64) error{"append": appendOne, "apply": applyOne} {
		for _, clients := range []int{1, 8, 64} {
			b.Run(fmt.Sprint(name, "/clients=", clients), func(b *testing.B) {
				var n atomic.Int64
				if clients < runtime.GOMAXPROCS(0) {
					for b.Loop() {
						require.NoError(b, write(clients, n.Add(1)))
					}
					return
				}
				b.SetParallelism(clients / runtime.GOMAXPROCS(0))
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := write(clients, n.Add(1)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

// What every search begins with.
func BenchmarkChangesNothing(b *testing.B) {
	s := newStore(b, testredis.Need(b).Start(b).Client(b), nil)
	_, err := s.Apply(b.Context(), ann, batch(put("a", "a"), put("b", "b")))
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
			client := testredis.Need(b).Start(b).Client(b)
			s := newStore(b, client, nil)
			used := func() (n int64) { // bytes of the server's data
				_, err := fmt.Sscan(client.InfoMap(b.Context(), "memory").Item("Memory", "used_memory"), &n)
				require.NoError(b, err)
				return n
			}
			empty := used()
			for i := 0; i < 10_000; i += 500 {
				some := &store.Batch{}
				for j := range 500 {
					some.Mutations = append(some.Mutations, store.Put(record(fmt.Sprintf("0192d4a0-0000-7000-8000-%012d", i+j), size)))
				}
				_, err := s.Apply(b.Context(), ann, some)
				require.NoError(b, err)
			}
			stored := used() - empty
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

// record is a memory with a vector of so many bytes.
func record(id string, size int) *store.Record {
	return &store.Record{Vector: make([]byte, size), Memory: backends.Memory{ID: id, Kind: backends.KindFact,
		Text: "Ann moved to Bergen in spring and likes to drink green tea with " + id}}
}

// Putting a blob must cost the same however many others the session has.
func BenchmarkBlobs(b *testing.B) {
	s, data := newStore(b, testredis.Need(b).Start(b).Client(b), nil), make([]byte, 200<<10)
	for _, others := range []int{0, 500} {
		session := fmt.Sprint("beside ", others)
		for i := range others {
			require.NoError(b, s.PutBlob(b.Context(), ann, session, fmt.Sprintf("archive/%04d", i), data))
		}
		b.Run(fmt.Sprintf("put 200 KB beside %d", others), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				require.NoError(b, s.PutBlob(b.Context(), ann, session, "archive/b", data))
			}
		})
		b.Run(fmt.Sprintf("list 100 of %d", others), func(b *testing.B) {
			for b.Loop() {
				_, err := s.ListBlobs(b.Context(), ann, session, "archive/", store.Page{})
				require.NoError(b, err)
			}
		})
	}
}
