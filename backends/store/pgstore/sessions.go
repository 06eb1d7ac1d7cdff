// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// session is a row of the table sessions.
type session struct {
	PK, Part       int64
	State          string
	*store.Session `db:"-"` // the state, decoded
	created        bool     // by this transaction
}

const (
	selectSession = `SELECT pk, part, state FROM @sessions WHERE `

	// unexpired is the condition that a session has not ended at $2.
	unexpired = `(expires IS NULL OR expires > $2)`
)

// session sends the queue, and locks a session of the partition. It returns nil for a missing
// one. An expired one is erased, and counts as missing.
func (t *tx) session(id string) (*session, error) {
	found, err := ask(t, rowTo[session], selectSession+`part = $1 AND id = $2 FOR UPDATE`, t.part.PK, []byte(id))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	out := &found[0]
	out.Session = &store.Session{}
	if out.created = out.State == ""; out.created {
		return out, nil
	}
	if err := plan.Decode("session "+id, out.State, out.Session); err != nil || !plan.Expired(out.Session, t.now) {
		return out, err
	}
	t.erase(`pk = $1`, out.PK)
	return nil, nil
}

// start is session, except that it creates a missing one.
func (t *tx) start(id string, scope backends.Scope) (*session, error) {
	for {
		row, err := t.session(id)
		if row != nil || err != nil {
			if row != nil && row.created {
				row.Session = &store.Session{Partition: t.p, ID: id, Scope: scope, Created: t.now}
			}
			return row, err
		}
		t.exec(`INSERT INTO @sessions (part, id) VALUES ($1, $2) ON CONFLICT (part, id) DO NOTHING`, t.part.PK, []byte(id))
	}
}

// save queues the state as changed now.
func (t *tx) save(row *session) {
	row.Version++
	row.Updated = t.now
	var expires any // NULL: never
	if !row.Expires.IsZero() {
		expires = plan.Micros(row.Expires)
	}
	t.exec(`UPDATE @sessions SET last = $2, pending = $3, expires = $4, state = $5 WHERE pk = $1`,
		row.PK, row.LastSeq, row.Pending(), expires, t.encode("session "+row.ID, row.Session))
}

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	return call(ctx, s, &reading, fmt.Sprintf("session %q", id), p, id, func(t *tx) (*store.Session, error) {
		found, err := values[store.Session](t, t.finish, "session", `SELECT state FROM @sessions WHERE part = `+own+` AND `+unexpired+` AND id = $3`,
			t.name, t.now.UnixMicro(), []byte(id))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		return &append(found, store.Session{})[0], err
	})
}

// Update implements [store.Sessions].
func (s *Store) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	if err := u.Validate(); err != nil {
		return nil, describe("update session", err)
	}
	var doubted error // see plan.Session
	out, err := call(ctx, s, &updating, fmt.Sprintf("update session %q", u.Session), p, "", func(t *tx) (*store.Session, error) {
		row, err := t.session(u.Session)
		if err != nil {
			return nil, err
		}
		out, refused := t.update(row, u)
		if doubted = refused; out == nil {
			return nil, refused
		}
		return out, nil
	})
	if err == nil && doubted != nil {
		return nil, describe("update session", doubted)
	}
	return out, err
}

// update returns the session after u, with an error if its lease is doubted.
func (t *tx) update(row *session, u *store.SessionUpdate) (*store.Session, error) {
	if row == nil {
		return nil, fmt.Errorf("session %q: %w", u.Session, backends.ErrNotFound)
	}
	state, refused := plan.Session(u, row.Session, t.now)
	if state == nil {
		return nil, refused
	}
	row.Session = state
	t.save(row)
	return row.Session, refused
}

// Append implements [store.Sessions].
func (s *Store) Append(ctx context.Context, p backends.Partition, id string, a *store.Append) (*store.Session, error) {
	if err := a.Validate(); err != nil {
		return nil, describe("append", err)
	}
	doing := fmt.Sprintf("append %d messages to session %q", len(a.Entries), id)
	out, err := call(ctx, s, &appending, doing, p, id, func(t *tx) (*store.Session, error) {
		row, err := t.start(id, a.Scope)
		if err != nil {
			return nil, err
		}
		changed, err := t.append(row, a)
		if changed {
			t.save(row)
		}
		return row.Session, err
	})
	if err == nil && s.appends.Add(1)%purgeEvery == 0 {
		_ = s.purge(ctx) // the next one tries again
	}
	return out, err
}

// append queues the entries whose ids are new, and reports whether the session changed.
func (t *tx) append(row *session, a *store.Append) (bool, error) {
	ids, known := make([][]byte, len(a.Entries)), map[string]bool{}
	for i := range a.Entries {
		ids[i] = []byte(a.Entries[i].ID)
	}
	held, err := ask(t, rowToID, `SELECT id FROM @messages WHERE session = $1 AND id = ANY($2)`, row.PK, ids)
	if err != nil {
		return false, err
	}
	for _, id := range held {
		known[id] = true
	}
	news := t.rows(insertMessages, row.PK)
	defer news.send()
	return plan.Append(a, row.Session, row.created, t.now, func(i int, seq int64) (bool, error) {
		e := a.Entries[i]
		if known[e.ID] {
			return false, nil
		}
		known[e.ID] = true
		if e.Time.IsZero() {
			e.Time = t.now
		}
		news.add(e.ID, seq, t.encode("message "+e.ID, &e), nil)
		return true, nil
	})
}

