// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// session is a row of the table sessions.
type session struct {
	PK, Part       int64
	State          string
	*store.Session `db:"-"` // the state, decoded; of version 0 if this transaction created it
}

const selectSession = `SELECT pk, part, state FROM @sessions WHERE `

// unexpired is the condition that a session has not ended at $2.
const unexpired = `(expires IS NULL OR expires > $2)`

// erase queues the removal of sessions with their messages and blobs. The transaction must have
// locked them: a message that came since the statement began would stay.
func (t *tx) erase(which string, args ...any) {
	t.exec(`WITH gone AS (DELETE FROM @sessions WHERE `+which+` RETURNING pk, part, id),
		messages AS (DELETE FROM @messages WHERE session IN (SELECT pk FROM gone))
		DELETE FROM @blobs WHERE (part, session) IN (SELECT part, id FROM gone)`, args...)
}

// The cadence of purging: an append in purgeEvery erases up to purgeBatch expired sessions.
const purgeEvery, purgeBatch = 64, 100

// purge erases expired sessions of all partitions, which get no more messages. It leaves locked
// ones to others.
func (s *Store) purge(ctx context.Context) error {
	return do(ctx, s, listing, "erase expired sessions", anybody, nil, func(t *tx) {
		t.erase(`pk = ANY (ARRAY(SELECT pk FROM @sessions WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED))`,
			t.now.UnixMicro(), purgeBatch)
	})
}

// session sends the queue, and locks a session of the partition. The PK is 0 for a missing one. An
// expired one is erased, and counts as missing.
func (t *tx) session(id string) session {
	row := first(ask(t, pgx.RowToStructByPos[session], selectSession+`part = $1 AND id = $2 FOR UPDATE`, t.part.PK, []byte(id)))
	if row.PK == 0 {
		return row
	}
	row.Session = &store.Session{Partition: t.p, ID: id, Created: t.now}
	if row.State != "" {
		t.check(plan.Decode("session "+id, row.State, row.Session))
	}
	if plan.Expired(row.Session, t.now) {
		t.erase(`pk = $1`, row.PK)
		return session{}
	}
	return row
}

// save queues the state as changed now.
func (t *tx) save(row session) {
	row.Version++
	row.Updated = t.now
	// The zero time is before 1970: NULL says that the session never expires.
	t.exec(`UPDATE @sessions SET last = $2, pending = $3, expires = CASE WHEN $4::bigint > 0 THEN $4::bigint END, state = $5 WHERE pk = $1`,
		row.PK, row.LastSeq, row.Pending(), plan.Micros(row.Expires), t.encode("session "+row.ID, row.Session))
}

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	return call(ctx, s, reading, fmt.Sprintf("session %q", id), p, store.ValidateSession(id), func(t *tx) *store.Session {
		states := ask(t, pgx.RowTo[string], `SELECT state FROM @sessions WHERE part = `+own+` AND `+unexpired+` AND id = $3`,
			t.name, t.now.UnixMicro(), []byte(id))
		state := only(t, decode[store.Session](t, "session", states))
		return &state
	})
}

// Update implements [store.Sessions].
func (s *Store) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	return call(ctx, s, updating, "update a session of "+p.String(), p, u.Validate(), func(t *tx) *store.Session {
		return t.update(t.session(u.Session), u)
	})
}

// update returns the session after u. If its lease is doubted, the session is saved and the call is
// refused: see [plan.Session].
func (t *tx) update(row session, u *store.SessionUpdate) *store.Session {
	if row.PK == 0 {
		t.check(fmt.Errorf("session %q: %w", u.Session, backends.ErrNotFound))
		return nil
	}
	state, err := plan.Session(u, row.Session, t.now)
	if state == nil {
		t.check(err)
		return nil
	}
	row.Session, t.refused = state, err
	t.save(row)
	return state
}

// Append implements [store.Sessions].
func (s *Store) Append(ctx context.Context, p backends.Partition, id string, a *store.Append) (*store.Session, error) {
	invalid := cmp.Or(store.ValidateSession(id), a.Validate())
	out, err := call(ctx, s, appending, fmt.Sprintf("append to session %q", id), p, invalid, func(t *tx) *store.Session { return t.append(id, a) })
	if err == nil && s.appends.Add(1)%purgeEvery == 0 {
		_ = s.purge(ctx) // the next one tries again
	}
	return out, err
}

