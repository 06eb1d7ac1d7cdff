// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// List implements [store.Sessions].
//
// The first page fixes which sessions the listing has and their order. What was
// not returned yet is in the cursor, so that a session which changes meanwhile,
// and thereby its place, is still met exactly once; the cursor takes some two
// bytes for each session to come.
func (s *Store) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	if q.Partition != nil {
		if err := checkNames(*q.Partition, ""); err != nil {
			return nil, err
		}
	}
	rest, err := parseListing(q.Page.Cursor)
	if err != nil {
		return nil, err
	}
	out := &store.SessionPage{}
	err = s.snapshot(ctx, "list sessions", func(c *conn) error {
		now := s.now()
		if q.Page.Cursor == "" {
			if rest, err = c.listing(ctx, q, now); err != nil {
				return err
			}
		}
		for len(rest) > 0 && len(out.Sessions) < q.Page.Size() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := c.listed(rest[0], q, now, out); err != nil {
				return err
			}
			rest = rest[1:]
		}
		out.Next = rest.String()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// parseListing reads what is left of a list of sessions, by their keys.
func parseListing(text string) (plan.Numbers, error) {
	rest, err := plan.ParseNumbers(text)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: list sessions: cursor: %w: not one of this store: %w", backends.ErrInvalid, err)
	}
	return rest, nil
}

// listing reads the keys of the sessions that match, those that changed first
// coming first.
func (c *conn) listing(ctx context.Context, q store.SessionQuery, now time.Time) (plan.Numbers, error) {
	query, args := `SELECT pk FROM sessions WHERE (expires IS NULL OR expires > ?)`, []any{now.UnixMicro()}
	if q.Pending {
		query += ` AND pending = 1`
	}
	if q.Partition != nil {
		part, err := c.partition(*q.Partition)
		if err != nil {
			return nil, err
		}
		query, args = query+` AND part = ?`, append(args, part.pk)
	}
	var out plan.Numbers
	err := c.each(ctx, query+` ORDER BY changed`, args, func(rows *sql.Rows) error {
		var pk int64
		if err := rows.Scan(&pk); err != nil {
			return err
		}
		out = append(out, pk)
		return nil
	})
	return out, err
}

// listed adds one session to the page, unless it is gone or matches no more.
func (c *conn) listed(pk int64, q store.SessionQuery, now time.Time, out *store.SessionPage) error {
	row := sessionRow{pk: pk}
	var state []byte
	found, err := c.row(`SELECT state FROM sessions WHERE pk = ?`, []any{pk}, &state)
	if err != nil || !found {
		return err
	}
	if err := decode("session", state, &row.state); err != nil {
		return err
	}
	if row.expired(now) || q.Pending && !row.state.Pending() || q.Partition != nil && row.state.Partition != *q.Partition {
		return nil
	}
	out.Sessions = append(out.Sessions, row.state)
	return nil
}
