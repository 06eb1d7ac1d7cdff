// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/plan"
)

// Check compares the derived keys of a partition with its records and sessions. These keys are its
// change log, session lists, counters and entries in the registry and the work queue. It returns a
// line for each entry that differs from its origin: the key on the server, the record, session,
// field or list entry, and the mistake. An empty result means that all agree. Check only reads, and
// may run while others write. It goes through the records, and through the names of all keys of the
// server (SCAN): that is for maintenance, and too slow for every request.
func (s *Store) Check(ctx context.Context, p backends.Partition) ([]string, error) {
	return s.inspect(ctx, "check "+p.String(), p, "")
}

// Reindex rebuilds the keys that [Store.Check] compares, and returns the mistakes. Run it
// after keys were lost or restored, by an eviction, a failover that lost a part of a
// Cluster, or by hand. Records, histories, messages and blobs stay as they are. It may
// run while others write: each step is a script that derives entries from the server's
// data in that moment. All readers of the partition start over. If Reindex fails, repeat
// it.
func (s *Store) Reindex(ctx context.Context, p backends.Partition) ([]string, error) {
	return s.inspect(ctx, "reindex "+p.String(), p, repair)
}

func (s *Store) inspect(ctx context.Context, doing string, p backends.Partition, what string) ([]string, error) {
	i := &inspection{Store: s, p: p, keys: s.keys(p), doing: doing, what: what}
	for _, step := range []func(context.Context) error{i.records, i.sessions, i.registry} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return i.found, nil
}

// What a run does beside looking, as scripts know it.
const (
	repair = "repair"
	tidy   = "tidy" // of sessions that lists name, only repairs that are safe
)

// inspection is one run of Check or Reindex.
type inspection struct {
	*Store
	p     backends.Partition
	keys  keys
	doing string
	what  string // empty: it only looks
	found []string
}

// add notes keys, ids and texts that a script returned. Several pages may report the
// same.
func (i *inspection) add(words []string) {
	for d := range slices.Chunk(words, 3) {
		name := d[0]
		if d[1] != "" { // an empty id means the whole key
			name += fmt.Sprintf(" %q", d[1])
		}
		if drift := name + ": " + d[2]; !slices.Contains(i.found, drift) {
			i.found = append(i.found, drift)
		}
	}
}

func (i *inspection) records(ctx context.Context) error {
	k := i.keys
	keys := k.all()[:10]
	for _, scan := range []string{"HSCAN", "ZSCAN"} {
		for cursor := "0"; ; {
			args := []any{scan, cursor}
			if i.what == repair {
				args = append(args, newNonce(), newNonce())
			}
			page, err := on(ctx, i.Store, i.p, "", i.doing, func() ([]any, error) {
				reply, err := i.write(ctx, checkRecordsScript, keys, args...)
				page, _ := reply.([]any)
				if err == nil && len(page) != 2 {
					err = badAnswer(reply)
				}
				return page, err
			})
			if err != nil {
				return err
			}
			i.add(texts(page[1]))
			if cursor, _ = page[0].(string); cursor == "0" {
				break
			}
		}
	}
	return nil
}

// sessionsAtOnce is how many sessions one script looks at.
const sessionsAtOnce = 100

func (i *inspection) sessions(ctx context.Context) error {
	ids, err := retry(ctx, i.Store, i.doing, func() ([]string, error) { return i.sessionIDs(ctx) })
	if err != nil {
		return err
	}
	for some := range slices.Chunk(append(ids, ""), sessionsAtOnce) { // the empty id checks the lists even if they are empty
		words, err := retry(ctx, i.Store, i.doing, func() ([]string, error) { return i.checkSessions(ctx, i.p, some, i.what) })
		if err != nil {
			return err
		}
		i.add(words)
	}
	return nil
}

// sessionIDs returns the sessions that a list names, or that have keys.
func (i *inspection) sessionIDs(ctx context.Context) ([]string, error) {
	var ids []string
	for _, list := range []string{i.keys.born(), i.keys.pending()} {
		some, err := i.client.ZRange(ctx, list, 0, -1).Result()
		if err != nil {
			return nil, err
		}
		ids = append(ids, some...)
	}
	if i.what != tidy {
		some, err := i.withKeys(ctx)
		if err != nil {
			return nil, err
		}
		ids = append(ids, some...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// withKeys returns the sessions that have keys.
func (i *inspection) withKeys(ctx context.Context) (ids []string, err error) {
	node, err := i.master(ctx, i.keys.meta())
	if err != nil {
		return nil, err
	}
	stem := i.keys.tag + ":s:" // all its letters are literal in a pattern
	scan := node.Scan(ctx, 0, stem+"*", 1000).Iterator()
	for scan.Next(ctx) {
		name, _, _ := strings.Cut(strings.TrimPrefix(scan.Val(), stem), ":")
		if id, err := url.PathUnescape(name); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, scan.Err()
}

// checkSessions compares sessions with the lists of their partition, and repairs the lists for
// repair. For tidy it repairs them only if every list is there. It returns keys, ids and
// texts.
func (s *Store) checkSessions(ctx context.Context, p backends.Partition, ids []string, what string) ([]string, error) {
	k := s.keys(p)
	keys, args := []string{k.meta(), k.pending(), k.born(), k.has()}, []any{plan.Micros(s.now()), what}
	for _, id := range ids {
		keys, args = append(keys, k.session(id).all()...), append(args, id)
	}
	reply, err := s.write(ctx, checkSessionsScript, keys, args...)
	return texts(reply), err
}

// registry looks for the entries that the partition must have.
func (i *inspection) registry(ctx context.Context) error {
	_, err := retry(ctx, i.Store, i.doing, func() (any, error) {
		err := i.vanished(ctx, i.p)
		if errors.Is(err, errVanished) {
			i.add([]string{i.keys.meta(), "", "the server lost this and all other keys of the partition: restore a backup, or run Reindex to begin anew"})
			err = nil
		}
		if err != nil {
			return nil, err
		}
		lists, err := i.belongs(ctx, i.p)
		if err != nil {
			return nil, err
		}
		for _, e := range i.entries(i.p, slices.DeleteFunc(slices.Clone(lists), func(l string) bool { return l == written })...) {
			err := i.client.ZScore(ctx, e.key, e.member).Err()
			if isNil(err) {
				i.add([]string{e.key, e.member, "the partition is missing: no listing finds it"})
			} else if err != nil {
				return nil, err
			}
		}
		if i.what == repair {
			return nil, cmp.Or(i.register(ctx, i.p, lists...), i.unregister(ctx, i.p))
		}
		return nil, nil
	})
	return err
}
