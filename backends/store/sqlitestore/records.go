// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// Apply implements [store.Records].
func (s *Store) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if err := b.Validate(); err != nil {
		return nil, s.describe("apply to "+p.String(), err)
	}
	return write(ctx, s, fmt.Sprintf("apply %d mutations to %s", len(b.Mutations), p), p, "", func(c *conn, part partition) (*store.Applied, error) {
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
}

func (a *applier) apply(b *store.Batch) (*store.Applied, error) {
	if err := a.create(&a.part); err != nil {
		return nil, err
	}
	if b.Key != "" {
		replayed, err := a.replay(b)
		if replayed != nil || err != nil {
			return replayed, err
		}
	}
	todo, err := plan.Batch(b, &plan.Input{Now: a.now, Next: a.part.version + 1, Embedding: a.part.embedding(), Record: a.memory})
	if err != nil {
		return nil, err
	}
	out := &store.Applied{Version: a.part.version, Results: todo.Results}
	if b.Session != nil {
		if out.Session, err = a.updateSession(a.part, b.Session, a.now); err != nil {
			return nil, err
		}
	}
	changed := todo.Changed || b.Session != nil
	if changed {
		out.Version = todo.Version
		if err := a.carryOut(todo); err != nil {
			return nil, err
		}
	}
	switch {
	case b.Key != "":
		return out, a.remember(b.Key, out)
	case !changed:
		return out, errUnchanged
	}
	return out, nil
}

// memory reads a record without its vector, which no plan depends on.
func (a *applier) memory(id string) (*store.Record, error) {
	if err := a.ctx.Err(); err != nil {
		return nil, err
	}
	return a.record(`SELECT memory, NULL FROM records WHERE part = ? AND id = ?`, a.part.pk, id)
}

// carryOut writes the plan and the partition's new version.
func (a *applier) carryOut(todo *plan.Plan) error {
	space := a.part.space
	if todo.Embedding != nil {
		space = *todo.Embedding
	}
	_, err := a.exec(`UPDATE partitions SET version = ?, model = ?, dim = ? WHERE pk = ?`, todo.Version, space.Model, space.Dim, a.part.pk)
	if err != nil {
		return err
	}
	for i := range todo.Writes {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if err := a.save(&todo.Writes[i], todo.Version); err != nil {
			return err
		}
	}
	for _, id := range todo.Erased {
		if _, err := a.exec(`DELETE FROM events WHERE part = ? AND id = ?`, a.part.pk, id); err != nil {
			return err
		}
	}
	for i := range todo.Events {
		e := &todo.Events[i]
		text, err := plan.Encode("event", e)
		if err != nil {
			return err
		}
		if _, err := a.exec(`INSERT INTO events (part, id, event) VALUES (?, ?, ?)`, a.part.pk, e.MemoryID, text); err != nil {
			return err
		}
	}
	return nil
}

// save writes one record. A deleted one leaves a tombstone, so that indexes see that
// it is gone.
func (a *applier) save(w *plan.Write, version int64) error {
	if w.Record == nil {
		if _, err := a.exec(`DELETE FROM records WHERE part = ? AND id = ?`, a.part.pk, w.ID); err != nil {
			return err
		}
		_, err := a.exec(`INSERT INTO tombstones (part, id, version) VALUES (?, ?, ?)`, a.part.pk, w.ID, version)
		return err
	}
	text, err := plan.Encode("record "+w.ID, &w.Record.Memory)
	if err != nil {
		return err
	}
	if w.SameVector {
		_, err = a.exec(`UPDATE records SET version = ?, memory = ? WHERE part = ? AND id = ?`, w.Record.Version, text, a.part.pk, w.ID)
		return err
	}
	var vector any // NULL if there is none
	if len(w.Record.Vector) > 0 {
		vector = w.Record.Vector
	}
	_, err = a.exec(`INSERT INTO records (part, id, version, memory, vector) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (part, id) DO UPDATE SET version = excluded.version, memory = excluded.memory, vector = excluded.vector`,
		a.part.pk, w.ID, w.Record.Version, text, vector)
	if err != nil || w.Old != 0 {
		return err
	}
	_, err = a.exec(`DELETE FROM tombstones WHERE part = ? AND id = ?`, a.part.pk, w.ID)
	return err
}

// replay returns the results of the batch that had the key before, nil if there was
// none. The session is returned as it is now.
func (a *applier) replay(b *store.Batch) (*store.Applied, error) {
	out := &store.Applied{Replayed: true}
	var results string
	found, err := a.row(`SELECT version, results FROM batches WHERE part = ? AND key = ?`, []any{a.part.pk, b.Key}, &out.Version, &results)
	if err != nil || !found {
		return nil, err
	}
	if err := plan.Decode("results of batch "+b.Key, results, &out.Results); err != nil {
		return nil, err
	}
	if b.Session != nil {
		row, err := a.session(a.part, b.Session.Session, a.now)
		if err != nil {
			return nil, err
		}
		if row != nil {
			out.Session = &row.Session
		}
	}
	return out, nil
}

// remember keeps the key with its results, and deletes keys that are too old.
func (a *applier) remember(key string, out *store.Applied) error {
	results, err := plan.Encode("results", out.Results)
	if err != nil {
		return err
	}
	if _, err := a.exec(`DELETE FROM batches WHERE created < ?`, plan.Micros(a.now.Add(-plan.KeepKeys))); err != nil {
		return err
	}
	_, err = a.exec(`INSERT INTO batches (part, key, created, version, results) VALUES (?, ?, ?, ?, ?)`,
		a.part.pk, key, plan.Micros(a.now), out.Version, results)
	return err
}

// Get implements [store.Records].
func (s *Store) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	return read(ctx, s, fmt.Sprintf("get %d records of %s", len(ids), p), p, "", func(c *conn, part partition) (out []store.Record, err error) {
		err = c.transaction(ctx, beginRead, func() error {
			for _, id := range ids {
				if err := ctx.Err(); err != nil {
					return err
				}
				r, err := c.record(wholeRecord, part.pk, id)
				if err != nil {
					return err
				}
				if r != nil {
					out = append(out, *r)
				}
			}
			return nil
		})
		return out, err
	})
}

