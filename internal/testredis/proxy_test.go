// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testredis"
)

// echo is a server that sends back what it gets, a byte changed to its successor.
type echo struct {
	addr  string
	ended chan error // how each connection ended

	mu  sync.Mutex
	got bytes.Buffer // from all connections
}

func startEcho(t *testing.T) *echo {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e := &echo{addr: l.Addr().String(), ended: make(chan error, 1000)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { e.ended <- e.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	return e
}

func (e *echo) serve(conn net.Conn) error {
	defer conn.Close()
	buf := make([]byte, 1<<10)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		e.mu.Lock()
		e.got.Write(buf[:n])
		e.mu.Unlock()
		for i := range buf[:n] {
			buf[i]++
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			return err
		}
	}
}

func (e *echo) received() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got.String()
}

func dial(t *testing.T, p *testredis.Proxy) net.Conn {
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// exchange writes, and returns what comes back until as much was read or the connection ends.
func exchange(conn net.Conn, what string) (string, error) {
	if _, err := conn.Write([]byte(what)); err != nil {
		return "", err
	}
	buf := make([]byte, len(what))
	n, err := io.ReadFull(conn, buf)
	return string(buf[:n]), err
}

// attempt connects and sends something; a reset may come as early as that.
func attempt(p *testredis.Proxy) error {
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = exchange(conn, "a")
	return err
}

// requireSilence requires that nothing comes from a connection for a moment.
func requireSilence(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Millisecond)))
	n, err := conn.Read(make([]byte, 1))
	assert.Zero(t, n)
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	assert.True(t, timeout.Timeout())
	require.NoError(t, conn.SetReadDeadline(time.Time{}))
}

func TestForwards(t *testing.T) {
	e := startEcho(t)
	p := testredis.StartProxy(t, e.addr)
	a, b := dial(t, p), dial(t, p)
	for range 3 {
		got, err := exchange(a, "abc")
		require.NoError(t, err)
		assert.Equal(t, "bcd", got)
		got, err = exchange(b, "xy")
		require.NoError(t, err)
		assert.Equal(t, "yz", got)
	}
	require.NoError(t, a.Close())
	assert.Equal(t, io.EOF, <-e.ended, "an end is forwarded as an end")
	assert.Zero(t, p.Cuts())
}

func TestCutAllResets(t *testing.T) {
	e := startEcho(t)
	p := testredis.StartProxy(t, e.addr)
	conns := []net.Conn{dial(t, p), dial(t, p)}
	for _, c := range conns {
		_, err := exchange(c, "a")
		require.NoError(t, err)
	}
	p.CutAll()
	assert.Equal(t, 2, p.Cuts())
	for _, c := range conns {
		_, err := c.Read(make([]byte, 1))
		require.ErrorContains(t, err, "reset")
		require.ErrorContains(t, <-e.ended, "reset")
	}
	_, err := exchange(dial(t, p), "a")
	require.NoError(t, err, "new connections stand")
}

func TestRefuse(t *testing.T) {
	p := testredis.StartProxy(t, startEcho(t).addr)
	before := dial(t, p)
	_, err := exchange(before, "a")
	require.NoError(t, err)
	p.Refuse(true)
	require.Error(t, attempt(p))
	_, err = exchange(before, "a")
	require.NoError(t, err, "those that stand stay")
	assert.Equal(t, 1, p.Cuts())
	p.Refuse(false)
	require.NoError(t, attempt(p))
}

func TestServerThatIsGoneResets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	p := testredis.StartProxy(t, l.Addr().String())
	require.Error(t, attempt(p))

	p.Target(startEcho(t).addr)
	require.NoError(t, attempt(p))
}

func TestDelay(t *testing.T) {
	p := testredis.StartProxy(t, startEcho(t).addr)
	conn := dial(t, p)
	p.Delay(20 * time.Millisecond)
	start := time.Now()
	got, err := exchange(conn, "a")
	require.NoError(t, err)
	assert.Equal(t, "b", got)
	assert.GreaterOrEqual(t, time.Since(start), 40*time.Millisecond)

	p.Delay(time.Hour)
	_, err = conn.Write([]byte("a"))
	require.NoError(t, err)
	p.CutAll() // a cut does not wait
	_, err = conn.Read(make([]byte, 1))
	require.ErrorContains(t, err, "reset")
}

