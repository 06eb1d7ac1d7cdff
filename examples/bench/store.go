// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/internal/trial"
)

// place is where things are stored.
type place struct {
	name string
	most int // memories that it is compared with; 0: any number
	open func(ctx context.Context) (*opened, error)
}

// opened is a store with nothing else in it.
type opened struct {
	store.Store
	bytes  func() (int64, error) // that all stored things take now
	remove func() error          // closes the store and leaves nothing behind
	// Bytes that passed on the wire so far; 0 where there is none.
	sent, received atomic.Int64
}

// places returns a SQLite file, and the server at the URL unless that is empty. A server
// that cannot be reached is an error before anything is measured.
func places(ctx context.Context, url string) ([]place, error) {
	out := []place{{"sqlite", 10_000, openSQLite}}
	if url == "" {
		return out, nil
	}
	open := func(ctx context.Context) (*opened, error) { return openRedis(ctx, url) }
	s, err := open(ctx)
	if err != nil {
		return nil, fmt.Errorf("-redis: %w", err)
	}
	return append(out, place{"redis", 0, open}), s.remove()
}

// openSQLite opens a new file, in which every commit is on disk.
func openSQLite(ctx context.Context) (*opened, error) {
	dir, err := os.MkdirTemp("", "einomem-bench-")
	if err != nil {
		return nil, err
	}
	s, err := sqlitestore.Open(ctx, filepath.Join(dir, "memory.db"), nil)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &opened{
		Store:  s,
		bytes:  func() (int64, error) { return trial.SizeOf(dir) },
		remove: func() error { return errors.Join(s.Close(), os.RemoveAll(dir)) },
	}, nil
}

// openRedis opens a store under a prefix of its own.
func openRedis(ctx context.Context, url string) (*opened, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	out := &opened{}
	dial := redis.NewDialer(options)
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &countedConn{conn, out}, nil
	}
	client := redis.NewClient(options)
	id := backends.NewID()
	prefix := "bench-" + id[len(id)-8:]
	s, err := redisstore.New(ctx, client, &redisstore.Config{Prefix: prefix, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	out.Store = s
	out.bytes = func() (sum int64, err error) {
		err = eachKey(ctx, client, prefix, func(key string) error {
			n, err := client.MemoryUsage(ctx, key, 0).Result()
			sum += n
			return err
		})
		return sum, err
	}
	out.remove = func() error {
		ctx := context.WithoutCancel(ctx)
		err := eachKey(ctx, client, prefix, func(key string) error { return client.Del(ctx, key).Err() })
		return errors.Join(err, s.Close(), client.Close())
	}
	return out, nil
}

// eachKey calls f for each key under a prefix, as package redisstore documents them.
func eachKey(ctx context.Context, client *redis.Client, prefix string, f func(key string) error) error {
	for _, pattern := range []string{prefix + ":*", "{" + prefix + ":*"} {
		keys := client.Scan(ctx, 0, pattern, 1000).Iterator()
		for keys.Next(ctx) {
			if err := f(keys.Val()); err != nil {
				return err
			}
		}
		if err := keys.Err(); err != nil {
			return err
		}
	}
	return nil
}

// countedConn counts the bytes of a connection.
type countedConn struct {
	net.Conn
	store *opened
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.store.received.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.store.sent.Add(int64(n))
	return n, err
}
