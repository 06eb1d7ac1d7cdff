// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"fmt"
	"time"

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

const selectSession = `SELECT pk, part, id, state FROM @sessions WHERE `

// decodeSessions returns the states of rows.
func decodeSessions(found []session) ([]store.Session, error) {
	out := make([]store.Session, len(found))
	return out, plan.Each(len(out), func(i int) error { return plan.Decode("session", found[i].state, &out[i]) })
}

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
	t.erase([]int64{out.pk}, []byte(id))
	return nil, t.flush()
}

// begin is session, except that it creates a missing one. It reports whether it did.
func (t *tx) begin(id string, scope backends.Scope) (*session, bool, error) {
	first := store.Session{Partition: t.part.Partition, ID: id, Scope: scope, Created: t.now}
	state, err := plan.Encode("session "+id, &first)
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
			return &session{pk: pks[0], part: t.part.pk, Session: first}, true, nil
		}
	}
}

// save queues the state as changed now.
func (t *tx) save(row *session) error {
	row.Version++
	row.Updated = t.now
	state, err := plan.Encode("session "+row.ID, &row.Session)
	if err != nil {
		return err
	}
	var expires *int64 // NULL: never
	if !row.Expires.IsZero() {
		expires = new(int64)
		*expires = plan.Micros(row.Expires)
	}
	t.exec(`UPDATE @sessions SET last = $2, pending = $3, expires = $4, state = $5 WHERE pk = $1`,
		row.pk, row.LastSeq, row.Pending(), expires, state)
	return nil
}

// unexpired is the condition that a session has not ended at $2.
const unexpired = `(expires IS NULL OR expires > $2)`

