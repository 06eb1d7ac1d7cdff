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
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/internal/trial"
)

// place is where things may be stored.
type place struct {
	name string
	open func(ctx context.Context) (*opened, error)
	// Bytes that passed on the wire so far; 0 where there is none.
	sent, received *atomic.Int64
}

// opened is a store with nothing else in it.
type opened struct {
	store.Store
	bytes  func() (int64, error) // that all stored things take now
	remove func() error          // closes the store and leaves nothing behind
}

// sqliteFile is one file, every commit on disk.
func sqliteFile() *place {
	return &place{name: "sqlite", open: openSQLite, sent: &atomic.Int64{}, received: &atomic.Int64{}}
}

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

// places returns SQLite in a file, and the server at the URL unless that is empty.
func places(ctx context.Context, url string) ([]*place, error) {
	out := []*place{sqliteFile()}
	if url == "" {
		return out, nil
	}
	server, err := redisServer(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("-redis: %w", err)
	}
	return append(out, server), nil
}

// redisServer returns the server at the URL.
func redisServer(ctx context.Context, url string) (*place, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	p := &place{sent: &atomic.Int64{}, received: &atomic.Int64{}}
	dial := redis.NewDialer(options)
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &countedConn{conn, p}, nil
	}
	p.open = func(ctx context.Context) (*opened, error) { return openRedis(ctx, options) }
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	info, err := client.InfoMap(ctx).Result()
	if err != nil {
		return nil, err
	}
	p.name = strings.TrimSpace("redis " + info["Server"]["redis_version"])
	if info["Persistence"]["aof_enabled"] == "1" {
		p.name += ", append-only file"
	}
	return p, nil
}

// countedConn counts the bytes of a connection for a place.
type countedConn struct {
	net.Conn
	place *place
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.place.received.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.place.sent.Add(int64(n))
	return n, err
}

// openRedis opens a store under a prefix of its own.
func openRedis(ctx context.Context, options *redis.Options) (*opened, error) {
	client := redis.NewClient(options)
	id := backends.NewID()
	prefix := "bench-" + id[len(id)-8:]
	s, err := redisstore.New(ctx, client, &redisstore.Config{Prefix: prefix, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &opened{
		Store: s,
		bytes: func() (sum int64, err error) {
			err = eachKey(ctx, client, prefix, func(key string) error {
				n, err := client.MemoryUsage(ctx, key, 0).Result()
				if errors.As(err, new(redis.Error)) { // the server does not say
					return nil
				}
				sum += n
				return err
			})
			return sum, err
		},
		remove: func() error {
			ctx := context.WithoutCancel(ctx)
			err := eachKey(ctx, client, prefix, func(key string) error { return client.Del(ctx, key).Err() })
			return errors.Join(err, s.Close(), client.Close())
		},
	}, nil
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
