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

// sessionRow is a row of the table sessions.
type sessionRow struct {
	pk    int64
	state store.Session
}

// expired reports whether the session is gone at now, swept or not.
func (r *sessionRow) expired(now time.Time) bool {
	return !r.state.Expires.IsZero() && !now.Before(r.state.Expires)
}

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, p backends.Partition, session string) (*store.Session, error) {
	if err := checkNames(p, session); err != nil {
		return nil, err
	}
	var out *store.Session
	err := s.snapshot(ctx, fmt.Sprintf("session %q", session), func(c *conn) error {
		row, err := c.livingSession(p, session, s.now())
		if err != nil {
			return err
		}
		if row == nil {
			return fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		out = &row.state
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Delete implements [store.Sessions].
func (s *Store) Delete(ctx context.Context, p backends.Partition, session string) error {
	if err := checkNames(p, session); err != nil {
		return err
	}
	return s.write(ctx, fmt.Sprintf("delete session %q", session), func(c *conn) error {
		part, err := c.partition(p)
		if err != nil {
			return err
		}
		return c.eraseSession(part.pk, session)
	})
}

// livingSession reads a session that exists and is not expired, else nil.
func (c *conn) livingSession(p backends.Partition, session string, now time.Time) (*sessionRow, error) {
	part, err := c.partition(p)
	if err != nil || !part.exists() {
		return nil, err
	}
	return c.session(part, session, now)
}

// session reads a session of the partition, nil when there is none.
func (c *conn) session(part partition, session string, now time.Time) (*sessionRow, error) {
	row := &sessionRow{}
	var state []byte
	found, err := c.row(`SELECT pk, state FROM sessions WHERE part = ? AND id = ?`, []any{part.pk, session}, &row.pk, &state)
	if err != nil || !found {
		return nil, err
	}
	if err := decode("session "+session, state, &row.state); err != nil {
		return nil, err
	}
	if row.expired(now) {
		return nil, nil
	}
	return row, nil
}

// saveSession writes the state as changed now.
func (c *conn) saveSession(row *sessionRow, now time.Time) error {
	row.state.Version++
	row.state.Updated = now
	state, err := plan.Encode("session "+row.state.ID, &row.state)
	if err != nil {
		return err
	}
	expires := sql.NullInt64{}
	if !row.state.Expires.IsZero() {
		expires = sql.NullInt64{Int64: micros(row.state.Expires), Valid: true}
	}
	_, err = c.exec(`UPDATE sessions SET changed = (SELECT max(changed) FROM sessions) + 1, pending = ?, expires = ?, state = ? WHERE pk = ?`,
		row.state.Pending(), expires, state, row.pk)
	return err
}

// eraseSession removes a session with its messages and blobs.
func (c *conn) eraseSession(part int64, session string) error {
	if _, err := c.exec(`DELETE FROM messages WHERE session = (SELECT pk FROM sessions WHERE part = ? AND id = ?)`, part, session); err != nil {
		return err
	}
	if _, err := c.exec(`DELETE FROM blobs WHERE part = ? AND session = ?`, part, session); err != nil {
		return err
	}
	_, err := c.exec(`DELETE FROM sessions WHERE part = ? AND id = ?`, part, session)
	return err
}

// sweepBatch is how many expired sessions one write clears away besides its own
// work.
const sweepBatch = 4

// sweepBlobs is how many blobs it clears away with them: to free a large one,
// SQLite reads all its pages.
const sweepBlobs = 64

// sweep erases expired sessions of all partitions, at most limit of them.
func (c *conn) sweep(ctx context.Context, now time.Time, limit int) error {
	type name struct {
		part int64
		id   string
	}
	var names []name
	err := c.each(ctx, `SELECT part, id FROM sessions WHERE expires <= ? ORDER BY expires LIMIT ?`, []any{now.UnixMicro(), limit}, func(rows *sql.Rows) error {
		var n name
		if err := rows.Scan(&n.part, &n.id); err != nil {
			return err
		}
		names = append(names, n)
		return nil
	})
	blobs := sweepBlobs
	for _, n := range names {
		if err == nil && blobs > 0 {
			blobs, err = c.sweepSession(n.part, n.id, blobs)
		}
	}
	return err
}

// sweepSession erases an expired session, or as many of its blobs as it may, and
// returns how many more it might have. What is left stays as gone as it was.
func (c *conn) sweepSession(part int64, session string, blobs int) (int, error) {
	n, err := c.exec(`DELETE FROM blobs WHERE pk IN (SELECT pk FROM blobs WHERE part = ? AND session = ? LIMIT ?)`, part, session, blobs)
	if left := blobs - int(n); left > 0 && err == nil {
		return left, c.eraseSession(part, session)
	}
	return 0, err
}
