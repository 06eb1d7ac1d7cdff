// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// link is a client's connection to a [Proxy] and the one to the server that stands for it.
type link struct {
	proxy          *Proxy
	client, server *net.TCPConn
	once           sync.Once
	done           chan struct{} // closed when it has ended

	// The proxy's mutex guards these.
	left    int64  // bytes until a random cut
	command string // what the server is to reply to
	waiting bool   // for the first piece of that reply
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
	l := &link{proxy: p, client: client, done: make(chan struct{})}
	var target string
	var refuse bool
	p.set(func() {
		p.accepted++
		l.left = p.draw(p.accepted)
		target, refuse = p.target, p.faults.refuse
	})
	if !refuse {
		if conn, err := new(net.Dialer).DialContext(p.ctx, "tcp", target); err == nil {
			l.server = conn.(*net.TCPConn)
		}
	}
	p.set(func() { p.links[l] = struct{}{} })
	if l.server == nil || p.ctx.Err() != nil {
		l.end(true)
		return
	}
	p.running.Go(func() { l.pump(l.client, l.server) })
	l.pump(l.server, l.client)
}

// pump forwards what one side sends to the other, until the link ends.
func (l *link) pump(from, to *net.TCPConn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !l.hold() {
			return
		}
		pass, cut := 0, false
		if n > 0 {
			pass, cut = l.judge(from == l.server, buf[:n])
		}
		if pass > 0 {
			if _, werr := to.Write(buf[:pass]); werr != nil {
				err = werr
			}
		}
		if cut || err != nil {
			l.end(cut)
			return
		}
	}
}

// hold waits as long as the proxy is frozen or slow, and reports whether the link still stands.
func (l *link) hold() bool {
	var f faults
	look := func() { f = l.proxy.faults }
	l.proxy.set(look)
	if f.delay > 0 {
		select {
		case <-time.After(f.delay):
		case <-l.done:
			return false
		}
		l.proxy.set(look)
	}
	for f.frozen != nil {
		select {
		case <-f.frozen:
		case <-l.done:
			return false
		}
		l.proxy.set(look) // it may be frozen again
	}
	return true
}

// judge returns how much of a piece goes through, and whether the link ends after it.
// Clients wait for the replies to what they sent before they send more on the same
// connection: a reply is to the command that the last request began with.
func (l *link) judge(reply bool, piece []byte) (pass int, cut bool) {
	l.proxy.set(func() {
		f := &l.proxy.faults
		if !reply && !l.waiting {
			l.command = commandName(piece)
		}
		l.waiting = !reply
		if reply && f.lose > 0 && f.loses(l.command) {
			f.lose--
			cut = true
			return
		}
		pass = int(min(int64(len(piece)), l.left))
		l.left -= int64(pass)
		cut = pass < len(piece)
	})
	return pass, cut
}

// end closes both connections. A cut is a reset: the other side reads an error, not an end.
func (l *link) end(cut bool) {
	l.once.Do(func() {
		l.proxy.set(func() { // first: who sees the cut finds it counted
			delete(l.proxy.links, l)
			if cut {
				l.proxy.cuts++
			}
		})
		close(l.done)
		for _, c := range []*net.TCPConn{l.client, l.server} {
			if c == nil {
				continue
			}
			if cut {
				_ = c.SetLinger(0)
			}
			_ = c.Close()
		}
	})
}

// draw returns how many bytes connection n lives. The mutex is held.
func (p *Proxy) draw(n uint64) int64 {
	if p.faults.mean <= 0 {
		return math.MaxInt64
	}
	return int64(rand.New(rand.NewPCG(p.faults.seed, n)).ExpFloat64() * float64(p.faults.mean))
}

// setUp are the commands by which clients set up a connection or learn who serves what.
var setUp = []string{"auth", "client", "cluster", "command", "hello", "ping", "readonly", "readwrite", "select"}

func (f *faults) loses(command string) bool {
	if len(f.of) == 0 {
		return !slices.Contains(setUp, command)
	}
	return slices.ContainsFunc(f.of, func(c string) bool { return strings.EqualFold(c, command) })
}

// commandName returns the name of the first command of a piece of the Redis protocol, in lower
// case, or nothing for what is not the beginning of a command: *2\r\n$3\r\nGET\r\n…
func commandName(piece []byte) string {
	lines := strings.SplitN(string(piece[:min(len(piece), 128)]), "\r\n", 4)
	if len(lines) < 4 || !strings.HasPrefix(lines[0], "*") || !strings.HasPrefix(lines[1], "$") {
		return ""
	}
	return strings.ToLower(lines[2])
}
