// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// Append implements [store.Sessions].
func (s *Store) Append(ctx context.Context, p backends.Partition, session string, a *store.Append) (*store.Session, error) {
	if err := a.Validate(); err != nil {
		return nil, s.describe("append", err)
	}
	doing := fmt.Sprintf("append %d messages to session %q", len(a.Entries), session)
	return write(ctx, s, doing, p, session, func(c *conn, part partition) (*store.Session, error) {
		now := s.now()
		if err := c.purge(ctx, now, purgeBatch); err != nil {
			return nil, err
		}
		row, created, err := c.ensureSession(part, session, a.Scope, now)
		if err != nil {
			return nil, err
		}
		pending := row.Pending()
		added, err := c.appendEntries(row, a.Entries, now)
		if err != nil {
			return nil, err
		}
		if added == 0 && !created {
			return &row.Session, errUnchanged
		}
		if a.Learnt && !pending {
			row.Watermark = row.LastSeq
		}
		if a.TTL > 0 {
			row.Expires = now.Add(a.TTL)
		}
		return &row.Session, c.saveSession(row, now)
	})
}

// ensureSession reads a session and creates it if it does not exist or is expired,
// which it reports.
func (c *conn) ensureSession(part partition, session string, scope backends.Scope, now time.Time) (*sessionRow, bool, error) {
	if err := c.create(&part); err != nil {
		return nil, false, err
	}
	row, err := c.session(part, session, now)
	if row != nil || err != nil {
		return row, false, err
	}
	if err := c.eraseExpired(part.pk, session); err != nil {
		return nil, false, err
	}
	row = &sessionRow{Session: store.Session{Partition: part.Partition, ID: session, Scope: scope, Created: now}}
	row.pk, err = c.insert(`INSERT INTO sessions (part, id, changed, pending, state)
		VALUES (?, ?, (SELECT ifnull(max(changed), 0) FROM sessions) + 1, 0, '')`, part.pk, session)
	return row, true, err
}

// appendEntries writes the entries whose ids are new, and returns how many.
func (c *conn) appendEntries(row *sessionRow, entries []store.Entry, now time.Time) (int, error) {
	added := 0
	for _, e := range entries {
		e.Seq = row.LastSeq + 1
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
		row.LastSeq = e.Seq
		row.Tokens += int64(e.Tokens)
	}
	return added, nil
}

// Read implements [store.Sessions].
func (s *Store) Read(ctx context.Context, p backends.Partition, session string, r store.Range) ([]store.Entry, error) {
	const query = `SELECT entry FROM messages WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`
	return read(ctx, s, fmt.Sprintf("read session %q", session), p, session, func(c *conn, part partition) ([]store.Entry, error) {
		row, err := c.session(part, session, s.now())
		if err != nil || row == nil {
			return nil, err
		}
		if r.Upto <= 0 || r.Upto > row.LastSeq {
			r.Upto = row.LastSeq
		}
		if oldest := r.Upto - int64(r.Size()); r.Last && r.After < oldest {
			r.After = oldest // sequence numbers have no gaps
		}
		return decoded[store.Entry](ctx, c, "message", query, row.pk, r.After, r.Upto, r.Size())
	})
}
