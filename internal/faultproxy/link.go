// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"net"
	"sync"
	"time"
)

// direction is where bytes go.
type direction int

const (
	request direction = iota // from the client to the server
	reply                    // from the server to the client
)

// link is a client's connection and the one to the server that stands for it.
type link struct {
	proxy          *Proxy
	client, server *net.TCPConn
	once           sync.Once
	done           chan struct{} // closed when it has ended

	// The proxy's mutex guards these.
	left    [2]int64 // bytes until a random cut, by direction
	command string   // what the server is to reply to
	waiting bool     // for the first piece of that reply
}

// pump hands on what one side says to the other, until the link ends.
func (l *link) pump(d direction, from, to *net.TCPConn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !l.hold() {
			return
		}
		pass, cut := l.proxy.judge(l, d, buf[:n])
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

// hold waits as long as the proxy is frozen or slow, and says whether the link still stands.
func (l *link) hold() bool {
	thawed, delay := l.proxy.pace()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.done:
			return false
		}
		thawed, _ = l.proxy.pace()
	}
	for {
		select {
		case <-l.done:
			return false
		case <-thawed:
		}
		now, _ := l.proxy.pace()
		if now == thawed {
			return true
		}
		thawed = now // frozen again meanwhile
	}
}

func (p *Proxy) pace() (thawed chan struct{}, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults.thawed, p.faults.delay
}

// judge says how much of a piece goes through, and whether the link ends after it.
func (p *Proxy) judge(l *link, d direction, piece []byte) (pass int, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.note(d, piece)
	if d == reply && len(piece) > 0 && p.faults.loses(l.command) {
		return 0, true
	}
	n := int64(len(piece))
	through := min(n, l.left[d])
	if once := p.faults.cut[d]; once != nil {
		through = min(through, *once)
		*once -= through
		if through < n {
			p.faults.cut[d] = nil
		}
	}
	l.left[d] -= through
	return int(through), through < n
}

// note keeps in mind what the server is to reply to: clients wait for the replies
// to what they sent before they send more on the same connection.
func (l *link) note(d direction, piece []byte) {
	switch {
	case len(piece) == 0:
	case d == reply:
		l.waiting = false
	case !l.waiting:
		l.command, l.waiting = commandName(piece), true
	}
}

// end closes both connections, by a reset if it is a cut.
func (l *link) end(cut bool) {
	l.once.Do(func() {
		l.proxy.remove(l, cut) // first: who sees the cut finds it counted
		close(l.done)
		if cut {
			reset(l.client)
			reset(l.server)
		} else {
			_ = l.client.Close()
			_ = l.server.Close()
		}
	})
}

// reset ends a connection at once: the other side reads an error, and not an end.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