// append adds entries to a session, which it creates if it is missing.
func (t *tx) append(id string, a *store.Append) *store.Session {
	to := t.session(id)
	for ; to.PK == 0; to = t.session(id) {
		if t.err != nil {
			return nil
		}
		t.exec(`INSERT INTO @sessions (part, id) VALUES ($1, $2) ON CONFLICT (part, id) DO NOTHING`, t.part.PK, []byte(id))
	}
	ids := make([]string, len(a.Entries))
	for i := range a.Entries {
		ids[i] = a.Entries[i].ID
	}
	known := map[string]bool{}
	for _, id := range ask(t, rowToID, `SELECT id FROM @messages WHERE session = $1 AND id = ANY($2)`, to.PK, bytesOf(ids)) {
		known[id] = true
	}
	var news []row
	changed, err := plan.Append(a, to.Session, t.now, func(i int, seq int64) (bool, error) {
		e := a.Entries[i]
		if known[e.ID] {
			return false, nil
		}
		known[e.ID] = true
		if e.Time.IsZero() {
			e.Time = t.now
		}
		news = append(news, row{id: e.ID, version: seq, text: t.encode("message "+e.ID, &e)})
		return true, nil
	})
	t.check(err)
	if t.many(insertMessages, news, to.PK); changed {
		t.save(to)
	}
	return to.Session
}

// Delete implements [store.Sessions].
func (s *Store) Delete(ctx context.Context, p backends.Partition, id string) error {
	return do(ctx, s, deleting, fmt.Sprintf("delete session %q", id), p, store.ValidateSession(id), func(t *tx) {
		t.session(id)
		t.erase(`part = $1 AND id = $2`, t.part.PK, []byte(id))
		t.exec(`DELETE FROM @blobs WHERE part = $1 AND session = $2`, t.part.PK, []byte(id)) // put before the first message
	})
}

// EraseMessages implements [store.Sessions].
func (s *Store) EraseMessages(ctx context.Context, p backends.Partition, id string, seqs ...int64) (int, error) {
	return call(ctx, s, updating, fmt.Sprintf("erase %d messages of session %q", len(seqs), id), p, store.ValidateSession(id), func(t *tx) int {
		row := t.session(id)
		if row.PK == 0 {
			return 0
		}
		entries := ask(t, pgx.RowTo[string], `SELECT entry FROM @messages WHERE session = $1 AND seq = ANY($2)`, row.PK, seqs)
		rests := plan.Erase(row.Session, decode[store.Entry](t, "message", entries))
		for _, e := range rests {
			t.exec(`UPDATE @messages SET entry = $3 WHERE session = $1 AND id = $2`, row.PK, []byte(e.ID), t.encode("message "+e.ID, &e))
		}
		if len(rests) > 0 {
			t.save(row)
		}
		return len(rests)
	})
}

// Read implements [store.Sessions].
func (s *Store) Read(ctx context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	const query = `SELECT m.seq, m.entry FROM @sessions s JOIN @messages m ON m.session = s.pk WHERE s.part = ` + own + ` AND ` + unexpired + `
		AND s.id = $3 AND m.seq > greatest($4, CASE WHEN $7 THEN least($5, s.last) - $6 END) AND m.seq <= $5 ORDER BY m.seq LIMIT $6`
	if r.Upto <= 0 {
		r.Upto = math.MaxInt64
	}
	return call(ctx, s, reading, fmt.Sprintf("read session %q", id), p, store.ValidateSession(id), func(t *tx) []store.Entry {
		found := ask(t, pgx.RowToStructByPos[numbered], query, t.name, t.now.UnixMicro(), []byte(id), max(r.After, 0), r.Upto, r.Size(), r.Last)
		out := make([]store.Entry, len(found))
		t.check(plan.Each(len(out), func(i int) error {
			seq, what := found[0].N+int64(i), fmt.Sprintf("message %d", found[i].N)
			if seq != found[i].N { // sequence numbers have no gaps
				return fmt.Errorf("%s: %w: message %d is missing: restore a backup", what, backends.ErrUnavailable, seq)
			}
			err := plan.Decode(what, found[i].Text, &out[i])
			out[i].Seq = seq
			return err
		}))
		return out
	})
}

