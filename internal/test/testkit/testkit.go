// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package testkit has the common parts of tests, which need no network: chat models that follow a
// script or learn by marks, an embedder that hashes words, a clock that is set, checkpoints in a
// folder, and child processes. It has stores, and one that counts its calls and lets them fail.
// Package testredis has the parts for Redis, with the faults of a network.
package testkit

import (
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// must returns the result of a call that must succeed.
func must[T any](v T, err error) func(t require.TestingT) T {
	return func(t require.TestingT) T {
		require.NoError(t, err)
		return v
	}
}

// Long says that tests may take minutes, and run at their full sizes: EINOMEM_LONG is "1".
func Long() bool { return os.Getenv("EINOMEM_LONG") == "1" }

// Several returns full where tests are [Long], else usual. A test calls one of them, itself or
// through functions of its package: by that CI knows what to run at full size.
func Several(usual, full int) int {
	if Long() {
		return full
	}
	return usual
}

// Clock is a clock that moves when a test moves it. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at noon of 7 March 2026, UTC.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)} }

// Now is a backends.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d, which may be negative, and returns the time then.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// Set moves the clock to t.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// SQLite returns a store in memory that is closed with the test.
func SQLite(t testing.TB, options ...func(*sqlitestore.Config)) *sqlitestore.Store {
	t.Helper()
	return File(t, sqlitestore.Memory, options...)
}

// File returns a store in a file, which other processes may have open, that is closed with
// the test.
func File(t testing.TB, path string, options ...func(*sqlitestore.Config)) *sqlitestore.Store {
	t.Helper()
	cfg := &sqlitestore.Config{Relaxed: true, BusyTimeout: time.Minute}
	for _, o := range options {
		o(cfg)
	}
	s := must(sqlitestore.Open(t.Context(), path, cfg))(t)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Redis returns a silent store that is closed with the test: on c, or on an imitation of
// a server if c is nil.
func Redis(t testing.TB, c redis.UniversalClient, options ...func(*redisstore.Config)) *redisstore.Store {
	t.Helper()
	if c == nil {
		c = redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr(), ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = c.Close() })
	}
	cfg := &redisstore.Config{Logger: slog.New(slog.DiscardHandler)}
	for _, o := range options {
		o(cfg)
	}
	s := must(redisstore.New(t.Context(), c, cfg))(t)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// EachStore runs a test on SQLite and on an imitation of Redis, with the store's own
// clock.
func EachStore(t *testing.T, test func(t *testing.T, db store.Store, clock *Clock)) {
	t.Run("sqlite", func(t *testing.T) {
		clock := NewClock()
		test(t, SQLite(t, func(c *sqlitestore.Config) { c.Clock = clock.Now }), clock)
	})
	t.Run("redis", func(t *testing.T) {
		clock := NewClock()
		test(t, Redis(t, nil, func(c *redisstore.Config) { c.Clock = clock.Now }), clock)
	})
}

// User returns messages of a user, in order.
func User(texts ...string) []backends.Message {
	out := make([]backends.Message, len(texts))
	for i, s := range texts {
		out[i] = backends.Message{Message: schema.UserMessage(s)}
	}
	return out
}

// Turn returns a user's question and the assistant's answer.
func Turn(question, answer string) []*schema.Message {
	return []*schema.Message{schema.UserMessage(question), schema.AssistantMessage(answer, nil)}
}
