// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/plan"
)

// The lists of the registry are in other slots than the partitions that they name, so that
// no script writes an entry together with what it points to. Each entry has a generation, a
// random number:
//
//  1. A script finds that T:meta names no entry for its partition. It draws a generation,
//     keeps it in T:enter, and writes nothing else.
//  2. The process makes the entry.
//  3. The script is called again with the generation, notes in T:meta that this is the
//     partition's entry, and writes. If T:enter has another one by now, all begins anew.
//
// So there is an entry before there is anything to find, wherever a connection breaks. An
// entry that neither T:enter nor T:meta names is dead for good, and may be removed at any
// time. Entries that the server lost are made again: scripts ask for an entry once a minute,
// and see [Store.heal].

// The lists, as fields of T:meta and in the answers of scripts.
const (
	listed  = "listed"  // in em:namespaces and em:partitions
	waiting = "waiting" // in em:work
)

// generations are those of a partition's entries by their lists.
type generations map[string]string

// unregistered returns the generations that a script asks for, none if it has written.
func unregistered(reply any) generations {
	words, _ := reply.([]any)
	if len(words) > 0 && words[0] == "unregistered" {
		return pairs(words[1:])
	}
	return nil
}

// registered runs a script, and makes the entries that it asks for.
func (s *Store) registered(ctx context.Context, p backends.Partition, write func(made string) (generations, error)) error {
	made := generations{}
	for {
		wanted, err := write(assignments(made))
		if len(wanted) == 0 || err != nil {
			return err
		}
		if err := s.register(ctx, s.entries(p, wanted)); err != nil {
			return err
		}
		maps.Copy(made, wanted)
	}
}

// entry is one of a partition in a list of the registry.
type entry struct{ key, member string }

// place returns the key of a list, and what the partition's entries in it begin with.
func (s *Store) place(p backends.Partition, list string) entry {
	if list == waiting {
		return entry{s.workKey(), member(p) + ":"}
	}
	return entry{s.partitionsKey(escape(p.Namespace)), local(p) + ":"}
}

func (s *Store) entries(p backends.Partition, of generations) (out []entry) {
	for list, gen := range of {
		e := s.place(p, list)
		if e.member += gen; list == listed {
			out = append(out, entry{s.namespacesKey(), escape(p.Namespace)})
		}
		out = append(out, e)
	}
	return out
}

// register makes entries.
func (s *Store) register(ctx context.Context, entries []entry) error {
	if s.config.Replicas == 0 {
		return s.pipelined(ctx, func(pipe redis.Pipeliner) {
			for _, e := range entries {
				pipe.ZAdd(ctx, e.key, redis.Z{Member: e.member})
			}
		})
	}
	for _, e := range entries { // on a Cluster, of three masters, each of which may fail
		err := s.confirmed(ctx, e.key, func(pipe redis.Pipeliner) redis.Cmder { return pipe.ZAdd(ctx, e.key, redis.Z{Member: e.member}) })
		if err != nil {
			return err
		}
	}
	return nil
}

// known is the reading of what a partition knows of its entries.
type known struct {
	drawn *redis.StringCmd
	meta  *redis.SliceCmd
}

// readKnown adds it to a pipeline. T:enter comes first: a generation goes from there to
// T:meta.
func readKnown(ctx context.Context, pipe redis.Pipeliner, k keys) known {
	return known{pipe.HGet(ctx, k.enter(), "gen"), pipe.HMGet(ctx, k.meta(), listed, waiting, "inc")}
}

// generations returns those that T:meta has.
func (k known) generations() generations {
	out := generations{}
	for i, text := range texts(k.meta.Val())[:2] {
		if gen, _, ok := strings.Cut(text, " "); ok {
			out[[]string{listed, waiting}[i]] = gen
		}
	}
	return out
}

// dead reports whether the partition will never know an entry of a list. Those of earlier
// builds count until the partition has one of its own, or is gone.
func (k known) dead(list, gen string) bool {
	own := k.generations()[list]
	if gen == "" {
		return own != "" || texts(k.meta.Val())[2] == ""
	}
	return gen != k.drawn.Val() && gen != own
}

// prune removes the dead entries of a partition.
func (s *Store) prune(ctx context.Context, p backends.Partition) error {
	found := map[string]*redis.StringSliceCmd{}
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for _, list := range []string{listed, waiting} {
			e := s.place(p, list)
			found[list] = pipe.ZRangeByLex(ctx, e.key, &redis.ZRangeBy{Min: "[" + e.member, Max: "(" + e.member + afterAll})
		}
	})
	if err != nil {
		return err
	}
	var now known
	if err := s.pipelined(ctx, func(pipe redis.Pipeliner) { now = readKnown(ctx, pipe, s.keys(p)) }); err != nil {
		return err
	}
	return s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for list, names := range found {
			for _, name := range names.Val() {
				if _, gen := cutGeneration(name); now.dead(list, gen) {
					pipe.ZRem(ctx, s.place(p, list).key, name)
				}
			}
		}
	})
}

