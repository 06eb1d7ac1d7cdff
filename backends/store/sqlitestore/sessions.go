// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// sessionRow is a row of the table sessions.
type sessionRow struct {
	pk, part int64
	store.Session
}

// Conditions of statements, on the table sessions.
const (
	byName  = `part = ? AND id = ?`
	expired = `pk IN (SELECT pk FROM sessions WHERE expires <= ? ORDER BY expires LIMIT ?)`
)

// session reads a session of the partition, nil if it is missing or expired.
func (c *conn) session(part partition, session string, now time.Time) (*sessionRow, error) {
	var r listed
	found, err := c.row(`SELECT pk, part, id, state, NULL, sum FROM sessions WHERE part = ? AND id = ?`, []any{part.pk, session}, r.columns()...)
	if err != nil || !found {
		return nil, err
	}
	row := &sessionRow{pk: r.pk, part: r.owner}
	if err := r.decode("session", &row.Session); err != nil || plan.Expired(&row.Session, now) {
		return nil, err
	}
	return row, nil
}

// saveSession writes the state as changed now.
func (c *conn) saveSession(row *sessionRow, now time.Time) error {
	row.Version++
	row.Updated = now
	state, err := plan.Encode("session "+row.ID, &row.Session)
	if err != nil {
		return err
	}
	var expires any // NULL: never
	if !row.Expires.IsZero() {
		expires = plan.Micros(row.Expires)
	}
	r := sealed{owner: row.part, key: row.ID, text: state}
	return c.exec(`UPDATE sessions SET pending = ?, expires = ?, state = ?, sum = ? WHERE pk = ?`,
		row.Pending(), expires, r.text, r.checksum(), row.pk)
}

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, p backends.Partition, session string) (*store.Session, error) {
	return call(ctx, s, s.read, fmt.Sprintf("session %q", session), p, session, func(c *conn, part partition) (*store.Session, error) {
		row, err := c.session(part, session, s.now())
		if err == nil && row == nil {
			err = fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		if err != nil {
			return nil, err
		}
		return &row.Session, nil
	})
}

// Update implements [store.Sessions].
func (s *Store) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	if err := u.Validate(); err != nil {
		return nil, s.describe("update session", err)
	}
	var doubted error // see plan.Session
	out, err := call(ctx, s, s.write, fmt.Sprintf("update session %q", u.Session), p, "", func(c *conn, part partition) (out *store.Session, err error) {
		if out, doubted = c.updateSession(part, u, s.now()); out == nil {
			return nil, doubted
		}
		return out, nil
	})
	if err == nil && doubted != nil {
		return nil, s.describe("update session", doubted)
	}
	return out, err
}

// updateSession returns the session after u, with an error if its lease is doubted.
func (c *conn) updateSession(part partition, u *store.SessionUpdate, now time.Time) (*store.Session, error) {
	row, err := c.session(part, u.Session, now)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, fmt.Errorf("session %q: %w", u.Session, backends.ErrNotFound)
	}
	state, refused := plan.Session(u, &row.Session, now)
	if state == nil {
		return nil, refused
	}
	row.Session = *state
	if err := c.saveSession(row, now); err != nil {
		return nil, err
	}
	return &row.Session, refused
}

// Delete implements [store.Sessions].
func (s *Store) Delete(ctx context.Context, p backends.Partition, session string) error {
	_, err := call(ctx, s, s.erase, fmt.Sprintf("delete session %q", session), p, session, func(c *conn, part partition) (any, error) {
		if err := c.erase(byName, part.pk, session); err != nil {
			return nil, err
		}
		// These were put before the session's first message.
		return nil, c.exec(`DELETE FROM blobs WHERE part = ? AND session = ?`, part.pk, session)
	})
	return err
}

// EraseMessages implements [store.Sessions].
func (s *Store) EraseMessages(ctx context.Context, p backends.Partition, session string, seqs ...int64) (int, error) {
	doing := fmt.Sprintf("erase %d messages of session %q", len(seqs), session)
	return call(ctx, s, s.write, doing, p, session, func(c *conn, part partition) (n int, err error) {
		row, err := c.session(part, session, s.now())
		if err != nil || row == nil {
			return 0, err
		}
		for _, seq := range seqs {
			found, err := decoded[store.Entry](ctx, c, "message", selectMessages+`seq = ?`, row.pk, seq)
			if err != nil {
				return 0, err
			}
			for _, rest := range plan.Erase(&row.Session, found) {
				if err := c.rewrite(row, seq, rest); err != nil {
					return 0, err
				}
				n++
			}
		}
		if n == 0 {
			return 0, nil
		}
		return n, c.saveSession(row, s.now())
	})
}

// rewrite writes a message anew.
func (c *conn) rewrite(row *sessionRow, seq int64, e store.Entry) error {
	text, err := plan.Encode("message "+e.ID, &e)
	if err != nil {
		return err
	}
	r := message(row, seq, text)
	return c.exec(`UPDATE messages SET entry = ?, sum = ? WHERE session = ? AND seq = ?`, r.text, r.checksum(), r.owner, seq)
}

