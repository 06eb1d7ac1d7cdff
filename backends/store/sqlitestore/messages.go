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

// Append implements [store.Sessions].
func (s *Store) Append(ctx context.Context, p backends.Partition, session string, a *store.Append) (*store.Session, error) {
	if err := checkNames(p, session); err != nil {
		return nil, err
	}
	if a == nil {
		return nil, fmt.Errorf("sqlitestore: append: %w: nothing to append", backends.ErrInvalid)
	}
	if err := a.Validate(); err != nil {
		return nil, fmt.Errorf("sqlitestore: append: %w", err)
	}
	var out *store.Session
	err := s.write(ctx, fmt.Sprintf("append %d messages to session %q", len(a.Entries), session), func(c *conn) error {
		now := s.now()
		if err := c.sweep(ctx, now, sweepBatch); err != nil {
			return err
		}
		row, created, err := c.ensureSession(p, session, a.Scope, now)
		if err != nil {
			return err
		}
		waits := row.state.Pending()
		added, err := c.appendEntries(row, a.Entries, now)
		if err != nil {
			return err
		}
		out = &row.state
		if added == 0 && !created {
			return errUnchanged
		}
		if a.Learnt && !waits {
			row.state.Watermark = row.state.LastSeq
		}
		if a.TTL > 0 {
			row.state.Expires = now.Add(a.TTL)
		}
		return c.saveSession(row, now)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ensureSession reads a session and creates it if it does not exist, or is
// expired.
func (c *conn) ensureSession(p backends.Partition, session string, scope backends.Scope, now time.Time) (*sessionRow, bool, error) {
	part, err := c.ensurePartition(p)
	if err != nil {
		return nil, false, err
	}
	row, err := c.session(part, session, now)
	if row != nil || err != nil {
		return row, false, err
	}
	if err := c.eraseExpired(part.pk, session); err != nil {
		return nil, false, err
	}
	row = &sessionRow{state: store.Session{Partition: p, ID: session, Scope: scope, Created: now}}
	row.pk, err = c.insert(`INSERT INTO sessions (part, id, changed, pending, state)
		VALUES (?, ?, (SELECT ifnull(max(changed), 0) FROM sessions) + 1, 0, '')`, part.pk, session)
	return row, true, err
}

// eraseExpired erases what an expired session of that name left. Blobs that were
// put before the session's first message are not its leftovers.
func (c *conn) eraseExpired(part int64, session string) error {
	var one int
	found, err := c.row(`SELECT 1 FROM sessions WHERE part = ? AND id = ?`, []any{part, session}, &one)
	if err != nil || !found {
		return err
	}
	return c.eraseSession(part, session)
}

// appendEntries writes the entries whose ids are new, and returns how many.
func (c *conn) appendEntries(row *sessionRow, entries []store.Entry, now time.Time) (int, error) {
	added := 0
	for _, e := range entries {
		e.Seq = row.state.LastSeq + 1
		if e.Time.IsZero() {
			e.Time = now
		}
		text, err := plan.Encode("message "+e.ID, &e)
		if err != nil {
			return 0, err
		}
		n, err := c.exec(`INSERT INTO messages (session, seq, id, entry) VALUES (?, ?, ?, ?) ON CONFLICT (session, id) DO NOTHING`,
			row.pk, e.Seq, e.ID, text)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			continue
		}
		added++
		row.state.LastSeq = e.Seq
		row.state.Tokens += int64(e.Tokens)
	}
	return added, nil
}

// Read implements [store.Sessions].
func (s *Store) Read(ctx context.Context, p backends.Partition, session string, r store.Range) ([]store.Entry, error) {
	if err := checkNames(p, session); err != nil {
		return nil, err
	}
	var out []store.Entry
	err := s.snapshot(ctx, fmt.Sprintf("read session %q", session), func(c *conn) error {
		row, err := c.livingSession(p, session, s.now())
		if err != nil || row == nil {
			return err
		}
		out, err = c.entries(ctx, row, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *conn) entries(ctx context.Context, row *sessionRow, r store.Range) ([]store.Entry, error) {
	if r.Upto <= 0 || r.Upto > row.state.LastSeq {
		r.Upto = row.state.LastSeq
	}
	if oldest := r.Upto - int64(r.Size()); r.Last && r.After < oldest {
		r.After = oldest // sequence numbers have no gaps
	}
	var out []store.Entry
	const query = `SELECT entry FROM messages WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`
	err := c.each(ctx, query, []any{row.pk, r.After, r.Upto, r.Size()}, func(rows *sql.Rows) error {
		var text sql.RawBytes
		if err := rows.Scan(&text); err != nil {
			return err
		}
		var e store.Entry
		if err := decode("message", text, &e); err != nil {
			return err
		}
		out = append(out, e)
		return nil
	})
	return out, err
}
