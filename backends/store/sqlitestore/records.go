// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// Apply implements [store.Records].
func (s *Store) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if err := b.Validate(); err != nil {
		return nil, s.describe("apply to "+p.String(), err)
	}
	doing := fmt.Sprintf("apply %d mutations to %s", len(b.Mutations), p)
	return call(ctx, s, s.write, doing, p, "", func(c *conn, part partition) (*store.Applied, error) {
		a := &applier{conn: c, ctx: ctx, part: part, now: s.now()}
		return a.apply(b)
	})
}

// applier carries out one batch inside a write transaction.
type applier struct {
	*conn
	ctx  context.Context
	part partition
	now  time.Time
	err  error // see do
}

func (a *applier) apply(b *store.Batch) (*store.Applied, error) {
	if b.Key != "" {
		replayed, err := a.replay(b)
		if replayed != nil || err != nil {
			return replayed, err
		}
	}
	todo, err := plan.Batch(b, &plan.Input{Now: a.now, Next: a.part.version + 1, Embedding: a.part.embedding(), Record: a.record})
	if err != nil {
		return nil, err
	}
	out := &store.Applied{Version: a.part.version, Results: todo.Results}
	if b.Session != nil {
		if out.Session, err = a.updateSession(a.part, b.Session, a.now); err != nil {
			return nil, err
		}
	}
	if todo.Changed || b.Session != nil {
		out.Version = todo.Version
		err = a.carryOut(todo)
	}
	if err == nil && b.Key != "" {
		err = a.remember(b.Key, out)
	}
	return out, err
}

