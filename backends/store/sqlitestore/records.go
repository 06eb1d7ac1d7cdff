// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

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

// keepKeys is how long an idempotency key is known.
const keepKeys = 31 * 24 * time.Hour

// replay returns the results of the batch that had the key before, nil if there was
// none. The session is returned as it is now.
func (a *applier) replay(b *store.Batch) (*store.Applied, error) {
	out := &store.Applied{Replayed: true}
	var results []byte
	found, err := a.row(`SELECT version, results FROM batches WHERE part = ? AND key = ?`, []any{a.part.pk, b.Key}, &out.Version, &results)
	if err != nil || !found {
		return nil, err
	}
	if err := decode("results of batch "+b.Key, results, &out.Results); err != nil {
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
	if _, err := a.exec(`DELETE FROM batches WHERE created < ?`, micros(a.now.Add(-keepKeys))); err != nil {
		return err
	}
	_, err = a.exec(`INSERT INTO batches (part, key, created, version, results) VALUES (?, ?, ?, ?, ?)`,
		a.part.pk, key, micros(a.now), out.Version, results)
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
				r, err := c.record(`SELECT memory, vector FROM records WHERE part = ? AND id = ?`, part.pk, id)
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

// record reads the memory and the vector of one record, nil if there is none.
func (c *conn) record(query string, part int64, id string) (*store.Record, error) {
	var out *store.Record
	err := c.each(context.Background(), query, []any{part, id}, func(rows *sql.Rows) error {
		var text sql.RawBytes
		out = &store.Record{}
		if err := rows.Scan(&text, &out.Vector); err != nil {
			return err
		}
		return decode("record "+id, text, &out.Memory)
	})
	return out, err
}