func TestFreezeIsHalfOpen(t *testing.T) {
	e := startEcho(t)
	p := testredis.StartProxy(t, e.addr)
	old := dial(t, p)
	_, err := exchange(old, "a")
	require.NoError(t, err)
	p.Freeze(true)
	p.Freeze(true)
	fresh := dial(t, p)
	for _, c := range []net.Conn{old, fresh} {
		_, err := c.Write([]byte("b"))
		require.NoError(t, err)
		requireSilence(t, c)
	}
	assert.Equal(t, "a", e.received())
	p.Freeze(false)
	p.Freeze(false)
	for _, c := range []net.Conn{old, fresh} {
		buf := make([]byte, 1)
		_, err := io.ReadFull(c, buf)
		require.NoError(t, err)
		assert.Equal(t, "c", string(buf))
	}

	p.Freeze(true)
	require.NoError(t, old.Close())
	requireSilence(t, fresh)
	assert.Empty(t, e.ended, "not even an end goes through")
	p.Freeze(false)
	assert.Equal(t, io.EOF, <-e.ended)
	p.Freeze(true)
	p.CutAll() // a cut does not wait
	require.ErrorContains(t, <-e.ended, "reset")
}

// lives returns how many bytes each of n connections, one after the other, returns.
func lives(t *testing.T, p *testredis.Proxy, n int) []int {
	var all []int
	for range n {
		conn, replies := dial(t, p), 0
		for replies < 10_000 {
			if _, err := exchange(conn, "a"); err != nil {
				require.NotEqual(t, io.EOF, err, "a reset is no end")
				break
			}
			replies++
		}
		all = append(all, replies)
		_ = conn.Close()
	}
	return all
}

func TestCutRandomlyDependsOnTheSeed(t *testing.T) {
	e := startEcho(t)
	const n = 40
	run := func(seed uint64) []int {
		p := testredis.StartProxy(t, e.addr)
		p.CutRandomly(seed, 100)
		return lives(t, p, n)
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
	assert.InDelta(t, 50, sum/n, 25, "requests and replies each with a mean of 100: %v", first)
}

func TestCutRandomlyTakesThoseThatStandAndEnds(t *testing.T) {
	p := testredis.StartProxy(t, startEcho(t).addr)
	conn := dial(t, p)
	_, err := exchange(conn, "a")
	require.NoError(t, err)
	p.CutRandomly(7, 1)
	for range 1000 {
		if _, err = exchange(conn, "a"); err != nil {
			break
		}
	}
	require.Error(t, err)
	p.CutRandomly(7, 0)
	assert.Equal(t, []int{10_000}, lives(t, p, 1))
}

func startMiniredis(t *testing.T, opts ...func(*redis.Options)) (*miniredis.Miniredis, *testredis.Proxy, *redis.Client) {
	m := miniredis.RunT(t)
	p := testredis.StartProxy(t, m.Addr())
	o := &redis.Options{Addr: p.Addr(), MaxRetries: -1}
	for _, opt := range opts {
		opt(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return m, p, c
}

func TestLoseRepliesLeavesTheOutcomeUnknown(t *testing.T) {
	m, p, c := startMiniredis(t)
	ctx := t.Context()
	p.LoseReplies(2)
	for i := range 2 {
		require.Error(t, c.Incr(ctx, "n").Err())
		got, err := m.Get("n")
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprint(i+1), got, "the server has done it")
	}
	n, err := c.Incr(ctx, "n").Result()
	require.NoError(t, err)
	assert.EqualValues(t, 3, n)
	assert.Equal(t, 2, p.Cuts())
}

func TestLoseRepliesMakesClientsThatRetryDoItTwice(t *testing.T) {
	_, p, c := startMiniredis(t, func(o *redis.Options) { o.MaxRetries = 3 })
	p.LoseReplies(1)
	n, err := c.Incr(t.Context(), "n").Result()
	require.NoError(t, err)
	assert.EqualValues(t, 2, n, "this is the trap that the mode is for")
}

func TestLoseRepliesOfCommandsAndPipelines(t *testing.T) {
	m, p, c := startMiniredis(t)
	ctx := t.Context()
	p.LoseReplies(1, "SET", "lpush")
	require.NoError(t, c.Incr(ctx, "n").Err())
	pipe := c.Pipeline()
	pipe.LPush(ctx, "l", strings.Repeat("x", 100_000)) // in several pieces
	pipe.Incr(ctx, "n")
	_, err := pipe.Exec(ctx)
	require.Error(t, err)
	require.NoError(t, c.Set(ctx, "k", "v", 0).Err(), "one was all")
	list, err := m.List("l")
	require.NoError(t, err)
	assert.Len(t, list, 1)
}

func TestDialerGoesThroughTheProxy(t *testing.T) {
	m, p, _ := startMiniredis(t)
	direct := miniredis.RunT(t)
	dialer := testredis.DialThrough(p)
	for _, c := range []struct {
		addr    string
		proxied bool
	}{{m.Addr(), true}, {direct.Addr(), false}} {
		client := redis.NewClient(&redis.Options{Addr: c.addr, Dialer: dialer, MaxRetries: -1})
		require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
		p.LoseReplies(1)
		err := client.Set(t.Context(), "k", "v", 0).Err()
		assert.Equal(t, c.proxied, err != nil, "%v", err)
		require.NoError(t, client.Close())
	}
}
