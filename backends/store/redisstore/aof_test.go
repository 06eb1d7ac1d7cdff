// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// A server that syncs its file for every write is killed in the midst of writes and
// started again: clients go on by themselves, and nothing they were told is lost or
// there twice.
func TestAServerThatIsKilledLosesNothingAcknowledged(t *testing.T) {
	flavours := testredis.Flavours()
	if len(flavours) == 0 || !long() {
		flavours = []testredis.Flavour{testredis.Need(t)}
	}
	for _, f := range flavours {
		t.Run(f.Name, func(t *testing.T) { killServer(t, f.Start(t, "--appendonly", "yes", "--appendfsync", "always")) })
	}
}

func killServer(t *testing.T, server *testredis.Server) {
	open := func() (redis.UniversalClient, *redisstore.Store) {
		c := server.Client(t)
		return c, newStore(t, c, &redisstore.Config{Retry: time.Minute})
	}
	c, s := open()
	_, err := s.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{put("count", ""), put("bare", "")}})
	require.NoError(t, err)
	const rivals = 8
	kills := several(2, 10)
	var stop atomic.Bool
	var acks [rivals]atomic.Int64
	var all errgroup.Group
	for n := range rivals {
		_, mine := open()
		all.Go(func() error {
			for i := 0; !stop.Load(); i++ {
				if err := compete(t.Context(), mine, fmt.Sprint(n, "-", i)); err != nil {
					return err
				}
				if _, err := mine.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{store.Increment("bare", "n", 1)}}); err != nil {
					return err
				}
				acks[n].Add(1)
			}
			return nil
		})
	}
	total := func() (n int64) {
		for i := range acks {
			n += acks[i].Load()
		}
		return n
	}
	for range kills {
		from := total()
		require.Eventually(t, func() bool { return total() > from+10*rivals }, time.Minute, time.Millisecond, "clients go on")
		server.Kill()
		server.Restart()
	}
	stop.Store(true)
	require.NoError(t, all.Wait())
	var done int
	for n := range rivals {
		count := int(acks[n].Load())
		done += count
		for i := range count {
			for _, suffix := range []string{"a", "b"} {
				there, err := c.SIsMember(t.Context(), "{em:n:user:ann}:s:log:ids", fmt.Sprint(n, "-", i, suffix)).Result()
				require.NoError(t, err)
				require.True(t, there)
			}
			got, err := s.Get(t.Context(), ann, fmt.Sprint(n, "-", i))
			require.NoError(t, err)
			require.Len(t, got, 1)
		}
	}
	require.Equal(t, done, counter(t, s, "count"))
	require.Equal(t, done, counter(t, s, "bare"))
	st, err := s.Session(t.Context(), ann, "log")
	require.NoError(t, err)
	require.EqualValues(t, 2*done, st.LastSeq)
	checkIntegrity(t, c, s, ann)
	t.Logf("%d kills, %d writes acknowledged", kills, 3*done)
}
