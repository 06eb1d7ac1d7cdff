// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// BenchmarkAddsWhilePeopleAreForgotten says how many adds of others a file of 150 MB takes in a
// second, alone and while people with 100 memories each are forgotten one after the other.
func BenchmarkAddsWhilePeopleAreForgotten(b *testing.B) {
	ctx, path := b.Context(), filepath.Join(b.TempDir(), "mem.db")
	s := open(b, path, &sqlitestore.Config{BusyTimeout: time.Minute})
	person := func(n int) backends.Partition {
		return backends.Partition{Namespace: "bench", Kind: backends.PartitionUser, ID: fmt.Sprint("p", n)}
	}
	const people = 600
	for n := range people {
		batch := &store.Batch{}
		for i := range 100 {
			m := put(fmt.Sprint("m", i), strings.Repeat(fmt.Sprint("word", n, " "), 100)).Mutations[0]
			m.Record.Vector = make([]byte, 1024)
			batch.Mutations = append(batch.Mutations, m)
		}
		_, err := s.Apply(ctx, person(n), batch)
		require.NoError(b, err)
	}
	require.NoError(b, s.Reclaim(ctx))
	info, err := os.Stat(path)
	require.NoError(b, err)
	b.ReportMetric(float64(info.Size())/1e6, "MB")
	b.ResetTimer()
	adds := func(until func(context.Context)) float64 {
		ctx, stop := context.WithCancel(ctx)
		var done atomic.Int64
		var clients sync.WaitGroup
		for c := range 4 {
			clients.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					if _, err := s.Apply(ctx, person(-1-c), put(fmt.Sprint("a", i), "an add of somebody else")); err == nil {
						done.Add(1)
					}
				}
			})
		}
		began := time.Now()
		until(ctx)
		rate := float64(done.Load()) / time.Since(began).Seconds()
		stop()
		clients.Wait()
		return rate
	}
	for range b.N {
		alone := adds(func(context.Context) { time.Sleep(5 * time.Second) })
		began := time.Now()
		beside := adds(func(ctx context.Context) {
			for n := range 100 {
				_, err := store.Forget(ctx, s, person(n), nil)
				require.NoError(b, err)
			}
		})
		b.ReportMetric(alone, "adds/s-alone")
		b.ReportMetric(beside, "adds/s-beside")
		b.ReportMetric(time.Since(began).Seconds()/100, "s/forget")
	}
}
