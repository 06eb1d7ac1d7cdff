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
	return call(ctx, s, batching, "apply to "+p.String(), p, b.Validate(), func(t *tx) *store.Applied { return t.apply(b) })
}

// numbered is JSON of a row with its number: the results of a batch, or a message.
type numbered struct {
	N    int64
	Text string
}

func (t *tx) apply(b *store.Batch) *store.Applied {
	var memories []string
	var known []numbered
	list(t, &memories, pgx.RowTo[string], `SELECT memory FROM @records WHERE part = $1 AND id = ANY($2)`, t.part.PK, bytesOf(plan.Touched(b)))
	list(t, &known, pgx.RowToStructByPos, `SELECT version, results FROM @batches WHERE part = $1 AND key = $2`, t.part.PK, []byte(b.Key))
	var row session
	if b.Session != nil {
		row = t.session(b.Session.Session)
	}
	t.flush()
	out := &store.Applied{Version: t.part.Version}
	if len(known) > 0 {
		out.Replayed, out.Version = true, known[0].N
		out.Session = row.Session
		t.check(plan.Decode("results of batch "+b.Key, known[0].Text, &out.Results))
		return out
	}
	byID := make(map[string]*store.Record, len(memories))
	for _, r := range decode[store.Record](t, "record", memories) { // without vectors
		byID[r.ID] = &r
	}
	todo, err := plan.Batch(b, &plan.Input{Now: t.now, Next: t.part.Version + 1, Embedding: t.part.embedding(),
		Record: func(id string) (*store.Record, error) { return byID[id], nil }})
	t.check(err)
	if b.Session != nil {
		out.Session = t.update(row, b.Session)
		t.check(t.refused)
	}
	if t.err != nil {
		return nil
	}
	if out.Results = todo.Results; todo.Changed || b.Session != nil {
		out.Version = todo.Version
		t.carryOut(todo)
	}
	if b.Key != "" { // keys that are too old go
		t.exec(`WITH old AS (DELETE FROM @batches WHERE part = $1 AND created < $6)
			INSERT INTO @batches (part, key, created, version, results) VALUES ($1, $2, $3, $4, $5)`,
			t.part.PK, []byte(b.Key), plan.Micros(t.now), out.Version, t.encode("results", out.Results), plan.Micros(t.now.Add(-plan.KeepKeys)))
	}
	return out
}

// carryOut writes the plan and the partition's new version.
func (t *tx) carryOut(todo *plan.Plan) {
	var kept, buried, events []row
	for i := range todo.Writes {
		w := &todo.Writes[i]
		if w.Record == nil {
			t.part.Records--
			buried = append(buried, row{id: w.ID, version: todo.Version})
			continue
		}
		r := row{id: w.ID, version: w.Record.Version, text: t.encode("record "+w.ID, &w.Record.Memory)}
		if w.Old == 0 {
			t.part.Records++
		}
		if !w.SameVector { // an empty one takes the vector away, and NULL lets it stay
			r.data = append([]byte{}, w.Record.Vector...)
		}
		kept = append(kept, r)
	}
	for i := range todo.Events {
		events = append(events, row{id: todo.Events[i].MemoryID, text: t.encode("event", &todo.Events[i])})
	}
	t.many(insertRecords, kept)
	t.many(buryRecords, buried)
	t.exec(`DELETE FROM @events WHERE part = $1 AND id = ANY($2)`, t.part.PK, bytesOf(todo.Erased))
	t.many(insertEvents, events)
	if e := todo.Embedding; e != nil {
		t.part.Model, t.part.Dim = []byte(e.Model), int64(e.Dim)
	}
	t.exec(`UPDATE @partitions SET version = $2, records = $3, model = $4, dim = $5 WHERE pk = $1`,
		t.part.PK, todo.Version, t.part.Records, t.part.Model, t.part.Dim)
}

// mostBytes is about the most that one statement carries.
const mostBytes = 4 << 20

// row is a row of a statement that writes many.
type row struct {
	id, text string
	version  int64
	data     []byte
}

