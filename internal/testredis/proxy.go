// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Proxy forwards what a client and a server send to each other, but for the faults that
// are set. Its methods are safe for use by multiple goroutines.
type Proxy struct {
	listener net.Listener
	ctx      context.Context // ends with the proxy
	running  sync.WaitGroup

	mu       sync.Mutex
	target   string
	links    map[*link]struct{} // those that stand
	accepted uint64             // connections so far
	cuts     int                // of them, those that faults have reset
	faults   faults
}

// faults are what is wrong now.
type faults struct {
	refuse bool
	delay  time.Duration
	frozen chan struct{} // closed when that ends; nil: not frozen
	seed   uint64        // of the random cuts
	mean   int64         // bytes between them; zero: none
	lose   int           // replies to lose
	of     []string      // the commands whose replies to lose; empty: any
}

// StartProxy starts a proxy on a free port of the loopback, which ends with the test.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		t.Fatalf("listen: %v", err)
	}
	p := &Proxy{listener: l, ctx: ctx, target: target, links: make(map[*link]struct{})}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		p.CutAll()
		p.running.Wait()
	})
	return p
}

// Addr returns the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// set changes what the mutex guards.
func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// Target makes new connections go to another server, as when an address moves in a
// failover. Those that stand stay; see CutAll.
func (p *Proxy) Target(addr string) { p.set(func() { p.target = addr }) }

// Cuts returns how many connections the proxy has reset, those refused included.
func (p *Proxy) Cuts() (n int) { p.set(func() { n = p.cuts }); return n }

// CutAll resets all connections that stand.
func (p *Proxy) CutAll() {
	var all []*link
	p.set(func() {
		for l := range p.links {
			all = append(all, l)
		}
	})
	for _, l := range all {
		l.end(true)
	}
}

// Refuse resets new connections as soon as they are made. Those that stand stay.
func (p *Proxy) Refuse(on bool) { p.set(func() { p.faults.refuse = on }) }

// Delay holds back each piece of a request and of a reply, of at most 32 KiB, for so
// long: a short round trip takes twice as much longer. Zero ends it.
func (p *Proxy) Delay(d time.Duration) { p.set(func() { p.faults.delay = d }) }

// Freeze makes connections half open: they are accepted and stand, and nothing goes
// through, not even their end. What was sent meanwhile goes through afterwards.
func (p *Proxy) Freeze(on bool) {
	p.set(func() {
		switch frozen := p.faults.frozen; {
		case on && frozen == nil:
			p.faults.frozen = make(chan struct{})
		case !on && frozen != nil:
			close(frozen)
			p.faults.frozen = nil
		}
	})
}

// CutRandomly resets each connection, those that stand and new ones, after a random
// number of bytes in both directions together, meanBytes on average and more often
// small. It depends on the seed and on how many connections came before. A mean of zero
// ends it. A connection that is to be of any use must live through its set-up, of a few
// hundred bytes.
func (p *Proxy) CutRandomly(seed uint64, meanBytes int64) {
	p.set(func() {
		p.faults.seed, p.faults.mean = seed, meanBytes
		for l := range p.links {
			p.accepted++
			l.left = p.draw(p.accepted)
		}
	})
}

// LoseReplies drops the next n replies to those commands ("evalsha", "set"), whatever
// their case, and resets their connections: each command has been carried out, and its client
// does not know. Of a pipeline, the first command counts, and it alone has surely been
// carried out. Without commands it loses the replies to any, but for PING and those
// that set up a connection.
func (p *Proxy) LoseReplies(n int, commands ...string) {
	p.set(func() { p.faults.lose, p.faults.of = n, commands })
}

// DialThrough returns a dialer for redis.Options and redis.ClusterOptions that reaches
// each proxy's target through the proxy, and other addresses directly.
func DialThrough(proxies ...*Proxy) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		target := addr
		for _, p := range proxies {
			p.set(func() {
				if p.target == addr {
					target = p.Addr()
				}
			})
		}
		return new(net.Dialer).DialContext(ctx, network, target)
	}
}

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
