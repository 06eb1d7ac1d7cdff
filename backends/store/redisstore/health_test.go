// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

func (o *ops) health() *redisstore.Health {
	o.Helper()
	h, err := o.Health(o.ctx)
	require.NoError(o, err)
	return h
}

// about are the warnings that contain a text.
func about(h *redisstore.Health, text string) (out []string) {
	for _, w := range h.Warnings {
		if strings.Contains(w, text) {
			out = append(out, w)
		}
	}
	return out
}

func healthOfWhatIsStored(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	o := newOps(t, open)
	o.apply(&store.Batch{}) // nothing
	h := o.health()
	require.Equal(t, redisstore.Backlog{Partitions: 1, Sessions: 2, Messages: 2, Oldest: *o.now, Complete: true}, h.Backlog)
	require.Empty(t, h.Drift)
	require.NotEmpty(t, h.Servers)

	*o.now = o.now.Add(30 * time.Minute)
	require.Equal(t, 30*time.Minute, o.health().Backlog.Age)
	require.Empty(t, about(o.health(), "not learnt from"))
	*o.now = o.now.Add(30 * time.Minute)
	h = o.health()
	require.Equal(t, redisstore.Backlog{Partitions: 1, Sessions: 1, Messages: 1, Oldest: o.now.Add(-time.Hour), Age: time.Hour, Complete: true}, h.Backlog, "the other has ended")
	require.Len(t, about(h, "1h0m0s ago: is a worker running"), 1)

	all := int64(3)
	_, err := o.Update(o.ctx, o.p, &store.SessionUpdate{Session: "s", Watermark: &all})
	require.NoError(t, err)
	require.Equal(t, redisstore.Backlog{Complete: true}, o.health().Backlog)
}

func healthOfDrift(t *testing.T, open func(testing.TB) redis.UniversalClient) {
	for _, d := range []struct {
		what string
		do   []any
	}{
		{"3 records, 2 of them in the order of changes", []any{"ZREM", "T:chg", "b"}},
		{"4 vectors of 3 records", []any{"HSET", "T:vec", "x", "y"}},
		{"4 idempotency keys, 3 of them to be forgotten", []any{"ZREM", "T:idemt", "k:turn-1"}},
		{"4 pending sessions of 3", []any{"ZADD", "T:pend", "1", "x", "1", "y"}},
		{"5 sessions, 4 of them ever created", []any{"ZADD", "T:sess", "1", "x", "1", "y"}},
		{"changes of version 3, the partition has 0", []any{"HDEL", "T:meta", "ver"}},
		{"version 3 with 0 nonces", []any{"DEL", "T:tips"}},
		{"3 records and 4 sessions without a life", []any{"HDEL", "T:meta", "inc"}},
	} {
		o := newOps(t, open)
		o.damage([][]any{d.do})
		h := o.health()
		require.Len(t, h.Drift, 1, d.what)
		require.Equal(t, o.p, h.Drift[0].Partition)
		require.Contains(t, h.Drift[0].What, d.what)
		require.Len(t, about(h, d.what), 1)
		require.Contains(t, h.Warnings[len(h.Warnings)-1], "n/user/ann: its indexes disagree")
		o.repair()
		require.Empty(t, o.health().Drift, d.what)
	}
}

// Much work is looked at in part, with as many commands as little.
func TestHealthIsBounded(t *testing.T) {
	o := emptyOps(t, quick(t))
	for n := range 200 {
		p := backends.Partition{Namespace: fmt.Sprint("n", n%20), Kind: backends.PartitionUser, ID: fmt.Sprint(n)}
		for s := range 1 + n%2*20 {
			_, err := o.Append(o.ctx, p, fmt.Sprint(s), &store.Append{Entries: []store.Entry{spoke("m", 1)}})
			require.NoError(t, err)
		}
	}
	trips := &tally{}
	raw, ok := o.raw.(*redis.Client)
	require.True(t, ok)
	raw.AddHook(trips)
	h := o.health()
	require.False(t, h.Backlog.Complete)
	require.Equal(t, 128, h.Backlog.Partitions)
	require.LessOrEqual(t, h.Backlog.Sessions, 128*16)
	require.Greater(t, h.Backlog.Sessions, 128)
	require.Equal(t, 7, trips.trips)
	require.Less(t, trips.commands, 2*128+2*128*16+20)
	t.Logf("200 partitions with 2,200 sessions: %d round trips, %d commands", trips.trips, trips.commands)
}

