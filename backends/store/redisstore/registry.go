// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// registered runs write, which returns false when the partition must be in the
// registry first. The registry is of other slots, so that the two cannot be one
// script: the entry is made before, so that nothing is stored that no listing
// finds, and once more after, because a Drop of the partition may have removed it
// in between (and looks, after removing it, whether the partition is back).
func (s *Store) registered(ctx context.Context, p backends.Partition, write func(inc string) (bool, error)) error {
	done, err := write("")
	if done || err != nil {
		return err
	}
	if err := s.register(ctx, p); err != nil {
		return err
	}
	if _, err := write(newNonce()); err != nil {
		return err
	}
	return s.register(ctx, p)
}

// entry is one of a partition in a list of the registry.
type entry struct{ key, member string }

func (s *Store) entries(p backends.Partition) []entry {
	namespace := escape(p.Namespace)
	return []entry{{s.namespacesKey(), namespace}, {s.partitionsKey(namespace), local(p)}, {s.workKey(), member(p)}}
}

// register enters the partition in the lists of the registry.
func (s *Store) register(ctx context.Context, p backends.Partition) error {
	if s.config.Replicas == 0 {
		return s.pipelined(ctx, func(pipe redis.Pipeliner) {
			for _, e := range s.entries(p) {
				pipe.ZAdd(ctx, e.key, redis.Z{Member: e.member})
			}
		})
	}
	for _, e := range s.entries(p) { // on a Cluster, of three masters, each of which may fail
		err := s.confirmed(ctx, e.key, func(pipe redis.Pipeliner) redis.Cmder { return pipe.ZAdd(ctx, e.key, redis.Z{Member: e.member}) })
		if err != nil {
			return err
		}
	}
	return nil
}

// unregister takes a dropped partition off the lists, unless it is back.
func (s *Store) unregister(ctx context.Context, p backends.Partition) error {
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for _, e := range s.entries(p)[1:] {
			pipe.ZRem(ctx, e.key, e.member)
		}
	})
	if err != nil {
		return err
	}
	n, err := s.client.Exists(ctx, s.keys(p).meta()).Result()
	if err == nil && n > 0 {
		err = s.register(ctx, p)
	}
	return err
}

// idle is how long a partition without pending messages stays in the work queue.
// Entering it takes two round trips, and a user who talks will soon talk again.
const idle = 10 * time.Minute

// retire takes a partition off the work queue if nothing is pending there and it
// was entered before a time, in microseconds.
func (s *Store) retire(ctx context.Context, name string, before int64) error {
	k := s.named(name)
	done, err := s.write(ctx, idleScript, []string{k.meta(), k.pending()}, before)
	if err != nil || done != int64(1) {
		return err
	}
	if err := s.client.ZRem(ctx, s.workKey(), name).Err(); err != nil {
		return err
	}
	back, err := s.client.HExists(ctx, k.meta(), "work").Result()
	if err == nil && back { // a message came meanwhile
		err = s.client.ZAdd(ctx, s.workKey(), redis.Z{Member: name}).Err()
	}
	return err
}

// lex reads the members of a list of the registry that come after one.
func (s *Store) lex(ctx context.Context, key, after string, limit int) ([]string, error) {
	low := "-"
	if after != "" {
		low = "(" + after
	}
	return s.client.ZRangeByLex(ctx, key, &redis.ZRangeBy{Min: low, Max: "+", Count: int64(limit)}).Result()
}
