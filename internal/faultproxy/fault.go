// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"math"
	"math/rand/v2"
	"time"
)

// faults are what is wrong now. The proxy's mutex guards them.
type faults struct {
	refuse bool
	delay  time.Duration
	thawed chan struct{} // closed unless frozen
	random randomly
	cut    [2]*int64 // by direction: bytes until the one cut that was ordered
	lose   int       // replies to lose
	of     []string  // the commands whose replies to lose; empty: any
}

// CutAll resets all connections that stand.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	var all []*link
	for l := range p.links {
		all = append(all, l)
	}
	p.mu.Unlock()
	for _, l := range all {
		l.end(true)
	}
}

// Refuse resets new connections as soon as they are made. Those that stand stay.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults.refuse = on
}

// Delay holds back each piece of a request and of a reply, of at most 32 KiB, for so
// long: a short round trip takes twice as much longer. Zero ends it.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults.delay = d
}

// Freeze makes connections half open: they are accepted and stand, and nothing goes
// through, not even their end. What was said meanwhile goes through afterwards.
func (p *Proxy) Freeze(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.faults.thawed:
		if on {
			p.faults.thawed = make(chan struct{})
		}
	default:
		if !on {
			close(p.faults.thawed)
		}
	}
}

// CutRequest lets through that many further bytes of requests, of all connections
// together, and then resets the connection that carries the next one. It happens once.
func (p *Proxy) CutRequest(after int64) { p.cutOnce(request, after) }

// CutReply is CutRequest for replies: the server has carried out what it replies to.
func (p *Proxy) CutReply(after int64) { p.cutOnce(reply, after) }

func (p *Proxy) cutOnce(d direction, after int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults.cut[d] = &after
}

// CutRandomly resets each connection, those that stand and new ones, after a random
// number of bytes of requests or of replies, whichever comes first; each number is
// meanBytes on average and more often small. They depend on the seed and on how many
// connections came before. A mean of zero ends it. A connection that is to be of any use
// must live through its set-up, of a few hundred bytes.
func (p *Proxy) CutRandomly(seed uint64, meanBytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults.random = randomly{seed: seed, mean: meanBytes}
	for l := range p.links {
		p.accepted++
		l.left = p.faults.random.draw(p.accepted)
	}
}

// LoseReplies drops the next n replies to those commands ("evalsha", "set"), whatever
// their case, and resets their connections: each command has been carried out, and its client
// does not know. Of a pipeline, the first command counts, and it alone has surely been
// carried out. Without commands it loses the replies to any, but for PING and those
// that set up a connection.
func (p *Proxy) LoseReplies(n int, commands ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults.lose, p.faults.of = n, commands
}

// randomly says when connections end.
type randomly struct {
	seed uint64
	mean int64 // bytes; zero: never
}

// draw returns how many bytes of each direction connection n lives.
func (r randomly) draw(n uint64) [2]int64 {
	if r.mean <= 0 {
		return [2]int64{math.MaxInt64, math.MaxInt64}
	}
	g := rand.New(rand.NewPCG(r.seed, n))
	mean := float64(r.mean)
	return [2]int64{int64(g.ExpFloat64() * mean), int64(g.ExpFloat64() * mean)}
}
