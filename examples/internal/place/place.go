// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package place opens the stores that measurements compare: a SQLite file, and a Redis server.
package place

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// A Place is a kind of store to compare.
type Place struct {
	Name string
	Most int // memories in its comparisons; 0: any number
	Open func(ctx context.Context) (*Opened, error)
}

// Opened is a store of its own.
type Opened struct {
	store.Store
	Bytes  func() (int64, error) // of all stored data at present
	Remove func() error          // closes the store and erases it
}

// All returns a SQLite file, and the server at the URL unless that is empty. An unreachable
// server is an error before the first measurement.
func All(ctx context.Context, url string) ([]Place, error) {
	out := []Place{{"sqlite", 10_000, SQLite}}
	if url == "" {
		return out, nil
	}
	open := func(ctx context.Context) (*Opened, error) { return Redis(ctx, url) }
	s, err := open(ctx)
	if err != nil {
		return nil, fmt.Errorf("-redis: %w", err)
	}
	return append(out, Place{"redis", 0, open}), s.Remove()
}

// WithBackend lets do use the default backend on a new store, with its defaults, which search by
// words.
func WithBackend(ctx context.Context, open func(context.Context) (*Opened, error), do func(*Opened, backends.Backend) error) error {
	s, err := open(ctx)
	if err != nil {
		return err
	}
	backend, err := mem0.New(ctx, &mem0.Config{Store: s})
	if err == nil {
		err = errors.Join(do(s, backend), backend.Close(ctx))
	}
	return errors.Join(err, s.Remove())
}

// SQLite opens a new file, in which every commit is on disk.
func SQLite(ctx context.Context) (*Opened, error) {
	dir, err := os.MkdirTemp("", "einomem-bench-")
	if err != nil {
		return nil, err
	}
	s, err := sqlitestore.Open(ctx, filepath.Join(dir, "memory.db"), nil)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	bytes := func() (sum int64, err error) {
		files, err := os.ReadDir(dir)
		for _, f := range files {
			if info, err := f.Info(); err == nil { // else it is gone
				sum += info.Size()
			}
		}
		return sum, err
	}
	remove := func() error { return errors.Join(s.Close(), os.RemoveAll(dir)) }
	return &Opened{s, bytes, remove}, nil
}

// Redis opens a store under a prefix of its own.
func Redis(ctx context.Context, url string) (*Opened, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(options)
	id := backends.NewID()
	prefix := "bench-" + id[len(id)-8:]
	s, err := redisstore.New(ctx, client, &redisstore.Config{Prefix: prefix, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	bytes := func() (sum int64, err error) {
		err = eachKey(ctx, client, prefix, func(key string) error {
			n, err := client.MemoryUsage(ctx, key, 0).Result()
			sum += n
			return err
		})
		return sum, err
	}
	remove := func() error {
		ctx := context.WithoutCancel(ctx)
		err := eachKey(ctx, client, prefix, func(key string) error { return client.Del(ctx, key).Err() })
		return errors.Join(err, s.Close(), client.Close())
	}
	return &Opened{s, bytes, remove}, nil
}

// eachKey calls f for each key under a prefix. The brace of a hash tag may stand before it, as
// package redisstore documents.
func eachKey(ctx context.Context, client *redis.Client, prefix string, f func(key string) error) error {
	keys := client.Scan(ctx, 0, "*"+prefix+":*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := f(keys.Val()); err != nil {
			return err
		}
	}
	return keys.Err()
}
