// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package faultproxy_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/internal/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that sends back what it gets, a byte changed to its successor.
type echo struct {
	addr  string
	ended chan error // how each connection ended

	mu  sync.Mutex
	got bytes.Buffer // from all connections
}

func startEcho(t *testing.T) *echo {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e := &echo{addr: l.Addr().String(), ended: make(chan error, 1000)}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { e.ended <- e.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	return e
}

func (e *echo) serve(conn net.Conn) error {
	defer conn.Close()
	buf := make([]byte, 1<<10)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		e.mu.Lock()
		e.got.Write(buf[:n])
		e.mu.Unlock()
		for i := range buf[:n] {
			buf[i]++
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			return err
		}
	}
}

func (e *echo) received() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got.String()
}

func dial(t *testing.T, p *faultproxy.Proxy) net.Conn {
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// say writes, and returns what comes back until as much was read or the connection ends.
func say(conn net.Conn, what string) (string, error) {
	if _, err := conn.Write([]byte(what)); err != nil {
		return "", err
	}
	buf := make([]byte, len(what))
	n, err := io.ReadFull(conn, buf)
	return string(buf[:n]), err
}

// attempt connects and says something; a reset may come as early as that.
func attempt(p *faultproxy.Proxy) error {
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = say(conn, "a")
	return err
}

// silent says that nothing comes from a connection for a moment.
func silent(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Millisecond)))
	n, err := conn.Read(make([]byte, 1))
	assert.Zero(t, n)
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	assert.True(t, timeout.Timeout())
	require.NoError(t, conn.SetReadDeadline(time.Time{}))
}

func TestHandsOn(t *testing.T) {
	e := startEcho(t)
	p := faultproxy.Start(t, e.addr)
	a, b := dial(t, p), dial(t, p)
	for range 3 {
		got, err := say(a, "abc")
		require.NoError(t, err)
		assert.Equal(t, "bcd", got)
		got, err = say(b, "xy")
		require.NoError(t, err)
		assert.Equal(t, "yz", got)
	}
	require.NoError(t, a.Close())
	assert.Equal(t, io.EOF, <-e.ended, "an end is handed on as an end")
	assert.Zero(t, p.Cuts())
}

func TestCutAllResets(t *testing.T) {
	e := startEcho(t)
	p := faultproxy.Start(t, e.addr)
	conns := []net.Conn{dial(t, p), dial(t, p)}
	for _, c := range conns {
		_, err := say(c, "a")
		require.NoError(t, err)
	}
	p.CutAll()
	assert.Equal(t, 2, p.Cuts())
	for _, c := range conns {
		_, err := c.Read(make([]byte, 1))
		require.ErrorContains(t, err, "reset")
		require.ErrorContains(t, <-e.ended, "reset")
	}
	_, err := say(dial(t, p), "a")
	require.NoError(t, err, "new connections stand")
}

func TestRefuse(t *testing.T) {
	p := faultproxy.Start(t, startEcho(t).addr)
	before := dial(t, p)
	_, err := say(before, "a")
	require.NoError(t, err)
	p.Refuse(true)
	require.Error(t, attempt(p))
	_, err = say(before, "a")
	require.NoError(t, err, "those that stand stay")
	assert.Equal(t, 1, p.Cuts())
	p.Refuse(false)
	require.NoError(t, attempt(p))
}

func TestServerThatIsGoneResets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	p := faultproxy.Start(t, l.Addr().String())
	require.Error(t, attempt(p))

	p.Target(startEcho(t).addr)
	require.NoError(t, attempt(p))
}

func TestDelay(t *testing.T) {
	p := faultproxy.Start(t, startEcho(t).addr)
	conn := dial(t, p)
	p.Delay(20 * time.Millisecond)
	start := time.Now()
	got, err := say(conn, "a")
	require.NoError(t, err)
	assert.Equal(t, "b", got)
	assert.GreaterOrEqual(t, time.Since(start), 40*time.Millisecond)

	p.Delay(time.Hour)
	_, err = conn.Write([]byte("a"))
	require.NoError(t, err)
	p.CutAll() // a cut does not wait
	_, err = conn.Read(make([]byte, 1))
	require.ErrorContains(t, err, "reset")
}

func TestFreezeIsHalfOpen(t *testing.T) {
	e := startEcho(t)
	p := faultproxy.Start(t, e.addr)
	old := dial(t, p)
	_, err := say(old, "a")
	require.NoError(t, err)
	p.Freeze(true)
	p.Freeze(true)
	fresh := dial(t, p)
	for _, c := range []net.Conn{old, fresh} {
		_, err := c.Write([]byte("b"))
		require.NoError(t, err)
		silent(t, c)
	}
	assert.Equal(t, "a", e.received())
	p.Freeze(false)
	p.Freeze(false)
	for _, c := range []net.Conn{old, fresh} {
		buf := make([]byte, 1)
		_, err := io.ReadFull(c, buf)
		require.NoError(t, err)
		assert.Equal(t, "c", string(buf))
	}

	p.Freeze(true)
	require.NoError(t, old.Close())
	silent(t, fresh)
	assert.Empty(t, e.ended, "not even an end goes through")
	p.Freeze(false)
	assert.Equal(t, io.EOF, <-e.ended)
	p.Freeze(true)
	p.CutAll() // a cut does not wait
	require.ErrorContains(t, <-e.ended, "reset")
}
