// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"cmp"
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// Apply implements [store.Records].
func (s *Store) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (out *store.Applied, err error) {
	if err := b.Validate(); err != nil {
		return nil, describe("apply to "+p.String(), err)
	}
	doing := fmt.Sprintf("apply %d mutations to %s", len(b.Mutations), p)
	err = s.write(ctx, doing, p, "", batching, func(t *tx) (err error) {
		out, err = t.apply(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t *tx) apply(b *store.Batch) (*store.Applied, error) {
	found, replayed, session, err := t.before(b)
	if err != nil {
		return nil, err
	}
	if replayed != nil {
		if session != nil {
			replayed.Session = &session.Session
		}
		return replayed, nil
	}
	todo, err := plan.Batch(b, &plan.Input{Now: t.now, Next: t.part.version + 1, Embedding: t.part.embedding(),
		Record: func(id string) (*store.Record, error) { return found[id], nil }})
	if err != nil {
		return nil, err
	}
	out := &store.Applied{Version: t.part.version, Results: todo.Results}
	if b.Session != nil {
		if out.Session, err = t.update(session, b.Session); err != nil {
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

// before reads everything that a batch is planned on: its records without vectors, its session,
// and its results if the key is known.
func (t *tx) before(b *store.Batch) (map[string]*store.Record, *store.Applied, *session, error) {
	type done struct {
		version int64
		results string
	}
	var before []done
	var memories []string
	ids := bytesOf(plan.Touched(b))
	column(t, &memories, `SELECT memory FROM @records WHERE part = $1 AND id = ANY($2)`, t.part.pk, ids)
	list(t, &before, func(d *done) []any { return []any{&d.version, &d.results} },
		`SELECT version, results FROM @batches WHERE part = $1 AND key = $2`, t.part.pk, []byte(b.Key))
	session, err := t.sessionOf(b)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(before) > 0 {
		out := &store.Applied{Replayed: true, Version: before[0].version}
		return nil, out, session, plan.Decode("results of batch "+b.Key, before[0].results, &out.Results)
	}
	records, err := decode(memories, nil)
	found := make(map[string]*store.Record, len(records))
	for i := range records {
		found[records[i].ID] = &records[i]
	}
	return found, nil, session, err
}

// sessionOf sends the queue, and returns the session that a batch updates, if it is there.
func (t *tx) sessionOf(b *store.Batch) (*session, error) {
	if b.Session == nil {
		return nil, t.flush()
	}
	return t.session(b.Session.Session)
}

func bytesOf(ids []string) [][]byte {
	out := make([][]byte, len(ids))
	for i, id := range ids {
		out[i] = []byte(id)
	}
	return out
}

// decode reads memories as they are stored, and adds their vectors unless there are none.
func decode(memories []string, vectors [][]byte) ([]store.Record, error) {
	out := make([]store.Record, len(memories))
	return out, plan.Each(len(out), func(i int) error {
		if vectors != nil {
			out[i].Vector = vectors[i]
		}
		return plan.Decode("record", memories[i], &out[i].Memory)
	})
}

// portion bounds what one statement carries: rows, and bytes of them.
const portionRows, portionBytes = 1000, 4 << 20

// saving collects rows of one statement.
type saving struct {
	query    string
	more     []any // arguments after the rows
	ids      [][]byte
	versions []int64
	texts    []string
	data     [][]byte // NULL where it is nil
	size     int
}

func (v *saving) add(t *tx, id string, version int64, text string, data []byte) {
	v.ids, v.versions = append(v.ids, []byte(id)), append(v.versions, version)
	v.texts, v.data = append(v.texts, text), append(v.data, data)
	if v.size += len(id) + len(text) + len(data); len(v.ids) >= portionRows || v.size >= portionBytes {
		v.send(t)
	}
}

// send queues the rows that were collected.
func (v *saving) send(t *tx) {
	if len(v.ids) > 0 {
		t.exec(v.query, append([]any{t.part.pk, v.ids, v.versions, v.texts, v.data}, v.more...)...)
	}
	*v = saving{query: v.query, more: v.more}
}

// The statements that write many rows, with the columns id, version, text and data.
const (
	rows = ` FROM unnest($2::bytea[], $3::bigint[], $4::text[], $5::bytea[]) AS r (id, version, text, data)`

	insertRecords = `INSERT INTO @records (part, id, version, memory, vector) SELECT $1::bigint, id, version, text, data` + rows + `
		ON CONFLICT (part, id) DO UPDATE SET version = excluded.version, memory = excluded.memory, vector = excluded.vector`
	updateRecords = `UPDATE @records o SET version = r.version, memory = r.text` + rows + ` WHERE o.part = $1 AND o.id = r.id`
	buryRecords   = `WITH gone AS (DELETE FROM @records WHERE part = $1 AND id = ANY($2))
		INSERT INTO @tombstones (part, id, version) SELECT $1::bigint, id, version` + rows + `
		ON CONFLICT (part, id) DO UPDATE SET version = excluded.version`
	insertEvents   = `INSERT INTO @events (part, id, event) SELECT $1::bigint, id, text` + rows
	insertMessages = `INSERT INTO @messages (part, session, seq, id, entry) SELECT $1::bigint, $6::bigint, version, id, text` + rows
)

// carryOut writes the plan and the partition's new version.
func (t *tx) carryOut(todo *plan.Plan) error {
	whole, part, buried, events := saving{query: insertRecords}, saving{query: updateRecords}, saving{query: buryRecords}, saving{query: insertEvents}
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
	if len(back) > 0 {
		t.exec(`DELETE FROM @tombstones WHERE part = $1 AND id = ANY($2)`, t.part.pk, back)
	}
	if len(todo.Erased) > 0 {
		t.exec(`DELETE FROM @events WHERE part = $1 AND id = ANY($2)`, t.part.pk, bytesOf(todo.Erased))
	}
	for i := range todo.Events {
		text, err := plan.Encode("event", &todo.Events[i])
		if err != nil {
			return err
		}
		events.add(t, todo.Events[i].MemoryID, 0, text, nil)
	}
	for _, v := range []*saving{&whole, &part, &buried, &events} {
		v.send(t)
	}
	if t.part.version = todo.Version; todo.Embedding != nil {
		t.part.model, t.part.dim = []byte(todo.Embedding.Model), int64(todo.Embedding.Dim)
	}
	if t.part.model == nil {
		t.part.model = []byte{}
	}
	t.exec(`UPDATE @partitions SET version = $2, records = $3, model = $4, dim = $5 WHERE pk = $1`,
		t.part.pk, t.part.version, t.part.records, t.part.model, t.part.dim)
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

// Get implements [store.Records].
func (s *Store) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	var found recordRows
	doing := fmt.Sprintf("get %d records of %s", len(ids), p)
	err := s.read(ctx, doing, p, "", func(t *tx) error {
		found.list(t, `part = `+own+` AND id = ANY($2)`, p.String(), bytesOf(ids))
		return nil
	})
	records, err := found.decode(err)
	if err != nil {
		return nil, describe(doing, err)
	}
	at := make(map[string]*store.Record, len(records))
	for i := range records {
		at[records[i].ID] = &records[i]
	}
	var out []store.Record
	for _, id := range ids {
		if r := at[id]; r != nil {
			out = append(out, *r)
		}
	}
	return out, nil
}

// recordRows are rows of the table records.
type recordRows struct {
	rows []struct {
		memory string
		vector []byte
	}
}

func (r *recordRows) list(t *tx, which string, args ...any) {
	type row = struct {
		memory string
		vector []byte
	}
	list(t, &r.rows, func(r *row) []any { return []any{&r.memory, &r.vector} }, `SELECT memory, vector FROM @records WHERE `+which, args...)
}

// decode returns the records, unless reading them failed.
func (r *recordRows) decode(err error) ([]store.Record, error) {
	if err != nil {
		return nil, err
	}
	memories, vectors := make([]string, len(r.rows)), make([][]byte, len(r.rows))
	for i := range r.rows {
		memories[i], vectors[i] = r.rows[i].memory, r.rows[i].vector
	}
	return decode(memories, vectors)
}

// changesPage is how many records (and tombstones) a page of changes has, before it is rounded up
// to a whole batch.
const changesPage = 1000

// Changes implements [store.Records].
func (s *Store) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	doing := "changes of " + p.String()
	since, err := parsePlace(cursor)
	if err := cmp.Or(p.Validate(), err); err != nil {
		return nil, describe(doing, err)
	}
	c := changes{cursor: cursor, since: since}
	if err = s.run(ctx, doing, reading, p.String(), c.page); err != nil {
		return nil, err
	}
	if c.out.Records, err = c.found.decode(nil); err != nil {
		return nil, describe(doing, err)
	}
	return &c.out, nil
}

// changes is the reading of one page.
type changes struct {
	cursor string
	since  place
	out    store.ChangeSet
	found  recordRows
}

// lastVersions selects the last version of a page that begins after $2: of records, and of
// tombstones. The page has about changesPage entries and only whole batches.
const lastVersions = `(SELECT version FROM @records WHERE part = ` + own + ` AND version > $2 ORDER BY version LIMIT 1 OFFSET $3)
	UNION ALL (SELECT version FROM @tombstones WHERE part = ` + own + ` AND version > $2 ORDER BY version LIMIT 1 OFFSET $3)`

func (c *changes) page(t *tx) error {
	c.out, c.found = store.ChangeSet{}, recordRows{}
	var parts []partition
	list(t, &parts, (*partition).fields, selectPartition, t.name)
	if err := t.flush(); err != nil {
		return err
	}
	var part partition
	if len(parts) > 0 {
		part = parts[0]
	}
	at := place{part.pk, part.version, part.server}
	c.out.Embedding, c.out.Version, c.out.Cursor = part.embedding(), part.version, c.cursor
	if at == c.since {
		return nil
	}
	// A partition of another key was dropped; a version ahead, or of a server that was
	// started at another time, may be lost.
	since := c.since
	if since.part != 0 && (since.part != part.pk || since.at > part.version || since.server != part.server) {
		since, c.out.Reset = place{}, true
	}
	if part.pk == 0 {
		c.out.Cursor = ""
		return nil
	}
	var ends []int64
	column(t, &ends, lastVersions, t.name, since.at, changesPage-1)
	if err := t.flush(); err != nil {
		return err
	}
	for _, end := range ends {
		at.at = min(at.at, end)
	}
	c.out.Version, c.out.Cursor, c.out.More = at.at, at.String(), at.at < part.version
	c.found.list(t, `part = $1 AND version > $2 AND version <= $3 ORDER BY version, id`, part.pk, since.at, at.at)
	if since.at == 0 { // a new reader has nothing to remove
		return nil
	}
	var gone [][]byte
	column(t, &gone, `SELECT id FROM @tombstones WHERE part = $1 AND version > $2 AND version <= $3 ORDER BY version, id`, part.pk, since.at, at.at)
	if err := t.flush(); err != nil {
		return err
	}
	for _, id := range gone {
		c.out.Removed = append(c.out.Removed, string(id))
	}
	return nil
}

// History implements [store.Records].
func (s *Store) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	var texts []string
	doing := fmt.Sprintf("history of %q", id)
	err := s.read(ctx, doing, p, "", func(t *tx) error {
		column(t, &texts, `SELECT event FROM @events WHERE part = `+own+` AND id = $2 ORDER BY pk`, p.String(), []byte(id))
		return nil
	})
	if err != nil || len(texts) == 0 {
		return nil, err
	}
	out := make([]backends.Event, len(texts))
	err = plan.Each(len(out), func(i int) error { return plan.Decode("event of "+id, texts[i], &out[i]) })
	return out, describe(doing, err)
}

// Deleted implements [store.Records].
func (s *Store) Deleted(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "deleted memories", p, page, `SELECT DISTINCT id FROM @events e WHERE part = `+own+` AND id >= $2
		AND NOT EXISTS (SELECT 1 FROM @records WHERE part = e.part AND id = e.id) ORDER BY id LIMIT $3`)
}
