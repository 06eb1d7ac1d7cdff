// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// List implements [store.Sessions]. A list of all partitions goes from one to the
// next; within each, the sessions that changed first come first.
//
// The first look at a partition fixes which of its sessions the listing has, and
// their order. Those to come are in the cursor, by the number that a session gets
// when it is created, so that one which changes meanwhile is still met once; the
// cursor takes some two bytes for each.
func (s *Store) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	start, err := decodeCursor("list sessions", q.Page.Cursor, func(l listing) bool { return l.Started })
	if err != nil {
		return nil, err
	}
	list := func() (*store.SessionPage, error) {
		l := &lister{Store: s, query: q, at: start}
		more, err := l.fill(ctx)
		out := &store.SessionPage{Sessions: l.out}
		if more {
			out.Next = encodeCursor(l.at)
		}
		return out, err
	}
	if q.Partition != nil {
		return on(ctx, s, *q.Partition, "", "list sessions", list)
	}
	return retry(ctx, s, "list sessions", list)
}

// listing is where a listing stands.
type listing struct {
	Started   bool         `json:"s,omitempty"`
	Namespace string       `json:"n,omitempty"` // of a list of everything: the one that is being read, escaped
	Member    string       `json:"m,omitempty"` // of a list of all partitions: the one that is being read
	Left      plan.Numbers `json:"r,omitempty"` // sessions of that partition to come
}

// encodeCursor returns where a reader stands as a text that [decodeCursor] reads.
func encodeCursor(at any) string {
	text, _ := json.Marshal(at) // of strings and numbers: it cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

// decodeCursor returns the zero value for an empty text, and ErrInvalid for one that is
// not legal.
func decodeCursor[T any](doing, cursor string, legal func(T) bool) (at T, err error) {
	if cursor == "" {
		return at, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	if err != nil || !legal(at) {
		err = fmt.Errorf("redisstore: %s: cursor %q: %w: not one of this store", doing, cursor, backends.ErrInvalid)
	}
	return at, err
}

// lister fills one page.
type lister struct {
	*Store
	query store.SessionQuery
	at    listing
	ahead []string // registered partitions to come that have sessions
	out   []store.Session
}

// fill reads one page, and reports whether there may be another.
func (l *lister) fill(ctx context.Context) (more bool, err error) {
	size := l.query.Page.Size()
	for len(l.out) < size {
		for len(l.at.Left) == 0 {
			if more, err = l.next(ctx); !more || err != nil {
				return false, err
			}
		}
		if err := l.take(ctx, min(size-len(l.out), len(l.at.Left))); err != nil {
			return false, err
		}
	}
	return l.query.Partition == nil || len(l.at.Left) > 0, nil
}

// next goes to the next partition, and fixes which of its sessions the listing has.
// It returns false after the last partition.
func (l *lister) next(ctx context.Context) (bool, error) {
	if l.query.Partition != nil {
		if l.at.Started {
			return false, nil
		}
		l.at.Started = true
		return true, l.begin(ctx, l.keys(*l.query.Partition))
	}
	l.at.Started = true
	for len(l.ahead) == 0 {
		names, err := l.nextNames(ctx)
		if len(names) == 0 || err != nil {
			return false, err
		}
		if l.ahead, err = l.busy(ctx, names); err != nil {
			return false, err
		}
		l.at.Member = names[len(names)-1]
	}
	l.at.Member, l.ahead = l.ahead[0], l.ahead[1:]
	return true, l.begin(ctx, l.named(l.at.Member))
}

// listKey names the key that lists the sessions asked for.
func (l *lister) listKey(k keys) string {
	if l.query.Pending {
		return k.pending()
	}
	return k.sessions()
}

// begin reads which sessions of a partition the listing has.
func (l *lister) begin(ctx context.Context, k keys) error {
	ids, err := l.client.ZRange(ctx, l.listKey(k), 0, -1).Result()
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, hmgetChunk) {
		born, err := l.client.ZMScore(ctx, k.born(), some...).Result()
		if err != nil {
			return err
		}
		for _, n := range born {
			if n > 0 { // 0: deleted just now
				l.at.Left = append(l.at.Left, int64(n))
			}
		}
	}
	return nil
}

// take moves the next n sessions from Left to the page, those that exist and still
// match.
func (l *lister) take(ctx context.Context, n int) error {
	p, err := l.partition()
	if err != nil {
		return err
	}
	names := make([]*redis.StringSliceCmd, n)
	err = l.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, number := range l.at.Left[:n] {
			at := strconv.FormatInt(number, 10)
			names[i] = pipe.ZRangeByScore(ctx, l.keys(p).born(), &redis.ZRangeBy{Min: at, Max: at})
		}
	})
	if err != nil {
		return err
	}
	var ids []string
	for _, name := range names {
		ids = append(ids, name.Val()...)
	}
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
	if len(gone) > 0 { // if this fails the next listing meets them again
		_, _ = l.checkSessions(ctx, p, gone, true)
	}
	l.at.Left = l.at.Left[n:]
	return nil
}

func (l *lister) partition() (backends.Partition, error) {
	if l.query.Partition != nil {
		return *l.query.Partition, nil
	}
	return parseMember(l.at.Member)
}

