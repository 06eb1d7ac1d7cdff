// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// VerifyRegistry compares the lists of all partitions with the keys on the server:
// partitions that no list has, list entries of nothing, sessions that no index of
// their partition knows. It goes through all keys of the server (SCAN on each
// master), in steps that hold nobody up. Other partitions' insides are left to
// [Store.Verify].
func (s *Store) VerifyRegistry(ctx context.Context) (*Report, error) {
	return s.inspectRegistry(ctx, false)
}

// RepairRegistry does the same, and puts it right: what exists is entered, list
// entries of nothing go. Run it before a Repair of each partition, and after a
// restore of the server.
func (s *Store) RepairRegistry(ctx context.Context) (*Report, error) {
	return s.inspectRegistry(ctx, true)
}

func (s *Store) inspectRegistry(ctx context.Context, fix bool) (*Report, error) {
	i := s.inspector("verify the registry", keys{}, fix)
	if err := i.scanKeys(ctx); err != nil {
		return nil, describe(i.doing, err, ctx)
	}
	if err := i.entries(ctx); err != nil {
		return nil, err
	}
	return i.out, nil
}

// scanPage is how many keys of the server are looked at together.
const scanPage = 1000

// scanKeys goes through the keys of all masters, one after another.
func (i *inspector) scanKeys(ctx context.Context) error {
	pattern := "{" + i.config.Prefix + ":*" // a prefix has no letter that means something in a pattern
	cluster, ok := i.client.(*redis.ClusterClient)
	if !ok {
		return i.scanNode(ctx, i.client, pattern)
	}
	var mu sync.Mutex // ForEachMaster calls concurrently
	return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		return i.scanNode(ctx, node, pattern)
	})
}

func (i *inspector) scanNode(ctx context.Context, node redis.Cmdable, pattern string) error {
	for cursor := uint64(0); ; {
		var page []string
		err := i.try(ctx, func() (err error) {
			page, cursor, err = node.Scan(ctx, cursor, pattern, scanPage).Result()
			return err
		})
		if err != nil {
			return err
		}
		if err := i.placeKeys(ctx, page); err != nil {
			return err
		}
		if cursor == 0 {
			return nil
		}
	}
}

// placeKeys looks whether the partitions and sessions of keys are known.
func (i *inspector) placeKeys(ctx context.Context, page []string) error {
	sessions := map[string][]string{} // by the registry's name of the partition, escaped
	for _, key := range page {
		name, rest, _ := strings.Cut(strings.TrimPrefix(key, "{"+i.config.Prefix+":"), "}:")
		if p, err := parseMember(name); err != nil || member(p) != name {
			i.out.add(Problem{Key: key, What: "it is no key of a partition: somebody else uses the prefix"})
			continue
		}
		if rest == "meta" {
			i.out.Looked.Partitions++
		}
		sessions[name] = append(sessions[name], sessionOf(rest)...)
	}
	for name, ids := range sessions {
		p, _ := parseMember(name)
		at := i.within(p)
		if err := at.registered(ctx); err != nil {
			return err
		}
		slices.Sort(ids)
		if err := at.settle(ctx, slices.Compact(ids), at.unborn); err != nil {
			return err
		}
	}
	return nil
}

// within returns an inspector of one partition that writes into the same report.
func (i *inspector) within(p backends.Partition) *inspector {
	return &inspector{Store: i.Store, p: p, keys: i.Store.keys(p), doing: i.doing, fix: i.fix, out: i.out}
}

// sessionOf returns the id of the session whose key it is, if it is one.
func sessionOf(rest string) []string {
	name, ok := strings.CutPrefix(rest, "s:")
	if !ok {
		return nil
	}
	name, _, _ = strings.Cut(name, ":")
	id, err := url.PathUnescape(name)
	if err != nil {
		return nil
	}
	return []string{id}
}

