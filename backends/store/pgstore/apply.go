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

// Apply implements [store.Records].
func (s *Store) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if err := b.Validate(); err != nil {
		return nil, describe("apply to "+p.String(), err)
	}
	return call(ctx, s, &batching, fmt.Sprintf("apply %d mutations to %s", len(b.Mutations), p), p, "", func(t *tx) (*store.Applied, error) {
		st, err := t.before(b)
		if err != nil || st.replayed != nil {
			return st.replayed, err
		}
		return t.apply(b, st)
	})
}

// before is what a batch is planned on.
type before struct {
	records  map[string]*store.Record // without vectors
	session  *session
	replayed *store.Applied // the results, if the key is known
}

func (t *tx) before(b *store.Batch) (before, error) {
	type batch struct {
		version int64
		results string
	}
	var st before
	var known []batch
	var memories []string
	var err error
	column(t, &memories, `SELECT memory FROM @records WHERE part = $1 AND id = ANY($2)`, t.part.pk, bytesOf(plan.Touched(b)))
	list(t, &known, func(d *batch) []any { return []any{&d.version, &d.results} },
		`SELECT version, results FROM @batches WHERE part = $1 AND key = $2`, t.part.pk, []byte(b.Key))
	if b.Session != nil {
		st.session, err = t.session(b.Session.Session)
	} else {
		err = t.flush()
	}
	if err != nil {
		return st, err
	}
	if len(known) > 0 {
		st.replayed = &store.Applied{Replayed: true, Version: known[0].version}
		if st.session != nil {
			st.replayed.Session = &st.session.Session
		}
		return st, plan.Decode("results of batch "+b.Key, known[0].results, &st.replayed.Results)
	}
	found, err := decode[store.Record]("record", memories)
	st.records = byID(found)
	return st, err
}

func (t *tx) apply(b *store.Batch, st before) (*store.Applied, error) {
	todo, err := plan.Batch(b, &plan.Input{Now: t.now, Next: t.part.version + 1, Embedding: t.part.embedding(),
		Record: func(id string) (*store.Record, error) { return st.records[id], nil }})
	if err != nil {
		return nil, err
	}
	out := &store.Applied{Version: t.part.version, Results: todo.Results}
	if b.Session != nil {
		if out.Session, err = t.update(st.session, b.Session); err != nil {
			return nil, err
		}
	}
	if todo.Changed || b.Session != nil {
		out.Version = todo.Version
		err = t.carryOut(todo)
	}
	if err == nil && b.Key != "" {
		err = t.remember(b.Key, out)
	}
	return out, err
}

// carryOut writes the plan and the partition's new version.
func (t *tx) carryOut(todo *plan.Plan) error {
	whole, part, buried, events := rows{query: insertRecords}, rows{query: updateRecords}, rows{query: buryRecords}, rows{query: insertEvents}
	var back [][]byte // new records; a tombstone may have the id
	for i := range todo.Writes {
		w := &todo.Writes[i]
		if w.Record == nil {
			t.part.records--
			buried.add(t, w.ID, todo.Version, "", nil)
			continue
		}
		text, err := plan.Encode("record "+w.ID, &w.Record.Memory)
		switch {
		case err != nil:
			return err
		case w.SameVector:
			part.add(t, w.ID, w.Record.Version, text, nil)
		case len(w.Record.Vector) == 0:
			whole.add(t, w.ID, w.Record.Version, text, nil)
		default:
			whole.add(t, w.ID, w.Record.Version, text, w.Record.Vector)
		}
		if w.Old == 0 {
			t.part.records++
			back = append(back, []byte(w.ID))
		}
	}
	t.exec(`DELETE FROM @tombstones WHERE part = $1 AND id = ANY($2)`, t.part.pk, back)
	t.exec(`DELETE FROM @events WHERE part = $1 AND id = ANY($2)`, t.part.pk, bytesOf(todo.Erased))
	for i := range todo.Events {
		text, err := plan.Encode("event", &todo.Events[i])
		if err != nil {
			return err
		}
		events.add(t, todo.Events[i].MemoryID, 0, text, nil)
	}
	for _, r := range []*rows{&whole, &part, &buried, &events} {
		r.send(t)
	}
	if e := todo.Embedding; e != nil {
		t.exec(`UPDATE @partitions SET model = $2, dim = $3 WHERE pk = $1`, t.part.pk, []byte(e.Model), int64(e.Dim))
	}
	t.exec(`UPDATE @partitions SET version = $2, records = $3 WHERE pk = $1`, t.part.pk, todo.Version, t.part.records)
	return nil
}

// remember keeps the key with its results, and deletes keys that are too old.
func (t *tx) remember(key string, out *store.Applied) error {
	text, err := plan.Encode("results", out.Results)
	t.exec(`DELETE FROM @batches WHERE part = $1 AND created < $2`, t.part.pk, plan.Micros(t.now.Add(-plan.KeepKeys)))
	t.exec(`INSERT INTO @batches (part, key, created, version, results) VALUES ($1, $2, $3, $4, $5)`,
		t.part.pk, []byte(key), plan.Micros(t.now), out.Version, text)
	return err
}

// The most that one statement carries.
const mostRows, mostBytes = 1000, 4 << 20

// rows collects the rows of one statement.
type rows struct {
	query    string
	more     []any // arguments after the rows
	ids      [][]byte
	versions []int64
	texts    []string
	data     [][]byte // NULL where it is nil
	size     int
}

func (r *rows) add(t *tx, id string, version int64, text string, data []byte) {
	r.ids, r.versions = append(r.ids, []byte(id)), append(r.versions, version)
	r.texts, r.data = append(r.texts, text), append(r.data, data)
	if r.size += len(id) + len(text) + len(data); len(r.ids) >= mostRows || r.size >= mostBytes {
		r.send(t)
	}
}

// send queues the statement with the rows that were collected.
func (r *rows) send(t *tx) {
	if len(r.ids) > 0 {
		t.exec(r.query, append([]any{t.part.pk, r.ids, r.versions, r.texts, r.data}, r.more...)...)
	}
	*r = rows{query: r.query, more: r.more}
}

// The statements that write many rows, with the columns id, version, text and data.
const (
	fromRows = ` FROM unnest($2::bytea[], $3::bigint[], $4::text[], $5::bytea[]) AS r (id, version, text, data)`

	insertRecords = `INSERT INTO @records (part, id, version, memory, vector) SELECT $1::bigint, id, version, text, data` + fromRows + `
		ON CONFLICT (part, id) DO UPDATE SET version = excluded.version, memory = excluded.memory, vector = excluded.vector`
	updateRecords = `UPDATE @records o SET version = r.version, memory = r.text` + fromRows + ` WHERE o.part = $1 AND o.id = r.id`
	buryRecords   = `WITH gone AS (DELETE FROM @records WHERE part = $1 AND id = ANY($2))
		INSERT INTO @tombstones (part, id, version) SELECT $1::bigint, id, version` + fromRows + `
		ON CONFLICT (part, id) DO UPDATE SET version = excluded.version`
	insertEvents   = `INSERT INTO @events (part, id, event) SELECT $1::bigint, id, text` + fromRows
	insertMessages = `INSERT INTO @messages (part, session, seq, id, entry) SELECT $1::bigint, $6::bigint, version, id, text` + fromRows
)