// Read implements [store.Sessions].
func (s *Store) Read(ctx context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	query, order := `SELECT m.seq, m.entry FROM @sessions s JOIN @messages m ON m.session = s.pk WHERE s.part = `+own+` AND `+unexpired+`
		AND s.id = $3 AND m.seq > $4 AND ($5::bigint <= 0 OR m.seq <= $5) ORDER BY m.seq`, ` LIMIT $6`
	if r.Last {
		query, order = `SELECT * FROM (`+query, ` DESC LIMIT $6) newest ORDER BY seq`
	}
	type message struct {
		Seq   int64
		Entry string
	}
	return call(ctx, s, &reading, fmt.Sprintf("read session %q", id), p, id, func(t *tx) ([]store.Entry, error) {
		found, err := last(t, rowTo[message], query+order, t.name, t.now.UnixMicro(), []byte(id), max(r.After, 0), r.Upto, r.Size())
		if err != nil || len(found) == 0 {
			return nil, err
		}
		out := make([]store.Entry, len(found))
		return out, plan.Each(len(out), func(i int) error {
			seq, what := found[0].Seq+int64(i), fmt.Sprintf("message %d", found[i].Seq)
			if seq != found[i].Seq { // sequence numbers have no gaps
				return fmt.Errorf("%s: %w: message %d is missing: restore a backup", what, backends.ErrUnavailable, seq)
			}
			err := plan.Decode(what, found[i].Entry, &out[i])
			out[i].Seq = seq
			return err
		})
	})
}

// List implements [store.Sessions]. A list of all partitions goes from one to the next, and
// erases some expired sessions on its way.
func (s *Store) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	which, within, way := `$1 = '*' AND (part, pk) > ($3::bigint, $4::bigint)`, anybody("any"), &listing
	if q.Partition != nil {
		which, within, way = `part = `+own+` AND $3::bigint IS NOT NULL AND pk > $4`, *q.Partition, &reading
	} else if err := s.purge(ctx); err != nil {
		return nil, err
	}
	if q.Pending {
		which += ` AND pending`
	}
	return call(ctx, s, way, "list sessions", within, "", func(t *tx) (*store.SessionPage, error) {
		after, err := parsePlace(q.Page.Cursor)
		if err != nil {
			return nil, err
		}
		found, err := last(t, rowTo[session], selectSession+which+` AND `+unexpired+` ORDER BY part, pk LIMIT $5`,
			t.name, t.now.UnixMicro(), after.part, after.at, q.Page.Size()+1)
		if err != nil {
			return nil, err
		}
		out := &store.SessionPage{}
		found, out.Next = plan.Cut(found, q.Page, func(s *session) string { return place{part: s.Part, at: s.PK}.String() })
		out.Sessions = make([]store.Session, len(found))
		return out, plan.Each(len(found), func(i int) error { return plan.Decode("session", found[i].State, &out.Sessions[i]) })
	})
}

// PutBlob implements [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	_, err := call(ctx, s, &appending, fmt.Sprintf("put blob %q of session %q", name, session), p, session, func(t *tx) (any, error) {
		if err := store.ValidateID("blob", name); err != nil {
			return nil, err
		}
		args := []any{t.part.PK, []byte(session), []byte(name)}
		if data == nil {
			t.exec(`DELETE FROM @blobs WHERE part = $1 AND session = $2 AND name = $3`, args...)
			return nil, nil
		}
		_, err := t.session(session) // an expired one takes its blobs with it
		t.exec(`INSERT INTO @blobs (part, session, name, data) VALUES ($1, $2, $3, $4)
			ON CONFLICT (part, session, name) DO UPDATE SET data = excluded.data`, append(args, data)...)
		return nil, err
	})
	return err
}

// ofBlobs begins the condition for blobs of a session that has not ended at $2.
const ofBlobs = ` FROM @blobs b LEFT JOIN @sessions s ON s.part = b.part AND s.id = b.session
	WHERE b.part = ` + own + ` AND ` + unexpired + ` AND b.session = $3 AND `

// GetBlob implements [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	return call(ctx, s, &reading, fmt.Sprintf("get blob %q of session %q", name, session), p, session, func(t *tx) ([]byte, error) {
		if err := store.ValidateID("blob", name); err != nil {
			return nil, err
		}
		found, err := last(t, pgx.RowTo[[]byte], `SELECT b.data`+ofBlobs+`b.name = $4`, t.name, t.now.UnixMicro(), []byte(session), []byte(name))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		return append(found, nil)[0], err
	})
}

// ListBlobs implements [store.Blobs]. The cost of a page depends on its own size alone, however
// many blobs the session has.
func (s *Store) ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page store.Page) (*store.BlobPage, error) {
	type blob struct {
		Name []byte
		Size int64
	}
	return call(ctx, s, &reading, fmt.Sprintf("list blobs of session %q", session), p, session, func(t *tx) (*store.BlobPage, error) {
		within, err := plan.ParseNames("blob", prefix, page.Cursor)
		if err != nil {
			return nil, err
		}
		found, err := last(t, rowTo[blob], `SELECT b.name, octet_length(b.data)`+ofBlobs+`b.name >= $4 AND b.name < $5 ORDER BY b.name LIMIT $6`,
			t.name, t.now.UnixMicro(), []byte(session), []byte(within.Low), []byte(within.High), page.Size()+1)
		out := &store.BlobPage{}
		found, out.Next = plan.Cut(found, page, func(b *blob) string { return plan.NamesCursor(string(b.Name)) })
		for _, b := range found {
			out.Blobs = append(out.Blobs, store.BlobInfo{Name: string(b.Name), Size: b.Size})
		}
		return out, err
	})
}

// BlobSessions implements [store.Blobs].
func (s *Store) BlobSessions(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "sessions with blobs", p, page, `SELECT DISTINCT session FROM @blobs b WHERE part = `+own+` AND session >= $2
		AND NOT EXISTS (SELECT 1 FROM @sessions WHERE part = b.part AND id = b.session AND expires <= $4) ORDER BY session LIMIT $3`, s.now().UnixMicro())
}
