// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/faultproxy"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/internal/testredis"
	"github.com/einomem/einomem/middleware"
)

// site is a Redis that keeps all that it acknowledges, behind a proxy.
type site struct {
	t      *testing.T
	server *testredis.Server
	proxy  *faultproxy.Proxy
	admin  *redis.Client
}

func newSite(t *testing.T) *site {
	server := testredis.Need(t).Start(t, "--appendonly", "yes", "--appendfsync", "always")
	return &site{t: t, server: server, proxy: faultproxy.Start(t, server.Addr), admin: server.Client(t)}
}

func (s *site) store() *redisstore.Store {
	s.t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.proxy.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, ReadTimeout: 200 * time.Millisecond})
	s.t.Cleanup(func() { _ = c.Close() })
	out, err := redisstore.New(context.Background(), c, &redisstore.Config{Retry: time.Millisecond})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, out.Close()) })
	return out
}

// do gives the server a command.
func (s *site) do(words ...any) func(t *testing.T) {
	return func(t *testing.T) { require.NoError(t, s.admin.Do(context.Background(), words...).Err()) }
}

// outage is one way in which Redis fails.
type outage struct {
	begin, end func(t *testing.T)
	reads      bool // what was stored can be read meanwhile
	works      bool // it is only slow: nothing fails
}

func outages(s *site) map[string]outage {
	return map[string]outage{
		"refuses connections": {begin: func(*testing.T) { s.proxy.Refuse(true); s.proxy.CutAll() }, end: func(*testing.T) { s.proxy.Refuse(false) }},
		"hangs":               {begin: func(*testing.T) { s.proxy.Freeze(true) }, end: func(*testing.T) { s.proxy.Freeze(false) }},
		"is killed":           {begin: func(*testing.T) { s.server.Kill() }, end: func(*testing.T) { s.server.Restart() }},
		"is slow":             {begin: func(*testing.T) { s.proxy.Delay(2 * time.Millisecond) }, end: func(*testing.T) { s.proxy.Delay(0) }, reads: true, works: true},
		"is out of memory":    {begin: s.do("config", "set", "maxmemory", 1), end: s.do("config", "set", "maxmemory", 0), reads: true},
		"is read-only":        {begin: s.do("replicaof", "127.0.0.1", 1), end: s.do("replicaof", "no", "one"), reads: true},
		"lacks replicas":      {begin: s.do("config", "set", "min-replicas-to-write", 1), end: s.do("config", "set", "min-replicas-to-write", 0), reads: true},
		"forbids scripts":     {begin: s.do("acl", "setuser", "default", "-evalsha", "-eval"), end: s.do("acl", "setuser", "default", "+@all")},
		"changes its password": {begin: func(t *testing.T) { s.do("config", "set", "requirepass", "new")(t); s.proxy.CutAll() },
			end: s.do("config", "set", "requirepass", "")},
	}
}

// However Redis fails, the agent answers; OnError hears that memory is not
// available; neither the note nor a tool says that there is no memory; and what was
// said meanwhile is learnt, once, when Redis is back.
func TestRedisFails(t *testing.T) {
	var names []string
	for name := range outages(nil) {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			fault := outages(s)[name]
			store := s.store()
			var told failures
			b := verbatim(t, store)
			mem := open(t, &middleware.Config{
				Backend: b, SearchTimeout: 300 * time.Millisecond, OnError: told.tell,
				Working: &working.Config{Backoff: time.Millisecond, Idle: time.Millisecond, Sweep: -1},
			})
			newAgent(t, mem, testkit.Text("Noted.")).reply(as("ann", "monday"), "I live in Bergen.")
			require.NoError(t, mem.Flush(t.Context()))

			fault.begin(t)
			a := newAgent(t, mem, testkit.Call("1", "search_memory", `{"keywords":["Bergen"]}`), testkit.Text("still here"))
			require.Equal(t, "still here", a.reply(as("ann", "tuesday"), "My cat is called Miso. Where do I live?"))
			require.Equal(t, "me too", newAgent(t, mem, testkit.Text("me too")).reply(as("ann", "tuesday"), "I also have a dog."))
			assertNothingInvented(t, a, fault.reads)
			if !fault.works {
				flushed, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				require.Error(t, mem.Flush(flushed), "it is not learnt yet, and says so")
				cancel()
			}
			if !fault.reads {
				requireUnavailable(t, told.at("search"))
				requireUnavailable(t, told.at("search_memory"))
			}

			fault.end(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for mem.Flush(ctx) != nil {
				require.NoError(t, ctx.Err())
			}
			want := []string{"I live in Bergen.", "Noted.", "My cat is called Miso. Where do I live?", "still here", "I also have a dog.", "me too"}
			require.ElementsMatch(t, want, list(t, b, "ann"))
			after := newAgent(t, mem, testkit.Text("ok"))
			after.reply(as("ann", "wednesday"), "What is my cat called, and where do I live?")
			note := after.note(t, 0).Content
			assert.Contains(t, note, "Bergen")
			assert.Contains(t, note, "Miso")
		})
	}
}

