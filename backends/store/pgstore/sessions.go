// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// session is a row of the table sessions.
type session struct {
	pk, part int64
	id       []byte
	state    string
	store.Session
}

func (s *session) fields() []any { return []any{&s.pk, &s.part, &s.id, &s.state} }

const (
	selectSession = `SELECT pk, part, id, state FROM @sessions WHERE `

	// unexpired is the condition that a session has not ended at $2.
	unexpired = `(expires IS NULL OR expires > $2)`
)

// session sends the queue, and locks a session of the partition. It returns nil for a missing
// one. An expired one is erased, and counts as missing.
func (t *tx) session(id string) (*session, error) {
	var found []session
	list(t, &found, (*session).fields, selectSession+`part = $1 AND id = $2 FOR UPDATE`, t.part.pk, []byte(id))
	if err := t.flush(); err != nil || len(found) == 0 {
		return nil, err
	}
	out := &found[0]
	if err := plan.Decode("session "+id, out.state, &out.Session); err != nil || !plan.Expired(&out.Session, t.now) {
		return out, err
	}
	t.erase([]int64{out.pk}, out.id)
	return nil, t.flush()
}

// start is session, except that it creates a missing one. It reports whether it did.
func (t *tx) start(id string, scope backends.Scope) (*session, bool, error) {
	first := &session{part: t.part.pk, Session: store.Session{Partition: t.part.Partition, ID: id, Scope: scope, Created: t.now}}
	state, err := plan.Encode("session "+id, &first.Session)
	if err != nil {
		return nil, false, err
	}
	for {
		if found, err := t.session(id); found != nil || err != nil {
			return found, false, err
		}
		var pks []int64
		column(t, &pks, `INSERT INTO @sessions (part, id, state) VALUES ($1, $2, $3) ON CONFLICT (part, id) DO NOTHING RETURNING pk`, t.part.pk, []byte(id), state)
		if err := t.flush(); err != nil {
			return nil, false, err
		}
		if len(pks) > 0 {
			first.pk = pks[0]
			return first, true, nil
		}
	}
}

// save queues the state as changed now.
func (t *tx) save(row *session) error {
	row.Version++
	row.Updated = t.now
	state, err := plan.Encode("session "+row.ID, &row.Session)
	var expires any // NULL: never
	if !row.Expires.IsZero() {
		expires = plan.Micros(row.Expires)
	}
	t.exec(`UPDATE @sessions SET last = $2, pending = $3, expires = $4, state = $5 WHERE pk = $1`, row.pk, row.LastSeq, row.Pending(), expires, state)
	return err
}

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	return call(ctx, s, &reading, fmt.Sprintf("session %q", id), p, id, func(t *tx) (*store.Session, error) {
		found, err := values[store.Session](t, "session", `SELECT state FROM @sessions WHERE part = `+own+` AND `+unexpired+` AND id = $3`,
			t.name, t.now.UnixMicro(), []byte(id))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		if err != nil {
			return nil, err
		}
		return &found[0], nil
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
	state, refused := plan.Session(u, &row.Session, t.now)
	if state == nil {
		return nil, refused
	}
	row.Session = *state
	if err := t.save(row); err != nil {
		return nil, err
	}
	return &row.Session, refused
}

// Append implements [store.Sessions].
func (s *Store) Append(ctx context.Context, p backends.Partition, id string, a *store.Append) (*store.Session, error) {
	if err := a.Validate(); err != nil {
		return nil, describe("append", err)
	}
	out, err := call(ctx, s, &appending, fmt.Sprintf("append %d messages to session %q", len(a.Entries), id), p, id, func(t *tx) (*store.Session, error) {
		row, created, err := t.start(id, a.Scope)
		if err != nil {
			return nil, err
		}
		pending := row.Pending()
		added, err := t.append(row, a.Entries)
		if err != nil || added == 0 && !created {
			return &row.Session, err
		}
		if a.Learnt && !pending {
			row.Watermark = row.LastSeq
		}
		if a.TTL > 0 {
			row.Expires = t.now.Add(a.TTL)
		}
		return &row.Session, t.save(row)
	})
	if err == nil && s.appends.Add(1)%purgeEvery == 0 {
		_ = s.purge(ctx) // the next one tries again
	}
	return out, err
}

// append queues the entries whose ids are new, and returns how many.
func (t *tx) append(row *session, entries []store.Entry) (int, error) {
	ids, known, added := make([][]byte, len(entries)), map[string]bool{}, 0
	for i := range entries {
		ids[i] = []byte(entries[i].ID)
	}
	var there [][]byte
	column(t, &there, `SELECT id FROM @messages WHERE session = $1 AND id = ANY($2)`, row.pk, ids)
	if err := t.flush(); err != nil {
		return 0, err
	}
	for _, id := range there {
		known[string(id)] = true
	}
	news := rows{query: insertMessages, more: []any{row.pk}}
	for _, e := range entries {
		if known[e.ID] {
			continue
		}
		if e.Time.IsZero() {
			e.Time = t.now
		}
		text, err := plan.Encode("message "+e.ID, &e)
		if err != nil {
			return 0, err
		}
		known[e.ID] = true
		added++
		row.LastSeq++
		row.Tokens += int64(e.Tokens)
		news.add(t, e.ID, row.LastSeq, text, nil)
	}
	news.send(t)
	return added, nil
}

// Read implements [store.Sessions].
func (s *Store) Read(ctx context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	query, order := `SELECT m.seq, m.entry FROM @sessions s JOIN @messages m ON m.session = s.pk WHERE s.part = `+own+` AND `+unexpired+`
		AND s.id = $3 AND m.seq > $4 AND ($5::bigint <= 0 OR m.seq <= $5) ORDER BY m.seq`, ` LIMIT $6`
	if r.Last {
		query, order = `SELECT * FROM (`+query, ` DESC LIMIT $6) newest ORDER BY seq`
	}
	type message struct {
		seq   int64
		entry string
	}
	return call(ctx, s, &reading, fmt.Sprintf("read session %q", id), p, id, func(t *tx) ([]store.Entry, error) {
		var found []message
		list(t, &found, func(m *message) []any { return []any{&m.seq, &m.entry} }, query+order,
			t.name, t.now.UnixMicro(), []byte(id), max(r.After, 0), r.Upto, r.Size())
		if err := t.finish(); err != nil || len(found) == 0 {
			return nil, err
		}
		out := make([]store.Entry, len(found))
		return out, plan.Each(len(out), func(i int) error {
			seq, what := found[0].seq+int64(i), fmt.Sprintf("message %d", found[i].seq)
			if seq != found[i].seq { // sequence numbers have no gaps
				return fmt.Errorf("%s: %w: message %d is missing: restore a backup", what, backends.ErrUnavailable, seq)
			}
			err := plan.Decode(what, found[i].entry, &out[i])
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
		var found []session
		list(t, &found, (*session).fields, selectSession+which+` AND `+unexpired+` ORDER BY part, pk LIMIT $5`,
			t.name, t.now.UnixMicro(), after.part, after.at, q.Page.Size()+1)
		if err := t.finish(); err != nil {
			return nil, err
		}
		out := &store.SessionPage{}
		found, out.Next = cut(found, q.Page, func(s *session) string { return place{part: s.part, at: s.pk}.String() })
		out.Sessions = make([]store.Session, len(found))
		return out, plan.Each(len(found), func(i int) error { return plan.Decode("session", found[i].state, &out.Sessions[i]) })
	})
}