// List implements [store.Sessions]. A list of all partitions goes from one to the next, and
// erases some expired sessions on its way.
func (s *Store) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	which, within, way := `$1 = '*'`, anybody, listing
	if q.Partition != nil {
		which, within, way = `part = `+own, *q.Partition, reading
	} else if err := s.purge(ctx); err != nil {
		return nil, err
	}
	if q.Pending {
		which += ` AND pending`
	}
	return call(ctx, s, way, "list sessions", within, nil, func(t *tx) *store.SessionPage {
		var part, after int64
		t.check(plan.ParseCursor(q.Page.Cursor, &part, &after))
		found := ask(t, pgx.RowToStructByPos[session], selectSession+which+` AND (part, pk) > ($3, $4) AND `+unexpired+` ORDER BY part, pk LIMIT $5`,
			t.name, t.now.UnixMicro(), part, after, q.Page.Size()+1)
		out := &store.SessionPage{}
		found, out.Next = plan.Cut(found, q.Page, func(s *session) string { return plan.Cursor(s.Part, s.PK) })
		out.Sessions = make([]store.Session, len(found))
		t.check(plan.Each(len(found), func(i int) error { return plan.Decode("session", found[i].State, &out.Sessions[i]) }))
		return out
	})
}

// PutBlob implements [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	return do(ctx, s, appending, fmt.Sprintf("put blob %q of session %q", name, session), p, cmp.Or(store.ValidateSession(session), store.ValidateID("blob", name)), func(t *tx) {
		args := []any{t.part.PK, []byte(session), []byte(name)}
		if data == nil {
			t.exec(`DELETE FROM @blobs WHERE part = $1 AND session = $2 AND name = $3`, args...)
			return
		}
		t.session(session) // an expired one takes its blobs with it
		t.exec(`INSERT INTO @blobs (part, session, name, data) VALUES ($1, $2, $3, $4)
			ON CONFLICT (part, session, name) DO UPDATE SET data = excluded.data`, append(args, data)...)
	})
}

// ofBlobs begins the condition for blobs of a session that has not ended at $2.
const ofBlobs = ` FROM @blobs b LEFT JOIN @sessions s ON s.part = b.part AND s.id = b.session
	WHERE b.part = ` + own + ` AND ` + unexpired + ` AND b.session = $3 AND `

// GetBlob implements [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	return call(ctx, s, reading, fmt.Sprintf("get blob %q of session %q", name, session), p, cmp.Or(store.ValidateSession(session), store.ValidateID("blob", name)), func(t *tx) []byte {
		return only(t, ask(t, pgx.RowTo[[]byte], `SELECT b.data`+ofBlobs+`b.name = $4`, t.name, t.now.UnixMicro(), []byte(session), []byte(name)))
	})
}

// ListBlobs implements [store.Blobs]. The cost of a page depends on its own size alone, however
// many blobs the session has.
func (s *Store) ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page store.Page) (*store.BlobPage, error) {
	return call(ctx, s, reading, fmt.Sprintf("list blobs of session %q", session), p, store.ValidateSession(session), func(t *tx) *store.BlobPage {
		within, err := plan.ParseNames("blob", prefix, page.Cursor)
		t.check(err)
		out := &store.BlobPage{}
		found := ask(t, rowToBlob, `SELECT b.name, octet_length(b.data)`+ofBlobs+`b.name >= $4 AND b.name < $5 ORDER BY b.name LIMIT $6`,
			t.name, t.now.UnixMicro(), []byte(session), []byte(within.Low), []byte(within.High), page.Size()+1)
		out.Blobs, out.Next = plan.Cut(found, page, func(b *store.BlobInfo) string { return plan.NamesCursor(b.Name) })
		return out
	})
}

func rowToBlob(row pgx.CollectableRow) (b store.BlobInfo, err error) {
	var name []byte
	err = row.Scan(&name, &b.Size)
	b.Name = string(name)
	return b, err
}

// BlobSessions implements [store.Blobs].
func (s *Store) BlobSessions(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "sessions with blobs", p, page, `SELECT DISTINCT session FROM @blobs b WHERE part = `+own+` AND session >= $2
		AND NOT EXISTS (SELECT 1 FROM @sessions WHERE part = b.part AND id = b.session AND expires <= $4) ORDER BY session LIMIT $3`, s.now().UnixMicro())
}
