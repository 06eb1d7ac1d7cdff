// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package faultproxy is a TCP proxy for tests that breaks connections on purpose:
// it resets, refuses, delays and freezes them, cuts them in the middle of a request
// or of a reply, and loses replies to requests that the server has carried out, which
// leaves a client with an unknown outcome.
//
//	p := faultproxy.Start(t, server.Addr)
//	client := redis.NewClient(&redis.Options{Addr: p.Addr()})
//	p.LoseReplies(1) // the next command runs, and its client learns nothing
package faultproxy

import (
	"context"
	"net"
	"sync"
	"testing"
)

// Proxy hands on what a client and a server say to each other, but for the faults that
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

// Start starts a proxy on a free port of the loopback, which ends with the test.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		t.Fatalf("listen: %v", err)
	}
	p := &Proxy{listener: l, ctx: ctx, target: target, links: make(map[*link]struct{})}
	p.faults.thawed = closed()
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

// Target makes new connections go to another server, as when an address moves in a
// failover. Those that stand stay; see CutAll.
func (p *Proxy) Target(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

// Cuts returns how many connections the proxy has reset, those refused included.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// Dialer returns a dialer for redis.Options and redis.ClusterOptions that reaches
// each proxy's target through the proxy, and other addresses directly.
func Dialer(proxies ...*Proxy) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		for _, p := range proxies {
			if p.targets(addr) {
				addr = p.Addr()
				break
			}
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

func (p *Proxy) targets(addr string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target == addr
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.serve(conn.(*net.TCPConn)) })
	}
}

// serve links a client to the server until one of them or a fault ends it.
func (p *Proxy) serve(client *net.TCPConn) {
	target, n, refused := p.admit()
	if refused {
		reset(client)
		return
	}
	conn, err := new(net.Dialer).DialContext(p.ctx, "tcp", target)
	if err != nil {
		reset(client)
		return
	}
	l := &link{proxy: p, client: client, server: conn.(*net.TCPConn), done: make(chan struct{})}
	if !p.add(l, n) {
		l.end(true)
		return
	}
	p.running.Go(func() { l.pump(request, l.client, l.server) })
	l.pump(reply, l.server, l.client)
}

// admit counts a connection, and says where it goes.
func (p *Proxy) admit() (target string, n uint64, refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	if p.faults.refuse {
		p.cuts++
	}
	return p.target, p.accepted, p.faults.refuse
}

// add says whether the proxy still runs.
func (p *Proxy) add(l *link, n uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.links[l] = struct{}{}
	l.left = p.faults.random.draw(n)
	return true
}

func (p *Proxy) remove(l *link, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cut {
		p.cuts++
	}
	delete(p.links, l)
}
