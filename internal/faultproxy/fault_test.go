// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package faultproxy_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/faultproxy"
)

func TestCutRequestAtEachByte(t *testing.T) {
	for after := range 5 {
		e := startEcho(t)
		p := faultproxy.Start(t, e.addr)
		p.CutRequest(int64(after))
		conn := dial(t, p)
		_, err := say(conn, "abcd")
		if after == 4 { // the cut waits for the next byte
			require.NoError(t, err)
			_, err = say(conn, "e")
		}
		require.Error(t, err)
		require.Error(t, <-e.ended)
		// A reset may overtake what the server has not read yet.
		assert.True(t, strings.HasPrefix("abcd"[:after], e.received()), "after %d: %q", after, e.received())
		assert.Equal(t, 1, p.Cuts())
		got, err := say(dial(t, p), "abcd")
		require.NoError(t, err, "it happens once")
		assert.Equal(t, "bcde", got)
	}
}

func TestCutReplyAtEachByte(t *testing.T) {
	for after := range 4 {
		e := startEcho(t)
		p := faultproxy.Start(t, e.addr)
		p.CutReply(int64(after))
		got, err := say(dial(t, p), "abcd")
		require.Error(t, err)
		assert.Equal(t, "abcd", e.received(), "the server has it")
		assert.True(t, strings.HasPrefix("bcde"[:after], got), "after %d: %q", after, got)
		assert.Equal(t, 1, p.Cuts())
		_, err = say(dial(t, p), "abcd")
		require.NoError(t, err, "it happens once")
	}
}

// lives returns how many bytes each of n connections, one after the other, hands back.
func lives(t *testing.T, p *faultproxy.Proxy, n int) []int {
	var all []int
	for range n {
		conn, replies := dial(t, p), 0
		for replies < 10_000 {
			if _, err := say(conn, "a"); err != nil {
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
		p := faultproxy.Start(t, e.addr)
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
	p := faultproxy.Start(t, startEcho(t).addr)
	conn := dial(t, p)
	_, err := say(conn, "a")
	require.NoError(t, err)
	p.CutRandomly(7, 1)
	for range 1000 {
		if _, err = say(conn, "a"); err != nil {
			break
		}
	}
	require.Error(t, err)
	p.CutRandomly(7, 0)
	assert.Equal(t, []int{10_000}, lives(t, p, 1))
}

func startMiniredis(t *testing.T, opts ...func(*redis.Options)) (*miniredis.Miniredis, *faultproxy.Proxy, *redis.Client) {
	m := miniredis.RunT(t)
	p := faultproxy.Start(t, m.Addr())
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
	dialer := faultproxy.Dialer(p)
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
