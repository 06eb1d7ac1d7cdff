// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Site is a Redis that keeps all that it acknowledges, behind a proxy.
type Site struct {
	Server *Server
	Proxy  *Proxy

	t     testing.TB
	admin *redis.Client // past the proxy
}

// StartSite starts a site that belongs to one test.
func (f Flavour) StartSite(t testing.TB) *Site {
	t.Helper()
	s := &Site{t: t, Server: f.Start(t, "--appendonly", "yes", "--appendfsync", "always")}
	s.Proxy, s.admin = StartProxy(t, s.Server.Addr), s.Server.Client(t)
	return s
}

// Client returns a client by way of the proxy, that is closed when the test ends. It tries
// each command once, and waits for an answer until the command's context ends.
func (s *Site) Client() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Proxy.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Minute, WriteTimeout: time.Minute})
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Outage is one way in which a Redis fails.
type Outage struct {
	Begin, End func()
	Reads      bool // what was stored can be read meanwhile
	Logs       bool // logs can, which are read without scripts
	Works      bool // it is slow, or fails now and then
	Hangs      bool // calls end when their contexts do
}

// Outages returns ways in which the site can fail, by name.
func (s *Site) Outages() map[string]Outage {
	p := s.Proxy
	return map[string]Outage{
		"refuses connections":  {Begin: s.Refuse, End: func() { p.Refuse(false) }},
		"hangs":                {Begin: func() { p.Freeze(true) }, End: func() { p.Freeze(false) }, Hangs: true},
		"is killed":            {Begin: func() { s.Server.Kill() }, End: func() { s.Server.Restart() }},
		"is slow":              {Begin: func() { p.Delay(2 * time.Millisecond) }, End: func() { p.Delay(0) }, Reads: true, Works: true},
		"is out of memory":     {Begin: s.do("config", "set", "maxmemory", 1), End: s.do("config", "set", "maxmemory", 0), Reads: true},
		"is read-only":         {Begin: s.do("replicaof", "127.0.0.1", 1), End: s.do("replicaof", "no", "one"), Reads: true},
		"lacks replicas":       {Begin: s.do("config", "set", "min-replicas-to-write", 1), End: s.do("config", "set", "min-replicas-to-write", 0), Reads: true},
		"forbids scripts":      {Begin: s.do("acl", "setuser", "default", "-evalsha", "-eval"), End: s.do("acl", "setuser", "default", "+@all"), Logs: true},
		"changes its password": {Begin: func() { s.do("config", "set", "requirepass", "new")(); p.CutAll() }, End: s.do("config", "set", "requirepass", "")},
		"loses replies":        {Begin: func() { p.LoseReplies(1<<30, "evalsha", "eval") }, End: func() { p.LoseReplies(0) }, Logs: true},
		"cuts connections":     {Begin: func() { p.CutRandomly(7, 6000) }, End: func() { p.CutRandomly(7, 0) }, Reads: true, Works: true},
	}
}

// Refuse resets all connections, and new ones until the proxy's Refuse(false).
func (s *Site) Refuse() {
	s.Proxy.Refuse(true)
	s.Proxy.CutAll()
}

// do has the server carry out a command.
func (s *Site) do(words ...any) func() {
	return func() {
		s.t.Helper()
		require.NoError(s.t, s.admin.Do(context.Background(), words...).Err())
	}
}