const wholeRecord = `SELECT memory, vector FROM records WHERE part = ? AND id = ?`

// record reads the memory and the vector of one record, nil if there is none.
func (c *conn) record(query string, part int64, id string) (*store.Record, error) {
	out, text := &store.Record{}, ""
	found, err := c.row(query, []any{part, id}, &text, &out.Vector)
	if err != nil {
		return nil, fmt.Errorf("record %q: %w", id, err)
	}
	if !found {
		return nil, nil
	}
	return out, plan.Decode("record "+id, text, &out.Memory)
}

// changesPage is how many records (and tombstones) a page of changes has, before
// it is rounded up to a whole batch.
const changesPage = 1000

// place is how far a reader has read: in which partition, by its key, which a partition
// that is dropped and created again does not keep, and up to which version or session there.
type place struct{ part, at int64 }

func (c place) String() string { return fmt.Sprintf("%d.%d", c.part, c.at) }

// parsePlace reads a cursor. The empty one is the beginning.
func parsePlace(cursor string) (place, error) {
	var c place
	if cursor == "" {
		return c, nil
	}
	if _, err := fmt.Sscanf(cursor, "%d.%d", &c.part, &c.at); err != nil || c.String() != cursor {
		return c, fmt.Errorf("cursor %q: %w: not one of this store", cursor, backends.ErrInvalid)
	}
	return c, nil
}

// Changes implements [store.Records].
func (s *Store) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	return read(ctx, s, "changes of "+p.String(), p, "", func(c *conn, part partition) (out *store.ChangeSet, err error) {
		since, err := parsePlace(cursor)
		if err != nil {
			return nil, err
		}
		if (place{part.pk, part.version}) == since {
			return &store.ChangeSet{Version: part.version, Cursor: cursor, Embedding: part.embedding()}, nil
		}
		err = c.transaction(ctx, beginRead, func() error {
			return in(c, p, &out, func(c *conn, part partition) (*store.ChangeSet, error) { return c.changes(ctx, part, since) })
		})
		return out, err
	})
}

