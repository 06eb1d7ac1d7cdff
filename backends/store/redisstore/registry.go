// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// The lists of the registry have other slots than their partitions, so one script can only
// write an entry or its partition. An entry is made before there is data to find. It is made
// once more after, in case it was removed in between. A process that removes an entry looks
// afterwards whether the partition is back, and makes it again. T:meta has the time since
// which a partition is in a list. A write that finds this a minute old makes the entry
// again, whether it was lost or kept. See [Store.heal], too.

// The lists, as fields of T:meta and in the answers of scripts.
const (
	listed  = "listed"  // in em:namespaces and em:partitions
	waiting = "waiting" // in em:work
	written = "written" // in em:written, outside all scripts: an entry is made after the first write
)

// unregistered returns the lists that a script asks for before it writes.
func unregistered(reply any) []string {
	words, _ := reply.([]any)
	if len(words) > 0 && words[0] == "unregistered" {
		return texts(words[1:])
	}
	return nil
}

// registered runs a script, and makes the entries that it asks for.
func (s *Store) registered(ctx context.Context, p backends.Partition, write func(made string) ([]string, error)) error {
	var made []string
	for {
		wanted, err := write(strings.Join(made, " "))
		switch {
		case errors.As(err, new(redis.Error)) && len(made) > 0: // it was refused
			return cmp.Or(s.unregister(ctx, p), err)
		case err != nil || len(wanted)+len(made) == 0:
			return err
		case len(wanted) == 0:
			return s.confirmWritten(ctx, p, made)
		}
		if slices.Contains(wanted, listed) {
			err = s.vanished(ctx, p)
		}
		if err = cmp.Or(err, s.register(ctx, p, wanted...)); err != nil {
			return err
		}
		made = append(made, wanted...)
	}
}

// confirmWritten makes entries again after a write. From then on the registry knows that
// the partition was written, until it is dropped: see [Store.vanished].
func (s *Store) confirmWritten(ctx context.Context, p backends.Partition, lists []string) error {
	if err := s.register(ctx, p, lists...); err != nil || !slices.Contains(lists, listed) {
		return err
	}
	e := s.entries(p, written)[0]
	if known := s.client.ZScore(ctx, e.key, e.member).Err(); known == nil || !isNil(known) {
		return known
	}
	return cmp.Or(s.enter(ctx, e), s.unregister(ctx, p))
}

// entry is an entry of a partition in a list of the registry.
type entry struct{ key, member string }

func (s *Store) entries(p backends.Partition, lists ...string) (out []entry) {
	namespace := escape(p.Namespace)
	if slices.Contains(lists, listed) {
		out = append(out, entry{s.namespacesKey(), namespace}, entry{s.partitionsKey(namespace), local(p)})
	}
	if slices.Contains(lists, waiting) {
		out = append(out, entry{s.workKey(), member(p)})
	}
	if slices.Contains(lists, written) {
		out = append(out, entry{s.writtenKey(namespace), local(p)})
	}
	return out
}

// register makes the entries of a partition in lists.
func (s *Store) register(ctx context.Context, p backends.Partition, lists ...string) error {
	return s.enter(ctx, s.entries(p, lists...)...)
}

func (s *Store) enter(ctx context.Context, entries ...entry) error {
	if s.config.Replicas == 0 {
		return s.pipelined(ctx, func(pipe redis.Pipeliner) {
			for _, e := range entries {
				pipe.ZAdd(ctx, e.key, redis.Z{Member: e.member})
			}
		})
	}
	for _, e := range entries { // on a Cluster these are three masters, and each may fail
		err := s.confirmed(ctx, e.key, func(pipe redis.Pipeliner) redis.Cmder { return pipe.ZAdd(ctx, e.key, redis.Z{Member: e.member}) })
		if err != nil {
			return err
		}
	}
	return nil
}

