// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// List implements [store.Sessions]. A list of all partitions goes from one to the next.
// The cursor has the number of the last session that was looked at: a session gets its
// number when it begins, and keeps it.
//
// A list of all pending sessions reads the work queue. It also looks for partitions that
// the queue has lost: see [Store.heal].
func (s *Store) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	start, err := decodeCursor("list sessions", q.Page.Cursor, func(l listing) bool { return l.In || l.Member != "" })
	if err != nil {
		return nil, err
	}
	list := func() (*store.SessionPage, error) {
		l := &lister{Store: s, query: q, at: start}
		if q.Page.Cursor == "" {
			l.at.In = q.Partition != nil
			if q.Pending && q.Partition == nil {
				if err := s.heal(ctx); err != nil {
					return nil, err
				}
			}
		}
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

// listing is the position of a listing.
type listing struct {
	Namespace string `json:"n,omitempty"` // of a list of everything: the one that is being read, escaped
	Member    string `json:"m,omitempty"` // of a list of all partitions: the last one
	In        bool   `json:"i,omitempty"` // it is being read
	After     int64  `json:"a,omitempty"` // the number of the last session that was looked at there
}

// encodeCursor returns a reader's position as a text that [decodeCursor] reads.
func encodeCursor(at any) string {
	text, _ := json.Marshal(at) // of strings and numbers: it cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

// decodeCursor returns the zero value for an empty text, and ErrInvalid for an illegal
// one.
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
		if !l.at.In {
			if more, err = l.next(ctx); !more || err != nil {
				return false, err
			}
		}
		if err := l.take(ctx, size-len(l.out)); err != nil {
			return false, err
		}
	}
	return l.query.Partition == nil || l.at.In, nil
}

// next goes to the next partition. It returns false after the last one.
func (l *lister) next(ctx context.Context) (bool, error) {
	if l.query.Partition != nil {
		return false, nil
	}
	for len(l.ahead) == 0 {
		names, err := l.nextNames(ctx)
		if len(names) == 0 || err != nil {
			return false, err
		}
		var idle []string
		l.ahead, idle, err = l.holding(ctx, names, l.query.Pending)
		if err == nil && l.query.Pending {
			err = l.retire(ctx, idle)
		}
		if err != nil {
			return false, err
		}
		l.at.Member = names[len(names)-1]
	}
	l.at.Member, l.at.In, l.at.After = l.ahead[0], true, 0
	l.ahead = l.ahead[1:]
	return true, nil
}

// listKey names the key that lists the sessions asked for.
func (l *lister) listKey(k keys) string {
	if l.query.Pending {
		return k.pending()
	}
	return k.born()
}

// take adds the next n sessions of the partition to the page. It skips sessions that are
// gone or match no more.
func (l *lister) take(ctx context.Context, n int) error {
	p, err := l.partition()
	if err != nil {
		return err
	}
	found, err := l.bornAfter(ctx, p, l.listKey(l.keys(p)), l.at.After, n+1)
	if errors.Is(err, errIncomplete) && l.query.Partition == nil {
		l.config.Logger.ErrorContext(ctx, "redisstore: a partition is left out from a list of all", "partition", p.String(), "error", err)
		l.at.In = false
		return nil
	}
	if err != nil {
		return err
	}
	if l.at.In = len(found) > n; l.at.In {
		found = found[:n]
		l.at.After = int64(found[n-1].Score)
	}
	ids := idsOf(found)
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
		_, _ = l.checkSessions(ctx, p, gone, tidy)
	}
	return nil
}

// bornAfter reads sessions of a partition that come after a number, from one of its lists.
func (s *Store) bornAfter(ctx context.Context, p backends.Partition, list string, after int64, n int) ([]redis.Z, error) {
	var found *redis.ZSliceCmd
	err := s.readWhole(ctx, p, haveSessions, s.keys(p).ofSessions(), func(pipe redis.Pipeliner) {
		found = pipe.ZRangeByScoreWithScores(ctx, list, &redis.ZRangeBy{Min: fmt.Sprint("(", after), Max: "+inf", Count: int64(n)})
	})
	return found.Val(), err
}

func idsOf(found []redis.Z) []string {
	ids := make([]string, len(found))
	for i, z := range found {
		ids[i], _ = z.Member.(string)
	}
	return ids
}

func (l *lister) partition() (backends.Partition, error) {
	if l.query.Partition != nil {
		return *l.query.Partition, nil
	}
	return parseMember(l.at.Member)
}

// states reads the states of sessions with one round trip, nil for missing and expired
// ones. An unreadable session is an error in the list of a partition. In a list of all it
// is logged and left out, so that learning goes on with the others.
func (l *lister) states(ctx context.Context, p backends.Partition, ids []string) ([]*session, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	answers := make([]stateOnServer, len(ids))
	err := l.atOnce(ctx, func(pipe redis.Pipeliner) {
		for i, id := range ids {
			answers[i] = readState(ctx, pipe, l.keys(p), id)
		}
	})
	if err != nil {
		return nil, err
	}
	now := l.now()
	out := make([]*session, len(ids))
	for i, id := range ids {
		found, err := answers[i].session(p, id)
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

// nextNames reads the entries of the next partitions: from the work queue or, namespace
// by namespace, from all lists.
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

// Deleted implements [store.Records]. It scans the histories, whose texts the server
// sends along.
func (s *Store) Deleted(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.idPage(ctx, "deleted memories", p, page, func(k keys, after int64, size int) (*store.IDPage, error) {
		var scan *redis.ScanCmd
		err := s.readRecords(ctx, p, func(pipe redis.Pipeliner) { scan = pipe.HScan(ctx, k.history(), uint64(after), "", int64(size)) })
		if err != nil {
			return nil, err
		}
		found, next := scan.Val()
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
			out.Next = plan.Cursor(int64(next))
		}
		return out, nil
	})
}

// BlobSessions implements [store.Blobs]. Sessions come in the order of their creation.
func (s *Store) BlobSessions(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.idPage(ctx, "sessions with blobs", p, page, func(k keys, after int64, size int) (*store.IDPage, error) {
		found, err := s.bornAfter(ctx, p, k.born(), after, size)
		if err != nil {
			return nil, err
		}
		out := &store.IDPage{}
		if len(found) == size {
			out.Next = plan.Cursor(int64(found[size-1].Score))
		}
		out.IDs, err = s.living(ctx, k, idsOf(found), hasBlobs, func(k sessionKeys) []string { return []string{k.blobs()} })
		return out, err
	})
}

// idPage reads a page of ids after a cursor that is a number.
func (s *Store) idPage(ctx context.Context, what string, p backends.Partition, page store.Page, read func(k keys, after int64, size int) (*store.IDPage, error)) (*store.IDPage, error) {
	var after int64
	if err := plan.ParseCursor(page.Cursor, &after); err != nil {
		return nil, fmt.Errorf("redisstore: %s: %w", what, err)
	}
	return on(ctx, s, p, "", what+" of "+p.String(), func() (*store.IDPage, error) { return read(s.keys(p), after, page.Size()) })
}
