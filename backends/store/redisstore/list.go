// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// List implements [store.Sessions]. A list of all partitions goes from one to the
// next; within each, the sessions that changed first come first.
//
// The first look at a partition fixes which of its sessions the listing has, and
// their order. Those to come are in the cursor, by the number that a session gets
// when it is created, so that one which changes meanwhile is still met once; the
// cursor takes some two bytes for each.
func (s *Store) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	if q.Partition != nil {
		if err := checkNames(*q.Partition, ""); err != nil {
			return nil, err
		}
	}
	start, err := parseListing(q.Page.Cursor)
	if err != nil {
		return nil, err
	}
	out := &store.SessionPage{}
	err = s.do(ctx, "list sessions", func() error {
		l := &lister{Store: s, query: q, at: start}
		if err := l.fill(ctx); err != nil {
			return err
		}
		out.Sessions, out.Next = l.out, l.at.String()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// lister fills one page.
type lister struct {
	*Store
	query store.SessionQuery
	at    listing
	ahead []string // registered partitions to come that have sessions
	out   []store.Session
}

func (l *lister) fill(ctx context.Context) error {
	p, err := l.current(ctx)
	for ; err == nil && p != nil; p, err = l.next(ctx) {
		if err := l.partition(ctx, *p); err != nil {
			return err
		}
		if len(l.out) == l.query.Page.Size() && len(l.at.Rest) > 0 {
			return nil
		}
		if len(l.out) == l.query.Page.Size() && l.query.Partition == nil {
			return nil // the next page begins with another partition
		}
	}
	l.at.Done = err == nil
	return err
}

// current returns the partition that the page begins with.
func (l *lister) current(ctx context.Context) (*backends.Partition, error) {
	if l.at.Started && len(l.at.Rest) == 0 {
		return l.next(ctx)
	}
	if l.query.Partition != nil {
		return l.query.Partition, l.begin(ctx, *l.query.Partition)
	}
	if !l.at.Started {
		return l.next(ctx)
	}
	p, err := parseMember(l.at.Member)
	return &p, err
}

// next returns the partition after the current one, with its sessions in Rest;
// nil after the last.
func (l *lister) next(ctx context.Context) (*backends.Partition, error) {
	l.at.Started = true
	if l.query.Partition != nil {
		return nil, nil
	}
	for {
		p, err := l.nextRegistered(ctx)
		if p == nil || err != nil {
			return nil, err
		}
		l.at.Rest = nil
		if err := l.begin(ctx, *p); err != nil || len(l.at.Rest) > 0 {
			return p, err
		}
	}
}

// index names the key that lists the sessions asked for.
func (l *lister) index(k keys) string {
	if l.query.Pending {
		return k.pending()
	}
	return k.sessions()
}

// begin reads which sessions of the partition the listing has.
func (l *lister) begin(ctx context.Context, p backends.Partition) error {
	if l.at.Started && len(l.at.Rest) > 0 {
		return nil
	}
	l.at.Started = true
	k := l.keys(p)
	ids, err := l.client.ZRange(ctx, l.index(k), 0, -1).Result()
	for err == nil && len(ids) > 0 {
		some := ids[:min(len(ids), hmgetChunk)]
		ids = ids[len(some):]
		var born []float64
		born, err = l.client.ZMScore(ctx, k.born(), some...).Result()
		for _, n := range born {
			if n > 0 { // 0: deleted just now
				l.at.Rest = append(l.at.Rest, int64(n))
			}
		}
	}
	return err
}

// partition adds sessions of Rest to the page.
func (l *lister) partition(ctx context.Context, p backends.Partition) error {
	k := l.keys(p)
	for room := l.query.Page.Size() - len(l.out); room > 0 && len(l.at.Rest) > 0; room = l.query.Page.Size() - len(l.out) {
		some := l.at.Rest[:min(room, len(l.at.Rest))]
		names := make([]*redis.StringSliceCmd, len(some))
		err := l.pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, n := range some {
				at := strconv.FormatInt(n, 10)
				names[i] = pipe.ZRangeByScore(ctx, k.born(), &redis.ZRangeBy{Min: at, Max: at})
			}
			return nil
		})
		if err != nil {
			return err
		}
		var ids []string
		for _, name := range names {
			ids = append(ids, name.Val()...)
		}
		if err := l.add(ctx, p, ids); err != nil {
			return err
		}
		l.at.Rest = l.at.Rest[len(some):]
	}
	return nil
}

// add appends the sessions that are there and still match.
func (l *lister) add(ctx context.Context, p backends.Partition, ids []string) error {
	states, err := l.states(ctx, p, ids)
	if err != nil {
		return err
	}
	var gone []string
	for i, st := range states {
		switch {
		case st == nil:
			gone = append(gone, ids[i])
		case !l.query.Pending || st.Pending():
			l.out = append(l.out, st.Session)
		}
	}
	if len(gone) > 0 {
		l.sweep(ctx, p, gone)
	}
	return nil
}

// sweep takes sessions off the indexes that the server removed when their time was
// over. If it fails the next listing meets them again.
func (l *lister) sweep(ctx context.Context, p backends.Partition, ids []string) {
	k := l.keys(p)
	keys, args := []string{k.sessions(), k.pending(), k.born()}, make([]any, len(ids))
	for i, id := range ids {
		keys, args[i] = append(keys, k.session(id).state(), k.session(id).blobs()), id
	}
	_, _ = l.write(ctx, goneScript, keys, args...)
}

// states reads the states of sessions with one round trip, nil for those that do
// not exist or are expired. One that cannot be read is an error where a partition
// is listed; in a list of all it is logged and left out, so that it does not keep
// the others from being learnt from.
func (l *lister) states(ctx context.Context, p backends.Partition, ids []string) ([]*session, error) {
	answers := make([]*redis.MapStringStringCmd, len(ids))
	err := l.pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			answers[i] = pipe.HGetAll(ctx, l.keys(p).session(id).state())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	now := l.now()
	out := make([]*session, len(ids))
	for i, id := range ids {
		found, err := readSession(p, id, answers[i].Val())
		switch {
		case err != nil && l.query.Partition != nil:
			return nil, err
		case err != nil:
			l.config.Logger.ErrorContext(ctx, "redisstore: a session is left out of a list: run Verify", "partition", p.String(), "session", id, "error", err)
		case found != nil && !found.expired(now):
			out[i] = found
		}
	}
	return out, nil
}