// assertNothingInvented looks at what the model saw: the memory or that there is
// none to be had now, and never that there is nothing.
func assertNothingInvented(t *testing.T, a *agent, reads bool) {
	t.Helper()
	calls := a.model.Calls()
	last := calls[len(calls)-1]
	result := last[len(last)-1]
	require.Equal(t, schema.Tool, result.Role)
	assert.NotContains(t, strings.ToLower(result.Content), "no relevant memories")
	assert.NotContains(t, strings.ToLower(result.Content), "not found")
	if reads {
		assert.Contains(t, result.Content, "I live in Bergen.")
		assert.Contains(t, a.note(t, 0).Content, "I live in Bergen.")
		return
	}
	assert.Contains(t, result.Content, "Memory is not available now.")
	assert.Empty(t, a.notes(0))
}

func requireUnavailable(t *testing.T, errs []error) {
	t.Helper()
	require.NotEmpty(t, errs)
	for _, err := range errs {
		require.True(t, errors.Is(err, backends.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded), "%v", err)
		require.NotErrorIs(t, err, backends.ErrNotFound)
	}
}

// With AwaitWrite a turn that cannot be recorded is not kept by anybody: OnError
// hears it, with the turn. What was recorded is learnt later.
func TestRedisFailsWhileARecordIsAwaited(t *testing.T) {
	s := newSite(t)
	var told failures
	b := verbatim(t, s.store())
	mem := open(t, &middleware.Config{Backend: b, AwaitWrite: true, OnError: told.tell, SearchTimeout: 300 * time.Millisecond, Working: &working.Config{Sweep: -1}})
	newAgent(t, mem, testkit.Text("one")).reply(as("ann", "monday"), "I live in Bergen.")
	s.proxy.Refuse(true)
	s.proxy.CutAll()
	require.Equal(t, "two", newAgent(t, mem, testkit.Text("two")).reply(as("ann", "monday"), "I have a cat."))
	requireUnavailable(t, told.at("record"))
	s.proxy.Refuse(false)
	require.Equal(t, "three", newAgent(t, mem, testkit.Text("three")).reply(as("ann", "monday"), "I have a dog."))
	require.NoError(t, mem.Flush(t.Context()))
	require.Subset(t, list(t, b, "ann"), []string{"I live in Bergen.", "one", "I have a dog.", "three"})
}

// A process that ends during the outage names the turns that it could not record.
func TestRedisIsDownWhenTheProcessEnds(t *testing.T) {
	s := newSite(t)
	var told failures
	store := s.store()
	mem, err := middleware.New(t.Context(), &middleware.Config{Backend: verbatim(t, store), OnError: told.tell, SearchTimeout: 300 * time.Millisecond,
		Working: &working.Config{Backoff: time.Millisecond, Sweep: -1}})
	require.NoError(t, err)
	s.proxy.Refuse(true)
	s.proxy.CutAll()
	require.Equal(t, "ok", newAgent(t, mem, testkit.Text("ok")).reply(asAnn(), "I have a cat."))
	err = mem.Close(t.Context())
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "1 recorded turns were not appended and are lost")
	requireUnavailable(t, told.at("append"))
}

// A queue that is full holds up no reply for ever: the turn is reported.
func TestRedisIsDownForLong(t *testing.T) {
	s := newSite(t)
	var told failures
	mem := open(t, &middleware.Config{Backend: verbatim(t, s.store()), OnError: told.tell, SearchTimeout: 50 * time.Millisecond,
		Working: &working.Config{Queue: 2, Backoff: time.Millisecond, Sweep: -1}})
	s.proxy.Refuse(true)
	s.proxy.CutAll()
	for i := range 4 {
		ctx, cancel := context.WithTimeout(as("ann", fmt.Sprint(i)), 500*time.Millisecond)
		require.Equal(t, "ok", newAgent(t, mem, testkit.Text("ok")).reply(ctx, "I have a cat."))
		cancel()
	}
	require.Len(t, told.at("record"), 2)
	require.ErrorContains(t, told.at("record")[0], "the queue of 2 is full")
	s.proxy.Refuse(false)
	require.Eventually(t, func() bool { return mem.Flush(t.Context()) == nil }, time.Minute, 10*time.Millisecond)
}