// selectMessages begins a query for messages of a session.
const selectMessages = `SELECT session, seq, entry, NULL, sum FROM messages WHERE session = ? AND `

// message is the row of a message.
func message(row *sessionRow, seq int64, text string) *sealed {
	return &sealed{owner: row.pk, key: strconv.FormatInt(seq, 10), text: text}
}

// erase removes sessions with their messages and blobs. Blobs without a session stay.
func (c *conn) erase(which string, args ...any) error {
	for _, query := range []string{
		`DELETE FROM messages WHERE session IN (SELECT pk FROM sessions WHERE ` + which + `)`,
		`DELETE FROM blobs WHERE (part, session) IN (SELECT part, id FROM sessions WHERE ` + which + `)`,
		`DELETE FROM sessions WHERE ` + which,
	} {
		if err := c.exec(query, args...); err != nil {
			return err
		}
	}
	return nil
}

// List implements [store.Sessions]. A list of all partitions goes from one to the next.
func (s *Store) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	within := backends.Partition{Namespace: "any", Kind: backends.PartitionUser, ID: "any"} // its row stays unused
	if q.Partition != nil {
		within = *q.Partition
	}
	return call(ctx, s, s.read, "list sessions", within, "", func(c *conn, part partition) (*store.SessionPage, error) {
		var key, after int64
		if err := plan.ParseCursor(q.Page.Cursor, &key, &after); err != nil {
			return nil, err
		}
		from := []string{theRest, theOthers}
		if q.Partition != nil {
			from, key = from[:1], part.pk
		}
		var found []listed
		for _, some := range from {
			more, err := collect(ctx, c, (*listed).columns, listing(some, q.Pending),
				key, after, s.now().UnixMicro(), q.Page.Size()+1-len(found))
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
		out := &store.SessionPage{}
		found, out.Next = plan.Cut(found, q.Page, func(l *listed) string { return plan.Cursor(l.owner, l.pk) })
		out.Sessions = make([]store.Session, len(found))
		return out, plan.Each(len(found), func(i int) error { return found[i].decode("session", &out.Sessions[i]) })
	})
}

// listed is a row of a listing of sessions.
type listed struct {
	pk int64
	sealed
}

func (l *listed) columns() []any { return append([]any{&l.pk}, l.sealed.columns()...) }

// The rest of a listing after a place: the remaining sessions of the partition, then the
// other partitions. A page needs two queries, because SQLite would search an index for the
// partition alone.
const (
	theRest   = `part = ?1 AND pk > ?2`
	theOthers = `part > ?1`
)

func listing(from string, pending bool) string {
	if pending {
		from += ` AND pending = 1`
	}
	return `SELECT pk, part, id, state, NULL, sum FROM sessions WHERE ` + from + ` AND (expires IS NULL OR expires > ?3) ORDER BY part, pk LIMIT ?4`
}

// Append implements [store.Sessions].
func (s *Store) Append(ctx context.Context, p backends.Partition, session string, a *store.Append) (*store.Session, error) {
	if err := a.Validate(); err != nil {
		return nil, s.describe("append", err)
	}
	doing := fmt.Sprintf("append %d messages to session %q", len(a.Entries), session)
	texts, err := encodeEntries(a.Entries, s.now())
	if err != nil {
		return nil, s.describe(doing, err)
	}
	return call(ctx, s, s.write, doing, p, session, func(c *conn, part partition) (*store.Session, error) {
		now := s.now()
		row, err := c.ensureSession(part, session, now)
		if err != nil {
			return nil, err
		}
		changed, err := plan.Append(a, &row.Session, now, func(i int, seq int64) (bool, error) {
			r := message(row, seq, texts[i])
			n, err := c.count(`INSERT INTO messages (session, seq, id, entry, sum) VALUES (?, ?, ?, ?, ?) ON CONFLICT (session, id) DO NOTHING`,
				r.owner, seq, a.Entries[i].ID, r.text, r.checksum())
			return n > 0, err
		})
		if changed {
			err = c.saveSession(row, now)
		}
		return &row.Session, err
	})
}

// ensureSession reads a session, and creates a missing or expired one.
func (c *conn) ensureSession(part partition, session string, now time.Time) (*sessionRow, error) {
	if err := c.create(&part); err != nil {
		return nil, err
	}
	row, err := c.session(part, session, now)
	if row != nil || err != nil {
		return row, err
	}
	if err := c.erase(byName, part.pk, session); err != nil { // it is expired, if it is there
		return nil, err
	}
	row = &sessionRow{part: part.pk, Session: store.Session{Partition: part.Partition, ID: session, Created: now}}
	_, err = c.row(`INSERT INTO sessions (part, id, pending, state) VALUES (?, ?, 0, '') RETURNING pk`, []any{part.pk, session}, &row.pk)
	return row, err
}

// encodeEntries returns the entries as text. Their sequence numbers, which only the
// transaction knows, have a column of their own, so encoding goes on before it.
func encodeEntries(entries []store.Entry, now time.Time) ([]string, error) {
	out := make([]string, len(entries))
	for i, e := range entries {
		if e.Time.IsZero() {
			e.Time = now
		}
		text, err := plan.Encode("message "+e.ID, &e)
		if err != nil {
			return nil, err
		}
		out[i] = text
	}
	return out, nil
}