// Session implements [store.Sessions].
func (s *Store) Session(ctx context.Context, p backends.Partition, id string) (*store.Session, error) {
	var found []session
	doing := fmt.Sprintf("session %q", id)
	err := s.read(ctx, doing, p, id, func(t *tx) error {
		list(t, &found, (*session).fields, selectSession+`part = `+own+` AND `+unexpired+` AND id = $3`, t.name, t.now.UnixMicro(), []byte(id))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, describe(doing, fmt.Errorf("%w: in %s", backends.ErrNotFound, p))
	}
	out, err := decodeSessions(found)
	if err != nil {
		return nil, describe(doing, err)
	}
	return &out[0], nil
}

// Update implements [store.Sessions].
func (s *Store) Update(ctx context.Context, p backends.Partition, u *store.SessionUpdate) (*store.Session, error) {
	if err := u.Validate(); err != nil {
		return nil, describe("update session", err)
	}
	var out *store.Session
	var doubted error // see plan.Session
	err := s.write(ctx, fmt.Sprintf("update session %q", u.Session), p, "", updating, func(t *tx) error {
		row, err := t.session(u.Session)
		if err != nil {
			return err
		}
		if out, doubted = t.update(row, u); out == nil {
			return doubted
		}
		return nil
	})
	if err == nil && doubted != nil {
		err = describe("update session", doubted)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
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
	doing := fmt.Sprintf("append %d messages to session %q", len(a.Entries), id)
	texts, err := encodeEntries(a.Entries, s.now())
	if err != nil {
		return nil, describe(doing, err)
	}
	var row *session
	err = s.write(ctx, doing, p, id, appending, func(t *tx) error {
		var created bool
		if row, created, err = t.begin(id, a.Scope); err != nil {
			return err
		}
		pending := row.Pending()
		added, err := t.append(row, a.Entries, texts)
		if err != nil || added == 0 && !created {
			return err
		}
		if a.Learnt && !pending {
			row.Watermark = row.LastSeq
		}
		if a.TTL > 0 {
			row.Expires = t.now.Add(a.TTL)
		}
		return t.save(row)
	})
	if err != nil {
		return nil, err
	}
	if s.appends.Add(1)%purgeEvery == 0 {
		_ = s.purge(ctx) // the next one tries again
	}
	return &row.Session, nil
}

// encodeEntries returns the entries as text. Their sequence numbers have a column of their own.
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

// append queues the entries whose ids are new, and returns how many.
func (t *tx) append(row *session, entries []store.Entry, texts []string) (int, error) {
	ids := make([][]byte, len(entries))
	for i := range entries {
		ids[i] = []byte(entries[i].ID)
	}
	var there [][]byte
	column(t, &there, `SELECT id FROM @messages WHERE session = $1 AND id = ANY($2)`, row.pk, ids)
	if err := t.flush(); err != nil {
		return 0, err
	}
	known := make(map[string]bool, len(ids))
	for _, id := range there {
		known[string(id)] = true
	}
	added := 0
	news := saving{query: insertMessages, more: []any{row.pk}}
	for i, e := range entries {
		if known[e.ID] {
			continue
		}
		known[e.ID] = true
		added++
		row.LastSeq++
		row.Tokens += int64(e.Tokens)
		news.add(t, e.ID, row.LastSeq, texts[i], nil)
	}
	news.send(t)
	return added, nil
}

// Read implements [store.Sessions].
func (s *Store) Read(ctx context.Context, p backends.Partition, id string, r store.Range) ([]store.Entry, error) {
	type message struct {
		seq   int64
		entry string
	}
	query := `SELECT m.seq, m.entry FROM @sessions s JOIN @messages m ON m.session = s.pk WHERE s.part = ` + own + ` AND ` + unexpired + `
		AND s.id = $3 AND m.seq > $4 AND ($5::bigint <= 0 OR m.seq <= $5) ORDER BY m.seq LIMIT $6`
	if r.Last {
		query = `SELECT * FROM (` + query[:len(query)-len(` LIMIT $6`)] + ` DESC LIMIT $6) newest ORDER BY seq`
	}
	var found []message
	doing := fmt.Sprintf("read session %q", id)
	err := s.read(ctx, doing, p, id, func(t *tx) error {
		list(t, &found, func(m *message) []any { return []any{&m.seq, &m.entry} }, query, t.name, t.now.UnixMicro(), []byte(id), max(r.After, 0), r.Upto, r.Size())
		return nil
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	out := make([]store.Entry, len(found))
	err = plan.Each(len(out), func(i int) error {
		err := plan.Decode(fmt.Sprintf("message %d of session %q", found[i].seq, id), found[i].entry, &out[i])
		if out[i].Seq = found[0].seq + int64(i); err == nil && out[i].Seq != found[i].seq { // sequence numbers have no gaps
			err = fmt.Errorf("%w: message %d is missing: restore a backup", backends.ErrUnavailable, out[i].Seq)
		}
		return err
	})
	if err != nil {
		return nil, describe(doing, err)
	}
	return out, nil
}

// List implements [store.Sessions]. A list of all partitions goes from one to the next, and
// erases some expired sessions on its way.
func (s *Store) List(ctx context.Context, q store.SessionQuery) (*store.SessionPage, error) {
	after, err := parsePlace(q.Page.Cursor)
	if err == nil && q.Partition != nil {
		err = q.Partition.Validate()
	}
	if err != nil {
		return nil, describe("list sessions", err)
	}
	size := q.Page.Size()
	args := []any{everywhere, s.now().UnixMicro(), after.part, after.at, size + 1}
	which := `$1::text IS NOT NULL AND (part, pk) > ($3::bigint, $4::bigint)`
	if q.Partition != nil {
		args[0] = q.Partition.String()
		which = `part = ` + own + ` AND $3::bigint IS NOT NULL AND pk > $4`
	} else if err := s.purge(ctx); err != nil {
		return nil, err
	}
	if q.Pending {
		which += ` AND pending`
	}
	var found []session
	err = s.run(ctx, "list sessions", reading, args[0].(string), func(t *tx) error {
		list(t, &found, (*session).fields, selectSession+which+` AND `+unexpired+` ORDER BY part, pk LIMIT $5`, args...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &store.SessionPage{}
	if len(found) > size { // one more than asked for: there is a next page
		found = found[:size]
		out.Next = place{part: found[size-1].part, at: found[size-1].pk}.String()
	}
	if out.Sessions, err = decodeSessions(found); err != nil {
		return nil, describe("list sessions", err)
	}
	return out, nil
}