// unborn looks for sessions of which there are keys, and which no index knows.
func (i *inspector) unborn(ctx context.Context, ids []string) ([]*finding, error) {
	var out []*finding
	for _, id := range ids {
		l, err := i.lookAtSession(ctx, id)
		if err != nil {
			return nil, err
		}
		if l.born != nil || len(l.types) > 0 || len(l.fields) == 0 && l.log+l.ids+l.blobs == 0 {
			continue
		}
		f := &finding{id: id, mend: (&mending{keys: l.keys.all()}).expect(nil, "ZSCORE", i.keys.born(), id).do("ZADD", i.keys.born(), newBirth, id)}
		f.add(i.keys.born(), "there are keys of the session, and it is missing: a drop would leave them", "it is entered; repair the partition then")
		for n, key := range l.keys.all() {
			if l.ttl[n] != -2 { // one that exists
				f.mend.expect(1, "EXISTS", key)
				break
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// entryOf is an entry that a list of the registry should have.
type entryOf struct{ key, member string }

// listed returns the entries that a partition should have.
func (i *inspector) listed(ctx context.Context) ([]entryOf, error) {
	var exists, pending *redis.IntCmd
	var work *redis.BoolCmd
	err := i.pipelined(ctx, func(pipe redis.Pipeliner) error {
		exists, pending = pipe.Exists(ctx, i.keys.all()...), pipe.Exists(ctx, i.keys.pending())
		work = pipe.HExists(ctx, i.keys.meta(), "work")
		return nil
	})
	if err != nil || exists.Val() == 0 {
		return nil, err
	}
	out := []entryOf{{i.namespacesKey(), escape(i.p.Namespace)}, {i.partitionsKey(i.p.Namespace), local(i.p)}}
	if pending.Val() > 0 || work.Val() {
		out = append(out, entryOf{i.workKey(), member(i.p)})
	}
	return out, nil
}

const (
	registryLooks = 3
	registryPause = 20 * time.Millisecond
)

// registered looks whether the lists have the partition. Entering it and a drop take
// several steps, so that what is missing is looked for once more.
func (i *inspector) registered(ctx context.Context) error {
	var missing []entryOf
	for n := 1; ; n++ {
		err := i.try(ctx, func() (err error) {
			missing, err = i.missing(ctx)
			return err
		})
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			return nil
		}
		if n == registryLooks || !sleep(ctx, registryPause) {
			break
		}
	}
	if i.fix {
		if err := i.try(ctx, func() error { return i.enter(ctx, i.p) }); err != nil {
			return err
		}
	}
	for _, e := range missing {
		i.out.add(Problem{Key: e.key, ID: e.member, What: "the partition exists, and is missing here: no listing finds it", Fix: "it is entered", Fixed: i.fix})
	}
	return nil
}

func (i *inspector) missing(ctx context.Context) ([]entryOf, error) {
	want, err := i.listed(ctx)
	if err != nil || len(want) == 0 {
		return nil, err
	}
	scores := make([]*redis.FloatCmd, len(want))
	err = i.pipelined(ctx, func(pipe redis.Pipeliner) error {
		for n, e := range want {
			scores[n] = pipe.ZScore(ctx, e.key, e.member)
		}
		return nil
	})
	var out []entryOf
	for n, e := range want {
		if err == nil && scores[n].Err() != nil {
			out = append(out, e)
		}
	}
	return out, err
}

// entries looks for list entries of nothing.
func (i *inspector) entries(ctx context.Context) error {
	err := i.members(ctx, i.namespacesKey(), func(spaces []string) error {
		for _, space := range spaces {
			if err := i.entriesOf(ctx, space); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return i.members(ctx, i.workKey(), func(names []string) error { return i.stale(ctx, i.workKey(), names, names) })
}

func (i *inspector) entriesOf(ctx context.Context, space string) error {
	key := i.config.Prefix + ":partitions:" + space
	return i.members(ctx, key, func(entries []string) error {
		names := make([]string, len(entries))
		for n, e := range entries {
			names[n] = space + ":" + e
		}
		return i.stale(ctx, key, entries, names)
	})
}

// stale looks which of the partitions that a list names have no key at all.
func (i *inspector) stale(ctx context.Context, key string, entries, names []string) error {
	exist := make([]*redis.IntCmd, len(names))
	err := i.try(ctx, func() error {
		return i.pipelined(ctx, func(pipe redis.Pipeliner) error {
			for n, name := range names {
				exist[n] = pipe.Exists(ctx, i.named(name).all()...)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for n, name := range names {
		p, err := parseMember(name)
		switch {
		case err != nil && exist[n].Val() > 0:
			i.out.add(Problem{Key: key, ID: entries[n], What: "it names no partition of this store, and there are keys of that name: " + err.Error()})
		case err != nil:
			i.out.add(Problem{Key: key, ID: entries[n], What: "it names no partition: listings fail", Fix: "it is removed", Fixed: i.fix})
			err = i.drop(ctx, key, entries[n])
		case exist[n].Val() == 0:
			i.out.Leftovers++
			if i.fix { // looks whether the partition came into being meanwhile
				err = i.try(ctx, func() error { return i.leave(ctx, p) })
			}
		}
		if err != nil && i.fix {
			return err
		}
	}
	return nil
}

// drop removes an entry of a list.
func (i *inspector) drop(ctx context.Context, key, entry string) error {
	if !i.fix {
		return nil
	}
	return i.try(ctx, func() error { return i.client.ZRem(ctx, key, entry).Err() })
}

// String says a problem in one line.
func (p Problem) String() string {
	out := p.Key
	if p.ID != "" {
		out += fmt.Sprintf(" %q", p.ID)
	}
	out += ": " + p.What
	switch {
	case p.Fixed:
		out += " (repaired: " + p.Fix + ")"
	case p.Fix != "":
		out += " (Repair: " + p.Fix + ")"
	}
	return out
}