// tally counts what is sent.
type tally struct{ trips, commands int }

func (h *tally) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *tally) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.trips, h.commands = h.trips+1, h.commands+1
		return next(ctx, cmd)
	}
}

func (h *tally) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.trips, h.commands = h.trips+1, h.commands+len(cmds)
		return next(ctx, cmds)
	}
}

func TestHealthOfAServer(t *testing.T) {
	s := testredis.Need(t).Start(t, "--appendonly", "yes", "--maxmemory", "100mb")
	o := newOps(t, func(t testing.TB) redis.UniversalClient { return s.Client(t) })
	h := o.health()
	require.Len(t, h.Servers, 1)
	got := h.Servers[0]
	require.Contains(t, []string{"redis", "valkey"}, got.Name)
	require.Greater(t, got.MemoryUsed, int64(100_000))
	require.NotEmpty(t, got.Version)
	require.Equal(t, redisstore.ServerHealth{Address: s.Addr, Name: got.Name, Version: got.Version, Role: "master", Policy: "noeviction",
		MemoryUsed: got.MemoryUsed, MemoryLimit: 100 << 20, AppendOnly: true}, got)
	require.Empty(t, h.Warnings)

	for _, c := range [][3]string{
		{"appendonly", "no", "the append-only file is off"},
		{"maxmemory-policy", "allkeys-lru", "maxmemory-policy is allkeys-lru"},
		{"maxmemory", "2000000", "its memory is full to"},
	} {
		if c[0] == "maxmemory" {
			o.do("CONFIG", "SET", c[0], fmt.Sprint(o.health().Servers[0].MemoryUsed*100/95))
		} else {
			o.do("CONFIG", "SET", c[0], c[1])
		}
		require.Len(t, about(o.health(), s.Addr+": "+c[2]), 1, c[0])
	}
	o.do("REPLICAOF", "127.0.0.1", "1")
	require.Len(t, about(o.health(), "it is a replica"), 1)
}

func TestHealthCountsReplicas(t *testing.T) {
	s := testredis.Need(t).Start(t)
	st := newStore(t, s.Client(t), &redisstore.Config{Replicas: 1, ReplicaTimeout: time.Millisecond})
	h, err := st.Health(t.Context())
	require.NoError(t, err)
	require.Len(t, about(h, "0 replicas are connected, every write waits for 1"), 1)
}

// A server that is gone is an error, whenever it goes, and never a Health.
func TestHealthOfAServerThatIsGone(t *testing.T) {
	for n := range 7 {
		o := newOps(t, imitated)
		raw, ok := o.raw.(*redis.Client)
		require.True(t, ok)
		raw.AddHook(&goneAfter{left: n})
		h, err := o.Health(o.ctx)
		require.ErrorIs(t, err, backends.ErrUnavailable, "after %d round trips", n)
		require.Nil(t, h)
	}
	s := testredis.Need(t).Start(t)
	o := newOps(t, func(t testing.TB) redis.UniversalClient {
		return s.Client(t, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = 50*time.Millisecond, -1 })
	})
	s.Freeze()
	h, err := o.Health(o.ctx)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.Nil(t, h)
	s.Thaw()
	s.Kill()
	_, err = o.Health(o.ctx)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	ctx, cancel := context.WithCancel(o.ctx)
	cancel()
	_, err = o.Health(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, o.Close())
	_, err = o.Health(o.ctx)
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

// goneAfter answers some round trips, then none.
type goneAfter struct{ left int }

func (h *goneAfter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *goneAfter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.left--; h.left < 0 {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return next(ctx, cmd)
	}
}

func (h *goneAfter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if h.left--; h.left < 0 {
			for _, cmd := range cmds {
				cmd.SetErr(io.EOF)
			}
			return io.EOF
		}
		return next(ctx, cmds)
	}
}
