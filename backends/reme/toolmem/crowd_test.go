// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme/toolmem"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/testredis"
)

// everyStore runs a test on SQLite and on Redis. open returns another process's store
// over the same data.
func everyStore(t *testing.T, test func(t *testing.T, c *clock, open func() store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		c, path := newClock(), t.TempDir()+"/x.db"
		test(t, c, func() store.Store {
			s, err := sqlitestore.Open(ctx, path, &sqlitestore.Config{Clock: c.Now})
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close() })
			return s
		})
	})
	testredis.Each(t, func(t *testing.T, client func(testing.TB) redis.UniversalClient) {
		c := newClock()
		test(t, c, func() store.Store {
			s, err := redisstore.New(ctx, client(t), &redisstore.Config{Clock: c.Now, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close() })
			return s
		})
	})
}

// Two processes, each with many goroutines, record one tool, half of them what the
// other one records as well: none is lost, none is kept twice, and there is one
// guideline that knows of all.
func TestR15RecordersOfOneToolLoseNoCall(t *testing.T) {
	writers, each := 64, 2
	if os.Getenv("EINOMEM_LONG") != "" {
		each = 40
	}
	everyStore(t, func(t *testing.T, c *clock, open func() store.Store) {
		var rigs []*rig
		for p := range 2 {
			r := newRig(t, setup{store: open(), clock: c, model: writer(t), change: func(c *toolmem.Config) { c.Keep = maxAge }})
			r.ids.Store(int64(p) << 32)
			rigs = append(rigs, r)
		}
		var all sync.WaitGroup
		for w := range writers {
			r := rigs[w%2]
			rec := r.NewRecorder(&toolmem.RecorderConfig{Batch: 3})
			all.Go(func() {
				for n := range each {
					shared := call("search", n)
					shared.ID = fmt.Sprintf("shared-%d-%d", w/2, n) // of two writers
					if w%4 < 2 {
						assert.NoError(t, rec.Enqueue(ctx, team, call("search", n), shared))
						continue
					}
					resp, err := r.Record(ctx, &toolmem.RecordRequest{Scope: team, Calls: []toolmem.Call{call("search", n), shared}})
					assert.NoError(t, err)
					assert.Empty(t, resp.Rejected)
				}
				assert.NoError(t, rec.Close(ctx))
			})
		}
		all.Wait()
		got := rigs[0].tool(t, "search")
		ids := map[string]int{}
		for _, call := range got.Calls {
			ids[call.ID]++
		}
		assert.Len(t, ids, writers*each+writers/2*each)
		for id, n := range ids {
			require.Equal(t, 1, n, id)
		}
		assert.EqualValues(t, len(ids), got.Statistics.Total)
		for _, r := range rigs {
			_, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team, Force: true})
			require.NoError(t, err)
		}
		require.Len(t, rigs[0].memories(t), 1)
		assert.EqualValues(t, len(ids), rigs[1].memories(t)[0].Metadata["calls_total"])
		assert.Zero(t, rigs[1].tool(t, "search").New)
	})
}

// The same calls give the same on every store, statistics and guideline alike.
func TestEveryStoreTellsTheSame(t *testing.T) {
	var first *toolmem.Tool
	everyStore(t, func(t *testing.T, c *clock, open func() store.Store) {
		r := newRig(t, setup{store: open(), clock: c})
		r.record(t, f2()...)
		for _, x := range calls("search", 10, 14) {
			x.Input, x.Error, x.Output = object("城市", "北京", "n", 1.0), "请求超时", ""
			r.record(t, x)
		}
		r.force(t, "search")
		got := r.tool(t, "search")
		got.Memory.Version = 0
		if first == nil {
			first = &got
		}
		assert.Equal(t, first.Statistics, got.Statistics)
		assert.Equal(t, first.Text, got.Text)
		assert.Equal(t, first.Calls, got.Calls)
		assert.Equal(t, first.Memory.Text, got.Memory.Text)
	})
}