// many queues a statement with rows, and more arguments after them.
func (t *tx) many(query string, rows []row, more ...any) {
	for len(rows) > 0 {
		var ids, data [][]byte
		var texts []string
		var versions []int64
		for size := 0; len(rows) > 0 && size < mostBytes; rows = rows[1:] {
			r := &rows[0]
			ids, versions, texts, data = append(ids, []byte(r.id)), append(versions, r.version), append(texts, r.text), append(data, r.data)
			size += len(r.id) + len(r.text) + len(r.data)
		}
		t.exec(query, append([]any{t.part.PK, ids, versions, texts, data}, more...)...)
	}
}

// The statements that write many rows, with the columns id, version, text and data.
const (
	fromRows = ` FROM unnest($2::bytea[], $3::bigint[], $4::text[], $5::bytea[]) AS r (id, version, text, data)`

	insertRecords = `WITH back AS (DELETE FROM @tombstones WHERE part = $1 AND id = ANY($2))
		INSERT INTO @records AS old (part, id, version, memory, vector) SELECT $1::bigint, id, version, text, data` + fromRows + `
		ON CONFLICT (part, id) DO UPDATE SET version = excluded.version, memory = excluded.memory, vector = coalesce(excluded.vector, old.vector)`
	buryRecords = `WITH gone AS (DELETE FROM @records WHERE part = $1 AND id = ANY($2))
		INSERT INTO @tombstones (part, id, version) SELECT $1::bigint, id, version` + fromRows + `
		ON CONFLICT (part, id) DO UPDATE SET version = excluded.version`
	insertEvents   = `INSERT INTO @events (part, id, event) SELECT $1::bigint, id, text` + fromRows
	insertMessages = `INSERT INTO @messages (part, session, seq, id, entry) SELECT $1::bigint, $6::bigint, version, id, text` + fromRows
)

// stored is a record as it is stored.
type stored struct {
	Memory string
	Vector []byte
}

// records returns the records that a query selects. It is the last statement of a transaction.
func (t *tx) records(from string, args ...any) []store.Record {
	var found []stored
	list(t, &found, pgx.RowToStructByPos, `SELECT memory, nullif(vector, '') FROM `+from, args...)
	t.finish()
	out := make([]store.Record, len(found)) // it is large: it does not grow with the rows
	t.check(plan.Each(len(out), func(i int) error {
		out[i].Vector = found[i].Vector
		return plan.Decode("record", found[i].Memory, &out[i].Memory)
	}))
	return out
}

// Get implements [store.Records].
func (s *Store) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	return call(ctx, s, reading, fmt.Sprintf("get %d records of %s", len(ids), p), p, nil, func(t *tx) []store.Record {
		return t.records(`unnest($2::bytea[]) WITH ORDINALITY AS wanted (id, place) JOIN @records r ON r.id = wanted.id
			WHERE part = `+own+` ORDER BY place`, t.name, bytesOf(ids))
	})
}

// changesPage is how many records (and tombstones) a page of changes has, before it is rounded up
// to a whole batch.
const changesPage = 1000

// Changes implements [store.Records].
func (s *Store) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	doing := "changes of " + p.String()
	part, err := call(ctx, s, reading, doing, p, nil, (*tx).partition)
	switch {
	case err != nil:
		return nil, err
	case cursor == part.at(part.Version), cursor == "" && part.PK == 0:
		return &store.ChangeSet{Version: part.Version, Cursor: cursor, Embedding: part.embedding()}, nil
	}
	return call(ctx, s, paging, doing, p, nil, func(t *tx) *store.ChangeSet { return t.changes(cursor) })
}

// partition reads the row of the partition.
func (t *tx) partition() partition {
	return first(ask(t, pgx.RowToStructByPos[partition], selectPartition+`name = $1`, t.name))
}

// lastVersion selects the last version of a page that begins after $2, at most $4. The page has
// about $3 records, and tombstones, and only whole batches.
const lastVersion = `SELECT coalesce(min(version), $4) FROM (
	(SELECT version FROM @records WHERE part = $1 AND version > $2 ORDER BY version LIMIT 1 OFFSET $3 - 1)
	UNION ALL (SELECT version FROM @tombstones WHERE part = $1 AND version > $2 ORDER BY version LIMIT 1 OFFSET $3 - 1)) ends`

