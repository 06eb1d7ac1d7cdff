// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Partitions implements [store.Records]. They come in the order of their names in
// the registry.
func (s *Store) Partitions(ctx context.Context, namespace string, page store.Page) (*store.PartitionPage, error) {
	if err := checkNames(backends.Partition{Namespace: namespace, Kind: backends.PartitionUser, ID: "any"}, ""); err != nil {
		return nil, err
	}
	after, err := base64.RawURLEncoding.DecodeString(page.Cursor)
	if err != nil {
		return nil, fmt.Errorf("redisstore: partitions: cursor %q: %w: not one of this store", page.Cursor, backends.ErrInvalid)
	}
	var out *store.PartitionPage
	err = s.do(ctx, "partitions of "+namespace, func() (err error) {
		out, err = s.partitionPage(ctx, namespace, string(after), page.Size())
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (s *Store) partitionPage(ctx context.Context, namespace, after string, size int) (*store.PartitionPage, error) {
	out := &store.PartitionPage{}
	for {
		names, err := s.lex(ctx, s.partitionsKey(namespace), after, size+1)
		if err != nil {
			return nil, err
		}
		all, err := parseLocals(namespace, names)
		if err != nil {
			return nil, err
		}
		holds, err := s.hold(ctx, all)
		if err != nil {
			return nil, err
		}
		for i, p := range all {
			if !holds[i] {
				after = names[i]
				continue
			}
			if len(out.Partitions) == size { // one more than asked for: there is a next page
				out.Next = base64.RawURLEncoding.EncodeToString([]byte(after))
				return out, nil
			}
			after = names[i]
			out.Partitions = append(out.Partitions, p)
		}
		if len(names) <= size {
			return out, nil
		}
	}
}

func parseLocals(namespace string, names []string) ([]backends.Partition, error) {
	out := make([]backends.Partition, len(names))
	for i, name := range names {
		p, err := parseLocal(namespace, name)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

// lex reads the members of a registry key that come after one.
func (s *Store) lex(ctx context.Context, key, after string, limit int) ([]string, error) {
	low := "-"
	if after != "" {
		low = "(" + after
	}
	return s.client.ZRangeByLex(ctx, key, &redis.ZRangeBy{Min: low, Max: "+", Count: int64(limit)}).Result()
}

// hold reports which partitions hold something: a memory or the history of one, a
// session that is not expired, a blob without a session.
func (s *Store) hold(ctx context.Context, all []backends.Partition) ([]bool, error) {
	histories := make([]*redis.IntCmd, len(all))
	born := make([]*redis.StringSliceCmd, len(all))
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, p := range all {
			k := s.keys(p)
			histories[i] = pipe.Exists(ctx, k.history(), k.changed())
			born[i] = pipe.ZRange(ctx, k.born(), 0, -1)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(all))
	for i, p := range all {
		if out[i] = histories[i].Val() > 0; !out[i] && len(born[i].Val()) > 0 {
			if out[i], err = s.holdsSession(ctx, p, born[i].Val()); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (s *Store) holdsSession(ctx context.Context, p backends.Partition, ids []string) (bool, error) {
	ends := make([]*redis.StringCmd, len(ids))
	there := make([]*redis.IntCmd, len(ids))
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			k := s.keys(p).session(id)
			ends[i] = pipe.HGet(ctx, k.state(), "expires")
			there[i] = pipe.Exists(ctx, k.state(), k.blobs())
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	for i := range ids {
		gone, err := past(ends[i].Val(), s.now())
		if err != nil {
			return false, err
		}
		if !gone && there[i].Val() > 0 {
			return true, nil
		}
	}
	return false, nil
}
