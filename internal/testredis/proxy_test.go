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

	"github.com/einomem/einomem/internal/testredis"
)

func startProxy(t *testing.T) (*miniredis.Miniredis, *testredis.Proxy) {
	m := miniredis.RunT(t)
	return m, testredis.StartProxy(t, m.Addr())
}

func dial(t *testing.T, p *testredis.Proxy) net.Conn {
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

const pingCommand = "*1\r\n$4\r\nPING\r\n"

// ping sends PING, and reads the answer until it is whole or the connection ends.
func ping(conn net.Conn) error {
	if _, err := io.WriteString(conn, pingCommand); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, len("+PONG\r\n")))
	return err
}

func TestProxyForwardsAndCuts(t *testing.T) {
	m, p := startProxy(t)
	conns := []net.Conn{dial(t, p), dial(t, p)}
	for range 3 {
		for _, c := range conns {
			require.NoError(t, ping(c))
		}
	}
	assert.Zero(t, p.Cuts())

	p.CutAll()
	assert.Equal(t, 2, p.Cuts())
	for _, c := range conns {
		_, err := c.Read(make([]byte, 1))
		require.ErrorContains(t, err, "reset")
	}
	require.NoError(t, ping(dial(t, p)), "new connections stand")
	require.Eventually(t, func() bool { return m.CurrentConnectionCount() == 1 }, time.Minute, time.Millisecond)
}

func TestProxyRefusesAndMoves(t *testing.T) {
	m, p := startProxy(t)
	// refused is true too if the reset comes as early as in the handshake.
	refused := func() bool {
		conn, err := net.Dial("tcp", p.Addr())
		if err != nil {
			return true
		}
		defer conn.Close()
		return ping(conn) != nil
	}
	before := dial(t, p)
	require.NoError(t, ping(before))
	p.Refuse(true)
	require.True(t, refused())
	require.NoError(t, ping(before), "those that stand stay")
	p.Refuse(false)
	require.False(t, refused())
	addr := m.Addr()
	m.Close()
	require.True(t, refused(), "the server is gone")
	p.Target(miniredis.RunT(t).Addr())
	require.False(t, refused())
	require.NotEqual(t, addr, p.Addr())
}

func TestProxyDelays(t *testing.T) {
	_, p := startProxy(t)
	conn := dial(t, p)
	p.Delay(20 * time.Millisecond)
	start := time.Now()
	require.NoError(t, ping(conn))
	assert.GreaterOrEqual(t, time.Since(start), 40*time.Millisecond)

	p.Delay(time.Hour)
	_, err := io.WriteString(conn, pingCommand)
	require.NoError(t, err)
	p.CutAll() // a cut does not wait
	_, err = conn.Read(make([]byte, 1))
	require.ErrorContains(t, err, "reset")
}

func TestProxyFreezes(t *testing.T) {
	m, p := startProxy(t)
	old := dial(t, p)
	require.NoError(t, ping(old))
	p.Freeze(true)
	p.Freeze(true)
	conns := []net.Conn{old, dial(t, p)}
	for _, c := range conns {
		require.NoError(t, c.SetDeadline(time.Now().Add(30*time.Millisecond)))
		var timeout net.Error
		require.ErrorAs(t, ping(c), &timeout)
		require.True(t, timeout.Timeout(), "it is half open")
	}
	p.Freeze(false)
	p.Freeze(false)
	for _, c := range conns {
		require.NoError(t, c.SetDeadline(time.Time{}))
		_, err := io.ReadFull(c, make([]byte, len("+PONG\r\n")))
		require.NoError(t, err, "what was sent meanwhile is answered")
	}
	p.Freeze(true)
	p.CutAll() // a cut does not wait
	require.Eventually(t, func() bool { return m.CurrentConnectionCount() == 0 }, time.Minute, time.Millisecond)
}

func TestProxyCutsRandomly(t *testing.T) {
	m, p := startProxy(t)
	// lives returns how many answers each of n connections, one after the other, gets.
	lives := func(p *testredis.Proxy, n int) (all []int) {
		for range n {
			conn, answers := dial(t, p), 0
			for ; answers < 2000; answers++ {
				if err := ping(conn); err != nil {
					require.NotEqual(t, io.EOF, err, "a reset is no end")
					break
				}
			}
			all = append(all, answers)
			_ = conn.Close()
		}
		return all
	}
	const n = 40
	run := func(seed uint64) []int {
		p := testredis.StartProxy(t, m.Addr())
		p.CutRandomly(seed, 2100)
		return lives(p, n)
	}
	first := run(1)
	assert.Equal(t, first, run(1))
	assert.NotEqual(t, first, run(2))
	slices.Sort(first)
	assert.Greater(t, first[n-1], 2*first[n/4], "they differ: %v", first)
	sum := 0
	for _, v := range first {
		sum += v
	}
	assert.InDelta(t, 100, sum/n, 50, "a ping takes 21 bytes: %v", first)

	conn := dial(t, p)
	require.NoError(t, ping(conn))
	p.CutRandomly(7, 1)
	require.Eventually(t, func() bool { return ping(conn) != nil }, time.Minute, time.Millisecond, "those that stand are cut too")
	p.CutRandomly(7, 0)
	assert.Equal(t, []int{2000}, lives(p, 1))
}

// The server has done it, and a client that retries does it twice.
func TestProxyLosesReplies(t *testing.T) {
	m, p := startProxy(t)
	ctx := t.Context()
	client := func(addr string, retries int) *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: retries, Dialer: testredis.DialThrough(p)})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := client(m.Addr(), -1)
	p.LoseReplies(2)
	for i := range 2 {
		require.Error(t, c.Incr(ctx, "n").Err())
		got, err := m.Get("n")
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprint(i+1), got)
	}
	require.EqualValues(t, 3, c.Incr(ctx, "n").Val())
	assert.Equal(t, 2, p.Cuts())
	p.LoseReplies(1)
	require.EqualValues(t, 5, client(m.Addr(), 3).Incr(ctx, "n").Val())
	p.LoseReplies(1)
	require.NoError(t, client(miniredis.RunT(t).Addr(), -1).Incr(ctx, "n").Err(), "another address is reached directly")
	require.Error(t, c.Incr(ctx, "n").Err())

	p.LoseReplies(1, "SET", "lpush")
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

func TestASiteWorksAfterEachOutage(t *testing.T) {
	s := testredis.Need(t).StartSite(t)
	c := s.Client()
	for name, outage := range s.Outages() {
		outage.Begin()
		outage.End()
		require.Eventually(t, func() bool { return c.Set(t.Context(), name, "v", 0).Err() == nil }, time.Minute, time.Millisecond, name)
		require.NoError(t, c.Eval(t.Context(), "return 1", nil).Err(), name)
	}
}