// announce makes the entries of a partition that exists, whether they are there or not.
func (s *Store) announce(ctx context.Context, p backends.Partition, lists ...string) error {
	k := s.keys(p)
	var now known
	if err := s.pipelined(ctx, func(pipe redis.Pipeliner) { now = readKnown(ctx, pipe, k) }); err != nil {
		return err
	}
	have := now.generations()
	maps.DeleteFunc(have, func(list, _ string) bool { return !slices.Contains(lists, list) })
	if err := s.register(ctx, s.entries(p, have)); err != nil {
		return err
	}
	return s.registered(ctx, p, func(made string) (generations, error) {
		args := []any{made, newNonce(), plan.Micros(s.now())}
		for _, list := range lists {
			args = append(args, list)
		}
		reply, err := s.write(ctx, enterScript, []string{k.meta(), k.enter()}, args...)
		return unregistered(reply), err
	})
}

// healing is where the search for lost entries of the work queue stands.
type healing struct {
	sync.Mutex
	at listing
}

// heal looks at the next partitions that hold something, and makes the entries in the work
// queue of those with messages not learnt from. A few calls see them all.
func (s *Store) heal(ctx context.Context) error {
	s.healing.Lock()
	defer s.healing.Unlock()
	l := &lister{Store: s, at: s.healing.at}
	names, err := l.nextNames(ctx)
	if len(names) == 0 && err == nil { // from the beginning
		l.at = listing{}
		names, err = l.nextNames(ctx)
	}
	if len(names) == 0 || err != nil {
		return err
	}
	l.at.Member, _ = cutGeneration(names[len(names)-1])
	pending := make([]*redis.IntCmd, len(names))
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, name := range names {
			partition, _ := cutGeneration(name)
			pending[i] = pipe.Exists(ctx, s.named(partition).pending())
		}
	})
	for i, name := range names {
		if err != nil {
			return err
		}
		if pending[i].Val() > 0 {
			partition, _ := cutGeneration(name)
			var p backends.Partition
			if p, err = parseMember(partition); err == nil {
				err = s.announce(ctx, p, waiting)
			}
		}
	}
	s.healing.at = l.at
	return err
}

// idle is how long a partition without pending messages stays in the work queue.
// Entering it takes two round trips, and a user who talks will soon talk again.
const idle = 10 * time.Minute

// retire takes a partition off the work queue if nothing is pending there and T:meta
// has what it had.
func (s *Store) retire(ctx context.Context, p backends.Partition, had string) error {
	k := s.keys(p)
	done, err := s.write(ctx, idleScript, []string{k.meta(), k.pending()}, had)
	if err != nil || done != int64(1) {
		return err
	}
	return s.prune(ctx, p)
}

// tidy removes the entry of a partition in the work queue that has nothing pending, if it
// is dead or the partition has been there for long.
func (s *Store) tidy(ctx context.Context, name, gen string, now known) error {
	p, err := parseMember(name)
	if err != nil {
		return err
	}
	own := texts(now.meta.Val())[1]
	_, at, _ := strings.Cut(own, " ")
	since, _ := number(at)
	switch {
	case now.dead(waiting, gen):
		return s.prune(ctx, p)
	case own != "" && since <= plan.Micros(s.now().Add(-idle)):
		return s.retire(ctx, p, own)
	}
	return nil
}

// upgrade gives the entries of earlier builds, which had no generation, an empty one, once.
// What those builds kept of the order of changes goes.
func (s *Store) upgrade(ctx context.Context) error {
	const field, version = "registry", "2"
	key := s.config.Prefix + ":store"
	if have, err := s.client.HGet(ctx, key, field).Result(); have == version || err != nil && !isNil(err) {
		return err
	}
	spaces, err := s.client.ZRange(ctx, s.namespacesKey(), 0, -1).Result()
	if err != nil {
		return err
	}
	if err := s.upgradeList(ctx, s.workKey(), 2, ""); err != nil {
		return err
	}
	for _, space := range spaces {
		if err := s.upgradeList(ctx, s.config.Prefix+":partitions:"+space, 1, space+":"); err != nil {
			return err
		}
	}
	return s.client.HSet(ctx, key, field, version).Err()
}

// upgradeList does so with a list, whose entries of earlier builds have so many colons.
// prefix makes them names of partitions.
func (s *Store) upgradeList(ctx context.Context, key string, colons int, prefix string) error {
	for after := ""; ; {
		entries, err := s.lex(ctx, key, after, 1000)
		if err != nil || len(entries) == 0 {
			return err
		}
		after = entries[len(entries)-1]
		err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
			for _, e := range entries {
				if strings.Count(e, ":") == colons {
					pipe.ZAdd(ctx, key, redis.Z{Member: e + ":"})
					pipe.ZRem(ctx, key, e)
					pipe.Unlink(ctx, s.named(prefix+e).tag+":sess")
				}
			}
		})
		if err != nil {
			return err
		}
	}
}

// cutGeneration splits an entry of a list of the registry.
func cutGeneration(entry string) (name, gen string) {
	at := strings.LastIndexByte(entry, ':')
	return entry[:max(at, 0)], entry[at+1:]
}

// afterAll comes after every generation.
const afterAll = "\xff"

// names reads the entries of a list of the registry that come after those of a partition.
func (s *Store) names(ctx context.Context, key, after string, limit int) ([]string, error) {
	if after != "" {
		after += ":" + afterAll
	}
	return s.lex(ctx, key, after, limit)
}

// lex reads the members of a list of the registry that come after one.
func (s *Store) lex(ctx context.Context, key, after string, limit int) ([]string, error) {
	low := "-"
	if after != "" {
		low = "(" + after
	}
	return s.client.ZRangeByLex(ctx, key, &redis.ZRangeBy{Min: low, Max: "+", Count: int64(limit)}).Result()
}
