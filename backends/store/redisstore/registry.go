// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// announced runs write, which returns false when the partition must be in the
// registry first. The registry is of other slots, so that the two cannot be one
// script: the entry is made before, so that nothing is stored that no listing
// finds, and once more after, because a Drop of the partition may have removed it
// in between (and looks, after removing it, whether the partition is back).
func (s *Store) announced(ctx context.Context, p backends.Partition, write func(inc string) (bool, error)) error {
	done, err := write("")
	if done || err != nil {
		return err
	}
	if err := s.enter(ctx, p); err != nil {
		return err
	}
	if _, err := write(newNonce()); err != nil {
		return err
	}
	return s.enter(ctx, p)
}

// enter puts the partition into the lists of the registry.
func (s *Store) enter(ctx context.Context, p backends.Partition) error {
	lists := [][2]string{{s.namespacesKey(), escape(p.Namespace)}, {s.partitionsKey(p.Namespace), local(p)}, {s.workKey(), member(p)}}
	if s.config.Replicas == 0 {
		return s.pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, l := range lists {
				pipe.ZAdd(ctx, l[0], redis.Z{Member: l[1]})
			}
			return nil
		})
	}
	for _, l := range lists { // on a Cluster, of three masters, each of which may fail
		err := s.confirmed(ctx, l[0], func(pipe redis.Pipeliner) redis.Cmder { return pipe.ZAdd(ctx, l[0], redis.Z{Member: l[1]}) })
		if err != nil {
			return err
		}
	}
	return nil
}

// leave takes a dropped partition off the lists, unless it is back.
func (s *Store) leave(ctx context.Context, p backends.Partition) error {
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.ZRem(ctx, s.partitionsKey(p.Namespace), local(p))
		pipe.ZRem(ctx, s.workKey(), member(p))
		return nil
	})
	if err != nil {
		return err
	}
	n, err := s.client.Exists(ctx, s.keys(p).meta()).Result()
	if err == nil && n > 0 {
		err = s.enter(ctx, p)
	}
	return err
}

// idle is how long a partition without pending messages stays in the list of work.
// Entering it takes two round trips, and whoever talks will soon talk again.
const idle = 10 * time.Minute

// rest takes a partition off the list of work if nothing is pending there and it
// was entered before a time, in microseconds.
func (s *Store) rest(ctx context.Context, name string, before int64) error {
	k := s.named(name)
	done, err := s.write(ctx, restScript, []string{k.meta(), k.pending()}, before)
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