// changes reads one page.
func (t *tx) changes(cursor string) *store.ChangeSet {
	var key, since, server int64
	t.check(plan.ParseCursor(cursor, &key, &since, &server))
	part := t.partition()
	out := &store.ChangeSet{Embedding: part.embedding()}
	// A partition of another key was dropped. A version ahead may be lost, and so may one that
	// a server had before its start.
	if key != 0 && (key != part.PK || since > part.Version || server != part.Server) {
		since, out.Reset = 0, true
	}
	if part.PK == 0 {
		return out
	}
	out.Version = first(ask(t, pgx.RowTo[int64], lastVersion, part.PK, since, changesPage, part.Version))
	out.Cursor, out.More = part.at(out.Version), out.Version < part.Version
	const within = `part = $1 AND version > $2 AND version <= $3 ORDER BY version, id`
	if since > 0 { // a new reader has nothing to remove
		list(t, &out.Removed, rowToID, `SELECT id FROM @tombstones WHERE `+within, part.PK, since, out.Version)
	}
	out.Records = t.records(`@records WHERE `+within, part.PK, since, out.Version)
	return out
}

// History implements [store.Records].
func (s *Store) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	return call(ctx, s, reading, fmt.Sprintf("history of %q", id), p, nil, func(t *tx) []backends.Event {
		return decode[backends.Event](t, "event of "+id, ask(t, pgx.RowTo[string],
			`SELECT event FROM @events WHERE part = `+own+` AND id = $2 ORDER BY pk`, t.name, []byte(id)))
	})
}

// Deleted implements [store.Records].
func (s *Store) Deleted(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "deleted memories", p, page, `SELECT DISTINCT id FROM @events e WHERE part = `+own+` AND id >= $2
		AND NOT EXISTS (SELECT 1 FROM @records WHERE part = e.part AND id = e.id) ORDER BY id LIMIT $3`)
}

// Drop implements [store.Records].
func (s *Store) Drop(ctx context.Context, p backends.Partition) (store.DropCount, error) {
	return call(ctx, s, dropping, "drop "+p.String(), p, nil, func(t *tx) (out store.DropCount) {
		now := t.now.UnixMicro()
		t.erase(`part = $1 AND expires <= $2`, t.part.PK, now) // they are left out of the count
		var n []int
		for _, table := range []string{"records", "tombstones", "sessions", "messages", "blobs", "events", "batches"} {
			list(t, &n, pgx.RowTo[int], `WITH gone AS (DELETE FROM @`+table+` WHERE part = $1 RETURNING 1) SELECT count(*) FROM gone`, t.part.PK)
		}
		t.exec(`DELETE FROM @partitions WHERE pk = $1`, t.part.PK)
		t.exec(`DELETE FROM @lives WHERE life IN (SELECT life FROM @lives WHERE began <= $1 FOR UPDATE SKIP LOCKED)`, t.known())
		t.exec(`INSERT INTO @lives (name, began) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET life = DEFAULT, began = excluded.began`, t.name, now)
		if t.finish(); t.err == nil {
			out = store.DropCount{Records: n[0] + n[1], Sessions: n[2], Messages: n[3], Blobs: n[4]}
		}
		return out
	})
}

// known is the time after which an epoch that began is known.
func (t *tx) known() int64 { return t.now.Add(-store.KeepEpochs).UnixMicro() }

// Epoch implements [store.Records].
func (s *Store) Epoch(ctx context.Context, p backends.Partition) (string, error) {
	return call(ctx, s, reading, "epoch of "+p.String(), p, nil, func(t *tx) string {
		found := ask(t, pgx.RowTo[int64], `SELECT life FROM @lives WHERE name = $1 AND began > $2`, t.name, t.known())
		return fmt.Sprintf("%s.%d", s.id, first(found))
	})
}

// Fence implements [store.Records]. Every write looks at the epochs of all partitions that its
// operation began in, so it waits only for the writes that have looked before.
func (s *Store) Fence(ctx context.Context, p, of backends.Partition) error {
	return do(ctx, s, dropping, fmt.Sprintf("fence %s for %s", p, of), p, nil, func(*tx) {})
}