// changes reads one page. It runs in a read transaction.
func (c *conn) changes(ctx context.Context, part partition, since place) (*store.ChangeSet, error) {
	out := &store.ChangeSet{Embedding: part.embedding()}
	// A partition of another key was dropped; a version ahead was lost with a restored
	// backup.
	if since.part != 0 && (since.part != part.pk || since.at > part.version) {
		since, out.Reset = place{}, true
	}
	if part.pk == 0 {
		return out, nil
	}
	var err error
	if out.Version, err = c.pageEnd(part, since.at); err != nil {
		return nil, err
	}
	out.Cursor = place{part.pk, out.Version}.String()
	out.More = out.Version < part.version
	if out.Records, err = c.changed(ctx, part.pk, since.at, out.Version); err != nil {
		return nil, err
	}
	if since.at > 0 { // a reader who knows nothing need not remove anything
		const query = `SELECT id FROM tombstones WHERE part = ? AND version > ? AND version <= ? ORDER BY version, id`
		out.Removed, err = column[string](ctx, c, query, part.pk, since.at, out.Version)
	}
	return out, err
}

// pageEnd returns the version at which a page that begins after since ends, so
// that it has about changesPage entries and no batch is split.
func (c *conn) pageEnd(part partition, since int64) (int64, error) {
	end := part.version
	for _, query := range []string{
		`SELECT version FROM records WHERE part = ? AND version > ? ORDER BY version LIMIT 1 OFFSET ?`,
		`SELECT version FROM tombstones WHERE part = ? AND version > ? ORDER BY version LIMIT 1 OFFSET ?`,
	} {
		var version int64
		found, err := c.row(query, []any{part.pk, since, changesPage - 1}, &version)
		if err != nil {
			return 0, err
		}
		if found {
			end = min(end, version)
		}
	}
	return end, nil
}

// changed reads the records that changed after since. Most of the time goes into
// the JSON, so that the rows are read first and decoded on all processors.
func (c *conn) changed(ctx context.Context, part, since, upto int64) ([]store.Record, error) {
	var out []store.Record
	var texts []string
	const query = `SELECT memory, vector FROM records WHERE part = ? AND version > ? AND version <= ? ORDER BY version, pk`
	err := c.each(ctx, query, []any{part, since, upto}, func(rows *sql.Rows) error {
		var text string
		var r store.Record
		err := rows.Scan(&text, &r.Vector)
		out, texts = append(out, r), append(texts, text)
		return err
	})
	if err != nil {
		return nil, c.nameDamaged(ctx, part, err)
	}
	return out, plan.Each(len(out), func(i int) error { return plan.Decode("record", texts[i], &out[i].Memory) })
}

// nameDamaged adds to the error of reading many records which ones are damaged, a few at
// most. Their ids stand in an index, which may be whole.
func (c *conn) nameDamaged(ctx context.Context, part int64, err error) error {
	if code, ok := primaryCode(err); !ok || code != sqlite3.SQLITE_CORRUPT {
		return err
	}
	ids, failed := column[string](ctx, c, `SELECT id FROM records WHERE part = ? ORDER BY id`, part)
	var damaged []string
	for _, id := range ids {
		if _, failed := c.record(wholeRecord, part, id); failed != nil && len(damaged) < 10 {
			damaged = append(damaged, strconv.Quote(id))
		}
	}
	if failed != nil || len(damaged) == 0 {
		return err
	}
	return fmt.Errorf("records %s: %w", strings.Join(damaged, ", "), err)
}

// History implements [store.Records].
func (s *Store) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	return read(ctx, s, fmt.Sprintf("history of %q", id), p, "", func(c *conn, part partition) ([]backends.Event, error) {
		return decoded[backends.Event](ctx, c, "event", `SELECT event FROM events WHERE part = ? AND id = ? ORDER BY pk`, part.pk, id)
	})
}

// Deleted implements [store.Records].
func (s *Store) Deleted(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "deleted memories", p, page, `SELECT DISTINCT id FROM events e
		WHERE part = ?1 AND id >= ?2 AND NOT EXISTS (SELECT 1 FROM records WHERE part = ?1 AND id = e.id) ORDER BY id LIMIT ?3`)
}