// record reads one record, nil if it is missing.
func (a *applier) record(id string) (*store.Record, error) {
	found, err := a.records(a.ctx, `part = ? AND id = ?`, a.part.pk, id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// do runs a statement, unless an earlier one failed. The first error stays in err.
func (a *applier) do(query string, args ...any) {
	if a.err = cmp.Or(a.err, a.ctx.Err()); a.err == nil {
		a.err = a.exec(query, args...)
	}
}

// encode returns v as JSON; see do.
func (a *applier) encode(what string, v any) string {
	text, err := plan.Encode(what, v)
	a.err = cmp.Or(a.err, err)
	return text
}

// carryOut writes the plan and the partition's new version.
func (a *applier) carryOut(todo *plan.Plan) error {
	a.err = a.create(&a.part)
	for i := range todo.Writes {
		a.save(&todo.Writes[i], todo.Version)
	}
	for _, id := range todo.Erased {
		a.do(`DELETE FROM events WHERE part = ? AND id = ?`, a.part.pk, id)
	}
	for i := range todo.Events {
		row := sealed{owner: a.part.pk, key: todo.Events[i].MemoryID, text: a.encode("event", &todo.Events[i])}
		a.do(`INSERT INTO events (part, id, event, sum) VALUES (?, ?, ?, ?)`, row.owner, row.key, row.text, row.checksum())
	}
	if a.part.version = todo.Version; todo.Embedding != nil {
		a.part.space = *todo.Embedding
	}
	a.do(`UPDATE partitions SET version = ?, records = ?, model = ?, dim = ?, sum = ? WHERE pk = ?`,
		a.part.version, a.part.records, a.part.space.Model, a.part.space.Dim, a.part.sealed().checksum(), a.part.pk)
	return a.err
}

// save writes one record. A deleted one leaves a tombstone, so indexes see the deletion.
func (a *applier) save(w *plan.Write, version int64) {
	row := sealed{owner: a.part.pk, key: w.ID}
	if w.Record == nil {
		a.part.records--
		row.text = strconv.FormatInt(version, 10)
		a.do(`DELETE FROM records WHERE part = ? AND id = ?`, row.owner, row.key)
		a.do(`INSERT INTO tombstones (part, id, version, sum) VALUES (?, ?, ?, ?)`, row.owner, row.key, version, row.checksum())
		return
	}
	row.text = a.encode("record "+w.ID, &w.Record.Memory)
	if len(w.Record.Vector) > 0 { // NULL for an empty vector
		row.data = w.Record.Vector
	}
	a.do(`INSERT INTO records (part, id, version, memory, vector, sum) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (part, id)
		DO UPDATE SET version = excluded.version, memory = excluded.memory, vector = excluded.vector, sum = excluded.sum`,
		row.owner, row.key, w.Record.Version, row.text, row.data, row.checksum())
	if w.Old == 0 {
		a.part.records++
		a.do(`DELETE FROM tombstones WHERE part = ? AND id = ?`, row.owner, row.key)
	}
}

// replay returns the results of the batch that had the key before, or nil. The session is
// returned as it is now.
func (a *applier) replay(b *store.Batch) (*store.Applied, error) {
	rows, err := a.rows(a.ctx, `SELECT part, key, results, version, sum FROM batches WHERE part = ? AND key = ?`, a.part.pk, b.Key)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	out := &store.Applied{Replayed: true}
	if err := rows[0].decode("results of batch", &out.Results); err != nil {
		return nil, err
	}
	if out.Version, err = strconv.ParseInt(string(rows[0].data), 10, 64); err != nil || b.Session == nil {
		return out, err
	}
	row, err := a.session(a.part, b.Session.Session, a.now)
	if row != nil {
		out.Session = &row.Session
	}
	return out, err
}

// remember keeps the key with its results, and deletes keys that are too old.
func (a *applier) remember(key string, out *store.Applied) error {
	a.err = a.create(&a.part)
	row := sealed{owner: a.part.pk, key: key, text: a.encode("results", out.Results), data: strconv.AppendInt(nil, out.Version, 10)}
	a.do(`DELETE FROM batches WHERE created < ?`, plan.Micros(a.now.Add(-plan.KeepKeys)))
	a.do(`INSERT INTO batches (part, key, created, version, results, sum) VALUES (?, ?, ?, ?, ?, ?)`,
		row.owner, row.key, plan.Micros(a.now), out.Version, row.text, row.checksum())
	return a.err
}

// Get implements [store.Records].
func (s *Store) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	doing := fmt.Sprintf("get %d records of %s", len(ids), p)
	return call(ctx, s, s.read, doing, p, "", func(c *conn, part partition) (out []store.Record, err error) {
		for _, id := range ids {
			found, err := c.records(ctx, `part = ? AND id = ?`, part.pk, id)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		return out, nil
	})
}

// records reads records. JSON takes most of the time of many, so the rows are read first
// and decoded on all processors.
func (c *conn) records(ctx context.Context, which string, args ...any) ([]store.Record, error) {
	rows, err := c.rows(ctx, `SELECT part, id, memory, vector, sum FROM records WHERE `+which, args...)
	if err != nil {
		return nil, err
	}
	out := make([]store.Record, len(rows))
	return out, plan.Each(len(out), func(i int) error {
		out[i].Vector = rows[i].data
		return rows[i].decode("record", &out[i].Memory)
	})
}

// changesPage is how many records (and tombstones) a page of changes has, before it is
// rounded up to a whole batch.
const changesPage = 1000

// Changes implements [store.Records]. Most calls find nothing new: a single statement says so, which
// sees one state of the file without a transaction.
func (s *Store) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	lend := func(ctx context.Context, fn func(*conn) error) error { return s.borrow(ctx, s.readers, fn) }
	return call(ctx, s, lend, "changes of "+p.String(), p, "", func(c *conn, part partition) (out *store.ChangeSet, err error) {
		var key, since int64
		if err := plan.ParseCursor(cursor, &key, &since); err != nil {
			return nil, err
		}
		if key == part.pk && since == part.version {
			return &store.ChangeSet{Version: part.version, Cursor: cursor, Embedding: part.embedding()}, nil
		}
		err = c.transaction(ctx, "BEGIN", func() error {
			if part, err = c.partition(p); err == nil {
				out, err = c.changes(ctx, part, key, since)
			}
			return err
		})
		return out, err
	})
}

// changes reads one page for a reader that knows a partition of the key up to a version. It runs in
// a read transaction. A partition that is dropped and created again has another key.
func (c *conn) changes(ctx context.Context, part partition, key, since int64) (*store.ChangeSet, error) {
	out := &store.ChangeSet{Embedding: part.embedding()}
	// A partition of another key was dropped; a version ahead was lost with a restored
	// backup.
	if key != 0 && (key != part.pk || since > part.version) {
		since, out.Reset = 0, true
	}
	if part.pk == 0 {
		return out, nil
	}
	if err := c.complete(part); err != nil {
		return nil, err
	}
	if _, err := c.row(pageEnd, []any{part.pk, since, changesPage, part.version}, &out.Version); err != nil {
		return nil, err
	}
	out.Cursor, out.More = plan.Cursor(part.pk, out.Version), out.Version < part.version
	var err error
	out.Records, err = c.records(ctx, `part = ? AND version > ? AND version <= ? ORDER BY version, pk`, part.pk, since, out.Version)
	err = cmp.Or(err, inOrder(out.Records, since, out.Version))
	if err != nil || since == 0 { // a new reader has nothing to remove
		return out, err
	}
	const query = `SELECT part, id, version, NULL, sum FROM tombstones WHERE part = ? AND version > ? AND version <= ? ORDER BY version, id`
	gone, err := c.rows(ctx, query, part.pk, since, out.Version)
	for i := range gone {
		if err == nil {
			err = gone[i].check("tombstone")
		}
		out.Removed = append(out.Removed, gone[i].key)
	}
	return out, err
}

// complete returns ErrUnavailable if the index that Changes reads lacks records: an index
// in memory would pass for the whole.
func (c *conn) complete(part partition) error {
	var found int64
	_, err := c.row(`SELECT count(*) FROM records WHERE part = ? AND version > 0 AND version <= ?`, []any{part.pk, part.version}, &found)
	if err == nil && found != part.records {
		err = errDamaged(fmt.Sprintf("%d of %d records are in the index", found, part.records))
	}
	return err
}

// inOrder returns ErrUnavailable if the index that Changes reads led to a row of another
// version than its own, or to one row twice.
func inOrder(page []store.Record, since, upto int64) error {
	seen := make(map[string]bool, len(page))
	for i := range page {
		r := &page[i]
		if r.Version <= since || r.Version > upto || seen[r.ID] {
			return errDamaged(fmt.Sprintf("record %q is twice in the index", r.ID))
		}
		seen[r.ID], since = true, max(since, r.Version-1)
	}
	return nil
}

// pageEnd selects the last version of a page that begins after ?2, at most ?4. The page has about
// ?3 records, and tombstones, and only whole batches.
const pageEnd = `SELECT coalesce(min(version), ?4) FROM (
	SELECT * FROM (SELECT version FROM records WHERE part = ?1 AND version > ?2 ORDER BY version LIMIT 1 OFFSET ?3 - 1)
	UNION ALL SELECT * FROM (SELECT version FROM tombstones WHERE part = ?1 AND version > ?2 ORDER BY version LIMIT 1 OFFSET ?3 - 1))`

// History implements [store.Records].
func (s *Store) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	const query = `SELECT part, id, event, NULL, sum FROM events WHERE part = ? AND id = ? ORDER BY pk`
	return call(ctx, s, s.read, fmt.Sprintf("history of %q", id), p, "", func(c *conn, part partition) ([]backends.Event, error) {
		return decoded[backends.Event](ctx, c, "event of", query, part.pk, id)
	})
}

// Deleted implements [store.Records].
func (s *Store) Deleted(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "deleted memories", p, page, `SELECT DISTINCT id FROM events e
		WHERE part = ?1 AND id >= ?2 AND NOT EXISTS (SELECT 1 FROM records WHERE part = ?1 AND id = e.id) ORDER BY id LIMIT ?3`)
}