// states reads the states of sessions with one round trip, nil for those that do
// not exist or are expired. One that cannot be read is an error where a partition
// is listed; in a list of all it is logged and left out, so that it does not keep
// the others from being learnt from.
func (l *lister) states(ctx context.Context, p backends.Partition, ids []string) ([]*session, error) {
	answers := make([]*redis.MapStringStringCmd, len(ids))
	err := l.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, id := range ids {
			answers[i] = pipe.HGetAll(ctx, l.keys(p).session(id).state())
		}
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
			l.config.Logger.ErrorContext(ctx, "redisstore: a session cannot be read and is left out of a list",
				"partition", p.String(), "session", id, "error", err)
		case found != nil && !plan.Expired(&found.Session, now):
			out[i] = found
		}
	}
	return out, nil
}

// listAhead is how many partitions are looked at with one round trip.
const listAhead = 128

// nextNames reads the names of the next partitions: in the work queue or, namespace
// by namespace, in all lists.
func (l *lister) nextNames(ctx context.Context) ([]string, error) {
	if l.query.Pending {
		return l.lex(ctx, l.workKey(), l.at.Member, listAhead)
	}
	for {
		if l.at.Namespace != "" {
			_, after, _ := strings.Cut(l.at.Member, ":")
			names, err := l.lex(ctx, l.partitionsKey(l.at.Namespace), after, listAhead)
			for i := range names {
				names[i] = l.at.Namespace + ":" + names[i]
			}
			if len(names) > 0 || err != nil {
				return names, err
			}
		}
		spaces, err := l.lex(ctx, l.namespacesKey(), l.at.Namespace, 1)
		if len(spaces) == 0 || err != nil {
			return nil, err
		}
		l.at.Namespace, l.at.Member = spaces[0], ""
	}
}

// busy returns those of the partitions that have sessions to list. Those that have
// long been without work are taken off the work queue.
func (l *lister) busy(ctx context.Context, names []string) ([]string, error) {
	counts, since := make([]*redis.IntCmd, len(names)), make([]*redis.StringCmd, len(names))
	err := l.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, name := range names {
			k := l.named(name)
			counts[i], since[i] = pipe.ZCard(ctx, l.listKey(k)), pipe.HGet(ctx, k.meta(), "work")
		}
	})
	if err != nil {
		return nil, err
	}
	limit := plan.Micros(l.now().Add(-idle))
	var out []string
	for i, name := range names {
		if counts[i].Val() > 0 {
			out = append(out, name)
			continue
		}
		if entered, _ := since[i].Int64(); l.query.Pending && entered <= limit {
			if err := l.retire(ctx, name, limit); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Deleted implements [store.Records]. It scans the histories, whose texts the server
// sends along.
func (s *Store) Deleted(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.idPage(ctx, "deleted memories", p, page, func(k keys, after uint64, size int) (*store.IDPage, error) {
		found, next, err := s.client.HScan(ctx, k.history(), after, "", int64(size)).Result()
		if err != nil {
			return nil, err
		}
		versions := make([]*redis.FloatCmd, len(found)/2)
		err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
			for i := range versions {
				versions[i] = pipe.ZScore(ctx, k.changed(), found[2*i])
			}
		})
		if err != nil {
			return nil, err
		}
		out := &store.IDPage{}
		for i, version := range versions {
			if isNil(version.Err()) {
				out.IDs = append(out.IDs, found[2*i])
			}
		}
		if next != 0 {
			out.Next = strconv.FormatUint(next, 10)
		}
		return out, nil
	})
}

// BlobSessions implements [store.Blobs]. Sessions come in the order of their creation.
func (s *Store) BlobSessions(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.idPage(ctx, "sessions with blobs", p, page, func(k keys, after uint64, size int) (*store.IDPage, error) {
		found, err := s.client.ZRangeByScoreWithScores(ctx, k.born(), &redis.ZRangeBy{Min: fmt.Sprint("(", after), Max: "+inf", Count: int64(size)}).Result()
		if err != nil {
			return nil, err
		}
		ids := make([]string, len(found))
		for i, z := range found {
			ids[i] = fmt.Sprint(z.Member)
		}
		alive, err := s.living(ctx, k, ids, func(k sessionKeys) []string { return []string{k.blobs()} })
		if err != nil {
			return nil, err
		}
		out := &store.IDPage{}
		for i, id := range ids {
			if alive[i] {
				out.IDs = append(out.IDs, id)
			}
		}
		if len(found) == size {
			out.Next = strconv.FormatUint(uint64(found[size-1].Score), 10)
		}
		return out, nil
	})
}

// idPage reads a page of ids after a cursor that is a number.
func (s *Store) idPage(ctx context.Context, what string, p backends.Partition, page store.Page, read func(k keys, after uint64, size int) (*store.IDPage, error)) (*store.IDPage, error) {
	after := uint64(0)
	if page.Cursor != "" {
		var err error
		if after, err = strconv.ParseUint(page.Cursor, 10, 64); err != nil {
			return nil, fmt.Errorf("redisstore: %s: cursor %q: %w: not one of this store", what, page.Cursor, backends.ErrInvalid)
		}
	}
	return on(ctx, s, p, "", what+" of "+p.String(), func() (*store.IDPage, error) { return read(s.keys(p), after, page.Size()) })
}
