// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/test/testredis"
)

func dial(t *testing.T, n *testredis.Network, m *miniredis.Miniredis) net.Conn {
	conn, err := n.Dial(t.Context(), "tcp", m.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ping sends PING, and reads the answer until it is whole or the connection ends.
func ping(conn net.Conn) error {
	if _, err := io.WriteString(conn, "*1\r\n$4\r\nPING\r\n"); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, len("+PONG\r\n")))
	return err
}

func TestNetworkCarriesAndCuts(t *testing.T) {
	m, n := miniredis.RunT(t), &testredis.Network{}
	conns := []net.Conn{dial(t, n, m), dial(t, n, m)}
	for range 3 {
		for _, c := range conns {
			require.NoError(t, ping(c))
		}
	}
	assert.Zero(t, n.Cuts())

	waiting := make(chan error)
	go func() { _, err := conns[0].Read(make([]byte, 1)); waiting <- err }()
	n.CutAll()
	require.ErrorContains(t, <-waiting, "reset")
	assert.Equal(t, 2, n.Cuts())
	for _, c := range conns {
		require.ErrorContains(t, ping(c), "reset")
		_, err := c.Read(make([]byte, 1))
		require.ErrorContains(t, err, "reset")
	}
	require.NoError(t, ping(dial(t, n, m)), "new connections stand")
	require.Eventually(t, func() bool { return m.CurrentConnectionCount() == 1 }, time.Minute, time.Millisecond)
}

func TestNetworkRefusesAndRedirects(t *testing.T) {
	m, n := miniredis.RunT(t), &testredis.Network{}
	before := dial(t, n, m)
	require.NoError(t, ping(before))
	n.Refuse(true)
	require.ErrorContains(t, ping(dial(t, n, m)), "reset")
	require.ErrorContains(t, ping(before), "reset")
	assert.Equal(t, 2, n.Cuts())
	n.Refuse(false)
	before = dial(t, n, m)
	require.NoError(t, ping(before))

	other := miniredis.RunT(t)
	n.Redirect(other.Addr())
	require.ErrorContains(t, ping(before), "reset")
	addr := m.Addr()
	m.Close()
	moved, err := n.Dial(t.Context(), "tcp", addr)
	require.NoError(t, err)
	require.NoError(t, ping(moved))
	require.NoError(t, moved.Close())
	other.Close()
	_, err = n.Dial(t.Context(), "tcp", addr)
	require.ErrorContains(t, err, "refused", "the server is gone")
}

func TestNetworkDelays(t *testing.T) {
	n := &testredis.Network{}
	conn := dial(t, n, miniredis.RunT(t))
	n.Delay(20 * time.Millisecond)
	start := time.Now()
	require.NoError(t, ping(conn))
	assert.GreaterOrEqual(t, time.Since(start), 40*time.Millisecond)
}

func TestNetworkCutsRandomly(t *testing.T) {
	m := miniredis.RunT(t)
	// lives returns how many answers each of so many connections, one after the other, gets.
	lives := func(n *testredis.Network, connections int) (all []int) {
		for range connections {
			conn, answers := dial(t, n, m), 0
			for ; answers < 2000; answers++ {
				if err := ping(conn); err != nil {
					require.ErrorContains(t, err, "reset")
					break
				}
			}
			all = append(all, answers)
			_ = conn.Close()
		}
		return all
	}
	const connections = 40
	run := func(seed uint64) []int {
		n := &testredis.Network{}
		n.CutRandomly(seed, 2100)
		return lives(n, connections)
	}
	first := run(1)
	assert.Equal(t, first, run(1))
	assert.NotEqual(t, first, run(2))
	slices.Sort(first)
	assert.Greater(t, first[connections-1], 2*first[connections/4], "they differ: %v", first)
	sum := 0
	for _, v := range first {
		sum += v
	}
	assert.InDelta(t, 100, sum/connections, 50, "a ping takes 21 bytes: %v", first)

	n := &testredis.Network{}
	conn := dial(t, n, m)
	require.NoError(t, ping(conn))
	n.CutRandomly(7, 1)
	require.Eventually(t, func() bool { return ping(conn) != nil }, time.Minute, time.Millisecond, "those that stand are cut too")
	n.CutRandomly(7, 0)
	assert.Equal(t, []int{2000}, lives(n, 1))
}

// The server has done it, and a client that retries does it twice.
func TestNetworkLosesReplies(t *testing.T) {
	m, n := miniredis.RunT(t), &testredis.Network{}
	ctx := t.Context()
	client := func(retries int) *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: retries, Dialer: n.Dial})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := client(-1)
	n.LoseReplies(2)
	for i := range 2 {
		require.Error(t, c.Incr(ctx, "n").Err())
		got, err := m.Get("n")
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprint(i+1), got)
	}
	require.EqualValues(t, 3, c.Incr(ctx, "n").Val())
	assert.Equal(t, 2, n.Cuts())
	n.LoseReplies(1)
	require.EqualValues(t, 5, client(3).Incr(ctx, "n").Val())

	n.LoseReplies(1, "SET", "lpush")
	require.NoError(t, c.Incr(ctx, "n").Err())
	_, err := c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.LPush(ctx, "l", strings.Repeat("x", 100_000)) // in several pieces
		pipe.Incr(ctx, "n")
		return nil
	})
	require.Error(t, err)
	require.NoError(t, c.Set(ctx, "k", "v", 0).Err(), "one was all")
	list, err := m.List("l")
	require.NoError(t, err)
	assert.Len(t, list, 1)
}
