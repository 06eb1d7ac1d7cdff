// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Network carries the traffic between clients and servers, apart from the faults that are
// set. Its zero value has none, and it is safe for use by multiple goroutines.
type Network struct {
	mu     sync.Mutex
	conns  map[*conn]struct{} // the open ones
	dialed uint64             // connections so far
	cuts   int                // connections that faults have reset

	addr   string // the target of new connections; empty: the client's own
	refuse bool
	delay  time.Duration
	seed   uint64   // of the random cuts
	mean   int64    // bytes between them; zero: no cuts
	lose   int      // replies to lose
	of     []string // the commands whose replies to lose; empty: any
}

// set changes the fields that the mutex guards.
func (n *Network) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// Dial is a Dialer for redis.Options and redis.ClusterOptions.
func (n *Network) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	n.set(func() {
		if n.addr != "" {
			addr = n.addr
		}
	})
	dialed, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &conn{TCPConn: dialed.(*net.TCPConn), net: n}
	n.set(func() {
		if n.conns == nil {
			n.conns = map[*conn]struct{}{}
		}
		n.conns[c] = struct{}{}
		c.draw()
		if n.refuse {
			c.reset()
		}
	})
	return c, nil
}

// Client returns a client of a server by way of the network, that is closed when the test
// ends. It tries each command once, and waits for an answer until the command's context ends.
func (n *Network) Client(t testing.TB, s *Server) *redis.Client {
	t.Helper()
	return s.Client(t, func(o *redis.Options) {
		o.Dialer, o.MaxRetries, o.DialerRetries = n.Dial, -1, 1
		o.ReadTimeout, o.WriteTimeout = time.Minute, time.Minute
		o.PoolSize = 1 << 12 // after so many refused connections go-redis pauses, even when the server is back
	})
}

// Redirect resets all connections, and makes new ones go to another server, as when an
// address moves in a failover.
func (n *Network) Redirect(addr string) {
	n.set(func() { n.addr = addr })
	n.CutAll()
}

// Cuts returns how many connections the network has reset, refused ones included.
func (n *Network) Cuts() (cuts int) { n.set(func() { cuts = n.cuts }); return cuts }

// CutAll resets all open connections.
func (n *Network) CutAll() {
	n.set(func() {
		for c := range n.conns {
			c.reset()
		}
	})
}

// Refuse resets all connections, and new ones as soon as they are made. With on false it
// lets new ones stand again.
func (n *Network) Refuse(on bool) {
	n.set(func() { n.refuse = on })
	if on {
		n.CutAll()
	}
}

// Delay holds back each piece of a request and of a reply for so long: a short round trip
// takes twice as much longer. Zero ends it.
func (n *Network) Delay(d time.Duration) { n.set(func() { n.delay = d }) }

// CutRandomly resets each connection, open and new ones, after a random number of bytes
// in both directions together, meanBytes on average and more often small. It depends on
// the seed and on how many connections came before. A mean of zero ends it. A useful
// connection must live through its set-up, of a few hundred bytes.
func (n *Network) CutRandomly(seed uint64, meanBytes int64) {
	n.set(func() {
		n.seed, n.mean = seed, meanBytes
		for c := range n.conns {
			c.draw()
		}
	})
}

// LoseReplies drops the next replies to those commands ("evalsha", "set"), in any case, and
// resets their connections. Each command has been carried out, and its client is left in
// doubt. In a pipeline the first command counts, and it alone has surely been carried out.
// With an empty list it loses the replies to any command except PING and the ones that set up
// a connection.
func (n *Network) LoseReplies(replies int, commands ...string) {
	n.set(func() { n.lose, n.of = replies, commands })
}

// setUp are the commands by which clients set up a connection or learn who serves what.
var setUp = []string{"auth", "client", "cluster", "command", "hello", "ping", "readonly", "readwrite", "select"}

// loses reports whether the reply to a command is lost. The caller holds the mutex.
func (n *Network) loses(command string) bool {
	if n.lose <= 0 {
		return false
	}
	if len(n.of) == 0 {
		return !slices.Contains(setUp, command)
	}
	return slices.ContainsFunc(n.of, func(c string) bool { return strings.EqualFold(c, command) })
}

// conn is a connection of a client. The network's mutex guards its fields.
type conn struct {
	*net.TCPConn
	net *Network

	left    int64  // bytes until a random cut
	command string // the command that the server replies to
	waiting bool   // for the first piece of its reply
	cut     bool
}

// draw decides after how many bytes the connection is cut. The caller holds the mutex.
func (c *conn) draw() {
	n := c.net
	n.dialed++
	c.left = math.MaxInt64
	if n.mean > 0 {
		c.left = int64(rand.New(rand.NewPCG(n.seed, n.dialed)).ExpFloat64() * float64(n.mean))
	}
}

// reset cuts the connection. The caller holds the mutex.
func (c *conn) reset() {
	if _, stands := c.net.conns[c]; !stands {
		return
	}
	delete(c.net.conns, c)
	c.net.cuts++
	c.cut = true
	_ = c.SetLinger(0) // the server reads an error instead of an end
	_ = c.TCPConn.Close()
}

// pass holds a piece back, and returns how much of it goes through. Clients wait for all
// replies on a connection before they send more there: a reply belongs to the command
// that the last request began with.
func (c *conn) pass(reply bool, piece []byte) (pass int) {
	var delay time.Duration
	c.net.set(func() { delay = c.net.delay })
	time.Sleep(delay)
	c.net.set(func() {
		if !reply && !c.waiting {
			c.command = commandName(piece)
		}
		c.waiting = !reply
		if reply && c.net.loses(c.command) {
			c.net.lose--
			return
		}
		pass = int(min(int64(len(piece)), c.left))
		c.left -= int64(pass)
	})
	return pass
}

// end returns the error of a piece that went through in part or wholly. A part ends the
// connection.
func (c *conn) end(operation string, whole bool, err error) error {
	c.net.set(func() {
		if !whole {
			c.reset()
		}
		if c.cut {
			err = &net.OpError{Op: operation, Net: "tcp", Err: os.NewSyscallError(operation, syscall.ECONNRESET)}
		}
	})
	return err
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	pass := n
	if n > 0 {
		pass = c.pass(true, b[:n])
	}
	return pass, c.end("read", pass == n, err)
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.TCPConn.Write(b[:c.pass(false, b)])
	return n, c.end("write", n == len(b), err)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.net.set(func() { delete(c.net.conns, c) })
	return c.TCPConn.Close()
}

// commandName returns the name of the first command of a piece of the Redis protocol, in lower
// case. It is empty for a piece that begins otherwise than *2\r\n$3\r\nGET\r\n…
func commandName(piece []byte) string {
	lines := strings.SplitN(string(piece[:min(len(piece), 128)]), "\r\n", 4)
	if len(lines) < 4 || !strings.HasPrefix(lines[0], "*") || !strings.HasPrefix(lines[1], "$") {
		return ""
	}
	return strings.ToLower(lines[2])
}