// unregister takes a partition off the lists that it has left. It puts the partition back
// if new data came meanwhile.
func (s *Store) unregister(ctx context.Context, p backends.Partition) error {
	before, err := s.belongs(ctx, p)
	if err != nil {
		return err
	}
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for _, e := range s.entries(p, listed, waiting, written) {
			if e.key != s.namespacesKey() && !slices.Contains(s.entries(p, before...), e) {
				pipe.ZRem(ctx, e.key, e.member)
			}
		}
	})
	if err != nil {
		return err
	}
	after, err := s.belongs(ctx, p)
	if err != nil || len(after) == len(before) {
		return err
	}
	return s.register(ctx, p, after...)
}

// belongs returns the lists that a partition must be in.
func (s *Store) belongs(ctx context.Context, p backends.Partition) (lists []string, err error) {
	var exists, pending *redis.IntCmd
	k := s.keys(p)
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
		exists, pending = pipe.Exists(ctx, k.all()...), pipe.Exists(ctx, k.pending())
	})
	if exists.Val() > 0 {
		lists = append(lists, listed, written)
	}
	if pending.Val() > 0 {
		lists = append(lists, waiting)
	}
	return lists, err
}

// idle is how long a partition stays in the work queue after its last pending message.
// Entering it takes round trips, and a user who talks will soon talk again.
const idle = 10 * time.Minute

// holding returns the partitions that have sessions, or with pending set the ones with
// messages to learn from, and the idle ones. A partition that lost its list counts as
// having some.
func (s *Store) holding(ctx context.Context, names []string, pending bool) (some, none []string, err error) {
	exist, metas := make([]*redis.IntCmd, len(names)), make([]*redis.SliceCmd, len(names))
	at := bornAt
	if pending {
		at = pendingAt
	}
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, name := range names {
			k := s.named(name)
			exist[i], metas[i] = pipe.Exists(ctx, k.ofSessions()[at]), pipe.HMGet(ctx, k.meta(), haveSessions, waiting)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	for i, name := range names {
		meta := texts(metas[i].Val())
		since, _ := number(meta[1]) // none: 0
		switch away := s.now().Sub(time.UnixMicro(since)).Abs(); {
		case exist[i].Val() > 0 || has(meta[0], at):
			some = append(some, name)
		case away >= idle:
			none = append(none, name)
		}
	}
	return some, none, nil
}

// queue makes entries in the work queue.
func (s *Store) queue(ctx context.Context, names []string) error {
	var entries []entry
	for _, name := range names {
		entries = append(entries, entry{s.workKey(), name})
	}
	return s.enter(ctx, entries...)
}

// retire takes idle partitions off the work queue, unless they are busy again.
func (s *Store) retire(ctx context.Context, names []string) error {
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for _, name := range names {
			pipe.ZRem(ctx, s.workKey(), name)
		}
	})
	if err != nil {
		return err
	}
	_, still, err := s.holding(ctx, names, true)
	if err != nil {
		return err
	}
	return s.queue(ctx, slices.DeleteFunc(names, func(name string) bool { return slices.Contains(still, name) }))
}

// healing is the position of the search for lost entries of the work queue.
type healing struct {
	sync.Mutex
	at      listing
	checked string // the last partition that [Store.checkRestarted] looked at
}

// heal looks at the next partitions of the registry. It makes the entries in the work
// queue of partitions with messages to learn from. A few calls see all partitions.
func (s *Store) heal(ctx context.Context) error {
	s.healing.Lock()
	defer s.healing.Unlock()
	if err := s.checkRestarted(ctx); err != nil {
		return err
	}
	l := &lister{Store: s, at: s.healing.at}
	names, err := l.nextNames(ctx)
	if len(names) == 0 && err == nil { // from the beginning
		l.at = listing{}
		names, err = l.nextNames(ctx)
	}
	if len(names) == 0 || err != nil {
		return err
	}
	l.at.Member = names[len(names)-1]
	waiting, _, err := s.holding(ctx, names, true)
	if err == nil {
		err = s.queue(ctx, waiting)
	}
	if err == nil {
		s.healing.at = l.at
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
