// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// wire counts the bytes of a client's connections.
type wire struct{ sent, received atomic.Int64 }

// tap has a client's connections counted.
func (w *wire) tap(options *redis.Options) {
	dialer := redis.NewDialer(options)
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: conn, wire: w}, nil
	}
}

// bytes are those that passed so far.
func (w *wire) bytes() (sent, received int64) { return w.sent.Load(), w.received.Load() }

type countedConn struct {
	net.Conn
	wire *wire
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.wire.received.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.wire.sent.Add(int64(n))
	return n, err
}
