// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// confirmed sends one write to the node of a key, and waits until as many replicas
// as are configured have it.
//
// WAIT answers for what its own connection wrote before. A repeat finds the write
// done, perhaps by another connection, and would wait for nothing; hence a mark that
// is written each time, to a key of the same slot that ends at once. What has the
// mark has all that the node wrote before it.
func (s *Store) confirmed(ctx context.Context, key string, send func(redis.Pipeliner) redis.Cmder) error {
	node, err := s.master(ctx, key)
	if err != nil {
		return err
	}
	pipe := node.Pipeline()
	mark := pipe.Set(ctx, markKey(key), "", time.Millisecond)
	sent := send(pipe)
	waited := pipe.Do(ctx, "WAIT", s.config.Replicas, s.config.ReplicaTimeout.Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has its own error
	for _, cmd := range []redis.Cmder{sent, mark, waited} {
		if err := cmd.Err(); err != nil {
			return err
		}
	}
	n, err := waited.Int()
	if err != nil {
		return err
	}
	if n < s.config.Replicas {
		return fmt.Errorf("%w: written, but %d of %d replicas confirmed it within %s: a failover may lose it: repeat the call",
			backends.ErrUnavailable, n, s.config.Replicas, s.config.ReplicaTimeout)
	}
	return nil
}

// confirm waits until the replicas have what the node of a key has written.
func (s *Store) confirm(ctx context.Context, key string) error {
	if s.config.Replicas == 0 {
		return nil
	}
	return s.confirmed(ctx, key, func(redis.Pipeliner) redis.Cmder { return &redis.Cmd{} })
}

// markKey names a key of the same slot as another.
func markKey(key string) string {
	if tag, _, ok := strings.Cut(key, "}"); ok {
		return tag + "}:wait"
	}
	return "{" + key + "}:wait"
}
