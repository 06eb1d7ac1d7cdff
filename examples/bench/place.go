// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/internal/trial"
)

// place is where memories may be stored: open makes an empty store there.
type place struct {
	name      string
	open      func(ctx context.Context) (*bed, error)
	yardstick bool
}

// bed is a store with nothing else in it.
type bed struct {
	store.Store
	bytes  func() (int64, error) // that all stored things take now
	remove func() error          // closes the store and leaves nothing behind
}

const yardstickName = "sqlite"

// redisAndYardstick returns the two places, and notes what there is to say of them.
func redisAndYardstick(ctx context.Context, url string, r *trial.Report) ([]*place, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("-redis: %w", err)
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	name, about, err := describeServer(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("the server of -redis: %w", err)
	}
	r.About = append(r.About, about, yardstickName+": one file, every commit on disk")
	return []*place{
		{name: name, open: func(ctx context.Context) (*bed, error) { return openRedis(ctx, options) }},
		{name: yardstickName, open: openSQLite, yardstick: true},
	}, nil
}

// describeServer returns the server's name and a line about it.
func describeServer(ctx context.Context, client *redis.Client) (name, about string, err error) {
	info, err := client.Info(ctx).Result()
	if err != nil {
		return "", "", err
	}
	name = strings.TrimSpace("redis " + field(info, "redis_version"))
	if v := field(info, "valkey_version"); v != "" {
		name = "valkey " + v
	}
	var times []time.Duration
	for range 1000 {
		took, err := trial.Time(func() error { return client.Ping(ctx).Err() })
		if err != nil {
			return "", "", err
		}
		times = append(times, took)
	}
	q := trial.QuantilesOf(times)
	return name, fmt.Sprintf("%s: append-only file: %s; a bare PING takes %.3f ms, p99 %.3f", name,
		map[string]string{"1": "on", "0": "off"}[field(info, "aof_enabled")], q.P50, q.P99), nil
}

// field returns a value of INFO.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}

// openRedis opens a store under a prefix of its own.
func openRedis(ctx context.Context, options *redis.Options) (*bed, error) {
	client := redis.NewClient(options)
	id := backends.NewID()
	prefix := "bench-" + id[len(id)-8:]
	s, err := redisstore.New(ctx, client, &redisstore.Config{
		Prefix: prefix,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &bed{
		Store: s,
		bytes: func() (int64, error) { return memoryUsage(ctx, client, prefix) },
		remove: func() error {
			err := deleteKeys(context.WithoutCancel(ctx), client, prefix)
			return errors.Join(err, s.Close(), client.Close())
		},
	}, nil
}

// memoryUsage returns how many bytes the server says that the keys under a prefix take; 0
// if it does not say.
func memoryUsage(ctx context.Context, client *redis.Client, prefix string) (int64, error) {
	var sum int64
	err := eachKey(ctx, client, prefix, func(key string) error {
		n, err := client.MemoryUsage(ctx, key, 0).Result()
		if errors.As(err, new(redis.Error)) {
			return nil
		}
		sum += n
		return err
	})
	return sum, err
}

// deleteKeys deletes all keys under a prefix, and has the server free them before it
// returns, so that what is measured next starts from nothing.
func deleteKeys(ctx context.Context, client *redis.Client, prefix string) error {
	return eachKey(ctx, client, prefix, func(key string) error { return client.Del(ctx, key).Err() })
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

// openSQLite opens a store in a file of its own.
func openSQLite(ctx context.Context) (*bed, error) {
	dir, err := os.MkdirTemp("", "einomem-bench-")
	if err != nil {
		return nil, err
	}
	s, err := sqlitestore.Open(ctx, filepath.Join(dir, "memory.db"), nil)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &bed{
		Store:  s,
		bytes:  func() (int64, error) { return trial.SizeOf(dir) },
		remove: func() error { return errors.Join(s.Close(), os.RemoveAll(dir)) },
	}, nil
}
