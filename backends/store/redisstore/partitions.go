// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// Partitions implements [store.Records]. They come in the order of their names in
// the registry.
func (s *Store) Partitions(ctx context.Context, namespace string, page store.Page) (*store.PartitionPage, error) {
	after, err := base64.RawURLEncoding.DecodeString(page.Cursor)
	if err != nil {
		return nil, fmt.Errorf("redisstore: partitions: cursor %q: %w: not one of this store", page.Cursor, backends.ErrInvalid)
	}
	return on(ctx, s, backends.Partition{Namespace: namespace, Kind: backends.PartitionUser, ID: "any"}, "", "partitions of "+namespace, func() (*store.PartitionPage, error) {
		return s.partitionPage(ctx, namespace, string(after), page.Size())
	})
}

func (s *Store) partitionPage(ctx context.Context, namespace, after string, size int) (*store.PartitionPage, error) {
	names, err := s.lex(ctx, s.partitionsKey(escape(namespace)), after, size)
	if err != nil {
		return nil, err
	}
	all := make([]backends.Partition, len(names))
	for i, name := range names {
		if all[i], err = parseLocal(namespace, name); err != nil {
			return nil, err
		}
	}
	out := &store.PartitionPage{}
	if len(names) == size {
		out.Next = base64.RawURLEncoding.EncodeToString([]byte(names[size-1]))
	}
	holds, err := s.hold(ctx, all)
	for i, p := range all {
		if err == nil && holds[i] {
			out.Partitions = append(out.Partitions, p)
		}
	}
	return out, err
}

// hold reports which partitions hold something: a memory or the history of one, a
// session that is not expired, a blob without a session.
func (s *Store) hold(ctx context.Context, all []backends.Partition) ([]bool, error) {
	memories, born := make([]*redis.IntCmd, len(all)), make([]*redis.StringSliceCmd, len(all))
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, p := range all {
			k := s.keys(p)
			memories[i], born[i] = pipe.Exists(ctx, k.history(), k.changed()), pipe.ZRange(ctx, k.born(), 0, -1)
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(all))
	for i, p := range all {
		if out[i] = memories[i].Val() > 0; !out[i] {
			alive, err := s.living(ctx, s.keys(p), born[i].Val(), func(k sessionKeys) []string { return []string{k.state(), k.blobs()} })
			if err != nil {
				return nil, err
			}
			out[i] = slices.Contains(alive, true)
		}
	}
	return out, nil
}

// living reports which sessions are not expired, and have one of the keys that some names.
func (s *Store) living(ctx context.Context, k keys, ids []string, some func(sessionKeys) []string) ([]bool, error) {
	ends, exist := make([]*redis.StringCmd, len(ids)), make([]*redis.IntCmd, len(ids))
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, id := range ids {
			session := k.session(id)
			ends[i], exist[i] = pipe.HGet(ctx, session.state(), "expires"), pipe.Exists(ctx, some(session)...)
		}
	})
	out := make([]bool, len(ids))
	for i := range ids {
		gone, wrong := past(ends[i].Val(), s.now())
		if err == nil {
			err = wrong
		}
		out[i] = !gone && exist[i].Val() > 0
	}
	return out, err
}

// dropChunk is how many sessions one script erases.
const dropChunk = 1000

// Drop implements [store.Records]. A partition of more than a thousand sessions is
// dropped in steps; its memories go with the last. When the answer to a step was
// lost and the step is repeated, the count lacks what went with it; the partition
// is gone all the same.
func (s *Store) Drop(ctx context.Context, p backends.Partition) (store.DropCount, error) {
	var out store.DropCount
	life := newNonce() // the first step begins it: what writes between two steps began before
	_, err := on(ctx, s, p, "", "drop "+p.String(), func() (any, error) {
		for done := false; !done; {
			ids, err := s.client.ZRange(ctx, s.keys(p).born(), 0, dropChunk-1).Result()
			if err != nil {
				return nil, err
			}
			var n store.DropCount
			if n, done, err = s.erase(ctx, p, "all", life, ids...); err != nil {
				return nil, err
			}
			out.Records, out.Sessions = out.Records+n.Records, out.Sessions+n.Sessions
			out.Messages, out.Blobs = out.Messages+n.Messages, out.Blobs+n.Blobs
		}
		return nil, s.unregister(ctx, p)
	})
	return out, err
}

// erase erases sessions, and begins a life of the partition if one is given. With what
// "all" it erases the partition too if they were the last, and reports whether they were.
func (s *Store) erase(ctx context.Context, p backends.Partition, what, life string, ids ...string) (n store.DropCount, last bool, err error) {
	k, now := s.keys(p), s.now()
	keys, args := append(k.all(), k.lives()), []any{plan.Micros(now), what, life, plan.Micros(now.Add(store.KeepLives))}
	for _, id := range ids {
		keys, args = append(keys, k.session(id).all()...), append(args, id)
	}
	reply, err := s.write(ctx, eraseScript, keys, args...)
	if err != nil {
		return n, false, err
	}
	answer, _ := reply.([]any)
	if len(answer) != 5 {
		return n, false, badAnswer(reply)
	}
	counts, err := numbers(answer[1:])
	if err != nil {
		return n, false, err
	}
	n = store.DropCount{Records: int(counts[0]), Sessions: int(counts[1]), Messages: int(counts[2]), Blobs: int(counts[3])}
	return n, answer[0] == "ok", nil
}

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
