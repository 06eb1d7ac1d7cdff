// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
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
	out, all := &store.PartitionPage{}, make([]backends.Partition, len(names))
	for i, name := range names {
		if all[i], err = parseLocal(namespace, name); err != nil {
			return nil, err
		}
	}
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

// hold reports which partitions hold data or have lost it. Data are a memory or the
// history of one, a session before its end, or a blob of a session that has yet to begin.
func (s *Store) hold(ctx context.Context, all []backends.Partition) ([]bool, error) {
	memories, born, lists := make([]*redis.IntCmd, len(all)), make([]*redis.StringSliceCmd, len(all)), make([]*redis.StringCmd, len(all))
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, p := range all {
			k := s.keys(p)
			memories[i], born[i] = pipe.Exists(ctx, k.history(), k.changed()), pipe.ZRange(ctx, k.born(), 0, -1)
			lists[i] = pipe.HGet(ctx, k.meta(), haveSessions)
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(all))
	for i, p := range all {
		if out[i] = memories[i].Val() > 0; !out[i] {
			alive, err := s.living(ctx, s.keys(p), born[i].Val(), hasState+hasBlobs, func(k sessionKeys) []string { return []string{k.state(), k.blobs()} })
			if err != nil {
				return nil, err
			}
			out[i] = len(alive) > 0 || len(born[i].Val()) == 0 && has(lists[i].Val(), bornAt) // its list was lost
			if !out[i] && lists[i].Val() == "" {
				if err = s.vanished(ctx, p); err != nil && !errors.Is(err, errVanished) {
					return nil, err
				}
				out[i] = err != nil
			}
		}
	}
	return out, nil
}

// living returns the sessions that are current, and have one of the keys that some names, or
// lost it, as the letters in T:has show.
func (s *Store) living(ctx context.Context, k keys, ids []string, letters string, some func(sessionKeys) []string) (out []string, err error) {
	ends, kept, exist := make([]*redis.StringCmd, len(ids)), make([]*redis.StringCmd, len(ids)), make([]*redis.IntCmd, len(ids))
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, id := range ids {
			session := k.session(id)
			ends[i], exist[i] = pipe.HGet(ctx, session.state(), "expires"), pipe.Exists(ctx, some(session)...)
			kept[i] = pipe.HGet(ctx, k.has(), id)
		}
	})
	for i, id := range ids {
		gone, wrong := past(ends[i].Val(), s.now())
		err = cmp.Or(err, wrong)
		lost := strings.ContainsAny(kept[i].Val(), letters) && !strings.Contains(kept[i].Val(), hasEnd)
		if !gone && (exist[i].Val() > 0 || lost) {
			out = append(out, id)
		}
	}
	return out, err
}

// dropChunk is how many sessions one script erases.
const dropChunk = 1000

// Drop implements [store.Records]. A partition of more than a thousand sessions is
// dropped in steps; its memories go with the last. When the answer to a step was lost and
// the step is repeated, the count lacks that step; the partition is gone all the same. A
// partition that lost the list of its sessions is ErrUnavailable until Reindex found
// them.
func (s *Store) Drop(ctx context.Context, p backends.Partition) (store.DropCount, error) {
	var out store.DropCount
	epoch := newNonce() // the first step begins it, so a write between two steps began before
	_, err := on(ctx, s, p, "", "drop "+p.String(), func() (any, error) {
		if _, err := s.bornAfter(ctx, p, s.keys(p).born(), 0, 1); err != nil && !errors.Is(err, errVanished) { // a session outside the list would stay
			return nil, err
		}
		for done := false; !done; {
			ids, err := s.client.ZRange(ctx, s.keys(p).born(), 0, dropChunk-1).Result()
			if err != nil {
				return nil, err
			}
			var n store.DropCount
			if n, done, err = s.erase(ctx, p, "all", epoch, ids...); err != nil {
				return nil, err
			}
			out.Records, out.Sessions = out.Records+n.Records, out.Sessions+n.Sessions
			out.Messages, out.Blobs = out.Messages+n.Messages, out.Blobs+n.Blobs
		}
		return nil, s.unregister(ctx, p)
	})
	return out, err
}

// erase erases sessions, and begins an epoch of the partition if one is given. With "all"
// as what it also erases the partition after the last sessions, and reports whether they
// were the last.
func (s *Store) erase(ctx context.Context, p backends.Partition, what, epoch string, ids ...string) (n store.DropCount, last bool, err error) {
	k, now := s.keys(p), s.now()
	keys, args := append(k.all(), k.changes(), k.lives()), []any{plan.Micros(now), what, epoch, plan.Micros(now.Add(store.KeepEpochs))}
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