// Read implements [store.Sessions].
func (s *Store) Read(ctx context.Context, p backends.Partition, session string, r store.Range) ([]store.Entry, error) {
	return call(ctx, s, s.read, fmt.Sprintf("read session %q", session), p, session, func(c *conn, part partition) ([]store.Entry, error) {
		row, err := c.session(part, session, s.now())
		if err != nil || row == nil {
			return nil, err
		}
		if r.Upto <= 0 || r.Upto > row.LastSeq {
			r.Upto = row.LastSeq
		}
		r.After = max(r.After, 0)
		if oldest := r.Upto - int64(r.Size()); r.Last && r.After < oldest {
			r.After = oldest
		}
		const query = selectMessages + `seq > ? AND seq <= ? ORDER BY seq LIMIT ?`
		out, err := decoded[store.Entry](ctx, c, "message", query, row.pk, r.After, r.Upto, r.Size())
		if want := min(int64(r.Size()), max(r.Upto-r.After, 0)); err == nil && int64(len(out)) != want {
			err = errDamaged(fmt.Sprintf("%d of %d messages are there", len(out), want)) // sequence numbers have no gaps
		}
		for i := range out {
			out[i].Seq = r.After + 1 + int64(i)
		}
		return out, err
	})
}

// PutBlob implements [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	doing := fmt.Sprintf("put blob %q of session %q", name, session)
	_, err := call(ctx, s, s.write, doing, p, session, func(c *conn, part partition) (any, error) {
		if err := store.ValidateID("blob", name); err != nil {
			return nil, err
		}
		if data == nil {
			return nil, c.exec(`DELETE FROM blobs WHERE part = ? AND session = ? AND name = ?`, part.pk, session, name)
		}
		if err := c.create(&part); err != nil {
			return nil, err
		}
		row, err := c.session(part, session, s.now())
		if err == nil && row == nil {
			err = c.erase(byName, part.pk, session) // it has expired, if it is there
		}
		if err != nil {
			return nil, err
		}
		r := sealed{owner: part.pk, key: session, text: name, data: data}
		return nil, c.exec(`INSERT INTO blobs (part, session, name, data, sum) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (part, session, name) DO UPDATE SET data = excluded.data, sum = excluded.sum`, r.owner, r.key, r.text, r.data, r.checksum())
	})
	return err
}

// GetBlob implements [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	const query = `SELECT b.part, b.session, b.name, b.data, b.sum FROM blobs b LEFT JOIN sessions s ON s.part = b.part AND s.id = b.session
		WHERE b.part = ? AND b.session = ? AND b.name = ? AND (s.expires IS NULL OR s.expires > ?)`
	return call(ctx, s, s.read, fmt.Sprintf("get blob %q of session %q", name, session), p, session, func(c *conn, part partition) ([]byte, error) {
		if err := store.ValidateID("blob", name); err != nil {
			return nil, err
		}
		rows, err := c.rows(ctx, query, part.pk, session, name, s.now().UnixMicro())
		if err == nil && len(rows) == 0 {
			err = fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		if err != nil {
			return nil, err
		}
		if rows[0].data == nil { // so the driver returns an empty one
			rows[0].data = []byte{}
		}
		return rows[0].data, rows[0].check("blob of session")
	})
}

// blobsQuery reads a range of the index of names. SQLite takes the length of a blob from
// the head of its row, and leaves its data unread.
const blobsQuery = `SELECT b.name, length(b.data) FROM blobs b LEFT JOIN sessions s ON s.part = b.part AND s.id = b.session
	WHERE b.part = ? AND b.session = ? AND b.name >= ? AND b.name < ? AND (s.expires IS NULL OR s.expires > ?)
	ORDER BY b.name LIMIT ?`

// ListBlobs implements [store.Blobs]. The cost of a page depends on its own size alone,
// however many blobs the session has.
func (s *Store) ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page store.Page) (*store.BlobPage, error) {
	return call(ctx, s, s.read, fmt.Sprintf("list blobs of session %q", session), p, session, func(c *conn, part partition) (*store.BlobPage, error) {
		within, err := plan.ParseNames("blob", prefix, page.Cursor)
		if err != nil {
			return nil, err
		}
		out := &store.BlobPage{}
		found, err := collect(ctx, c, func(b *store.BlobInfo) []any { return []any{&b.Name, &b.Size} }, blobsQuery,
			part.pk, session, within.Low, within.High, s.now().UnixMicro(), page.Size()+1)
		out.Blobs, out.Next = plan.Cut(found, page, func(b *store.BlobInfo) string { return plan.NamesCursor(b.Name) })
		return out, err
	})
}

// BlobSessions implements [store.Blobs].
func (s *Store) BlobSessions(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "sessions with blobs", p, page, `SELECT DISTINCT session FROM blobs b
		WHERE part = ?1 AND session >= ?2 AND NOT EXISTS (SELECT 1 FROM sessions WHERE part = ?1 AND id = b.session AND expires <= ?4)
		ORDER BY session LIMIT ?3`)
}
