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

// Apply implements [store.Records].
func (s *Store) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if err := b.Validate(); err != nil {
		return nil, describe("apply to "+p.String(), err)
	}
	doing := fmt.Sprintf("apply %d mutations to %s", len(b.Mutations), p)
	return call(ctx, s, &batching, doing, p, "", func(t *tx) (*store.Applied, error) { return t.apply(b) })
}

// batch is a row of the table batches.
type batch struct {
	Version int64
	Results string
}

func (t *tx) apply(b *store.Batch) (*store.Applied, error) {
	var memories []string
	var known []batch
	list(t, &memories, pgx.RowTo[string], `SELECT memory FROM @records WHERE part = $1 AND id = ANY($2)`, t.part.PK, bytesOf(plan.Touched(b)))
	list(t, &known, rowTo[batch], `SELECT version, results FROM @batches WHERE part = $1 AND key = $2`, t.part.PK, []byte(b.Key))
	var row *session
	var err error
	if b.Session != nil {
		row, err = t.session(b.Session.Session)
	} else {
		err = t.flush()
	}
	switch {
	case err != nil:
		return nil, err
	case len(known) > 0:
		return known[0].replay(b, row)
	}
	todo, err := t.plan(b, memories)
	if err != nil {
		return nil, err
	}
	out := &store.Applied{Version: t.part.Version, Results: todo.Results}
	if b.Session != nil {
		if out.Session, err = t.update(row, b.Session); err != nil {
			return nil, err
		}
	}
	if todo.Changed || b.Session != nil {
		out.Version = todo.Version
		t.carryOut(todo)
	}
	if b.Key != "" {
		t.remember(b.Key, out)
	}
	return out, nil
}

// replay returns the results of a batch whose key is known.
func (known *batch) replay(b *store.Batch, row *session) (*store.Applied, error) {
	out := &store.Applied{Replayed: true, Version: known.Version}
	if row != nil {
		out.Session = row.Session
	}
	return out, plan.Decode("results of batch "+b.Key, known.Results, &out.Results)
}

// plan plans a batch on the memories that it touches.
func (t *tx) plan(b *store.Batch, memories []string) (*plan.Plan, error) {
	found, err := decode[store.Record]("record", memories) // without vectors
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*store.Record, len(found))
	for i := range found {
		byID[found[i].ID] = &found[i]
	}
	return plan.Batch(b, &plan.Input{Now: t.now, Next: t.part.Version + 1, Embedding: t.part.embedding(),
		Record: func(id string) (*store.Record, error) { return byID[id], nil }})
}

// carryOut writes the plan and the partition's new version.
func (t *tx) carryOut(todo *plan.Plan) {
	whole, part, buried, events := t.rows(insertRecords), t.rows(updateRecords), t.rows(buryRecords), t.rows(insertEvents)
	var back [][]byte // new records; a tombstone may have the id
	for i := range todo.Writes {
		switch w := &todo.Writes[i]; {
		case w.Record == nil:
			t.part.Records--
			buried.add(w.ID, todo.Version, "", nil)
		case w.SameVector:
			part.add(w.ID, w.Record.Version, t.encode("record "+w.ID, &w.Record.Memory), nil)
		default:
			whole.add(w.ID, w.Record.Version, t.encode("record "+w.ID, &w.Record.Memory), w.Record.Vector)
			if w.Old == 0 {
				t.part.Records++
				back = append(back, []byte(w.ID))
			}
		}
	}
	t.exec(`DELETE FROM @tombstones WHERE part = $1 AND id = ANY($2)`, t.part.PK, back)
	t.exec(`DELETE FROM @events WHERE part = $1 AND id = ANY($2)`, t.part.PK, bytesOf(todo.Erased))
	for i := range todo.Events {
		events.add(todo.Events[i].MemoryID, 0, t.encode("event", &todo.Events[i]), nil)
	}
	for _, r := range []*rows{whole, part, buried, events} {
		r.send()
	}
	if e := todo.Embedding; e != nil {
		t.exec(`UPDATE @partitions SET model = $2, dim = $3 WHERE pk = $1`, t.part.PK, []byte(e.Model), int64(e.Dim))
	}
	t.exec(`UPDATE @partitions SET version = $2, records = $3 WHERE pk = $1`, t.part.PK, todo.Version, t.part.Records)
}

// remember keeps the key with its results, and deletes keys that are too old.
func (t *tx) remember(key string, out *store.Applied) {
	t.exec(`DELETE FROM @batches WHERE part = $1 AND created < $2`, t.part.PK, plan.Micros(t.now.Add(-plan.KeepKeys)))
	t.exec(`INSERT INTO @batches (part, key, created, version, results) VALUES ($1, $2, $3, $4, $5)`,
		t.part.PK, []byte(key), plan.Micros(t.now), out.Version, t.encode("results", out.Results))
}

// mostBytes is about the most that one statement carries.
const mostBytes = 4 << 20

// rows collects the rows of one statement.
type rows struct {
	*tx
	query    string
	more     []any // arguments after the rows
	ids      [][]byte
	versions []int64
	texts    []string
	data     [][]byte // NULL where it is nil
	size     int
}

func (t *tx) rows(query string, more ...any) *rows { return &rows{tx: t, query: query, more: more} }

func (r *rows) add(id string, version int64, text string, data []byte) {
	if len(data) == 0 {
		data = nil
	}
	r.ids, r.versions = append(r.ids, []byte(id)), append(r.versions, version)
	r.texts, r.data = append(r.texts, text), append(r.data, data)
	if r.size += 32 + len(id) + len(text) + len(data); r.size >= mostBytes {
		r.send()
	}
}

// send queues the statement with the rows that were collected.
func (r *rows) send() {
	if len(r.ids) > 0 {
		r.exec(r.query, append([]any{r.part.PK, r.ids, r.versions, r.texts, r.data}, r.more...)...)
	}
	*r = *r.rows(r.query, r.more...)
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
