// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// Get implements [store.Records].
func (s *Store) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	if err := checkNames(p, ""); err != nil {
		return nil, err
	}
	var out []store.Record
	err := s.snapshot(ctx, fmt.Sprintf("get %d records", len(ids)), func(c *conn) error {
		part, err := c.partition(p)
		if err != nil {
			return err
		}
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
	if err != nil {
		return nil, err
	}
	return out, nil
}

// record reads the memory and the vector of one record, nil when there is none.
func (c *conn) record(query string, part int64, id string) (*store.Record, error) {
	var text sql.RawBytes
	var r store.Record
	found := false
	err := c.each(context.Background(), query, []any{part, id}, func(rows *sql.Rows) error {
		found = true
		if err := rows.Scan(&text, &r.Vector); err != nil {
			return err
		}
		return decode("record "+id, text, &r.Memory)
	})
	if err != nil || !found {
		return nil, err
	}
	return &r, nil
}

// saveRecord writes what became of one record. part has its new version.
func (c *conn) saveRecord(part partition, w *plan.Write) error {
	if w.Record == nil {
		return c.removeRecord(part, w.ID)
	}
	text, err := plan.Encode("record "+w.ID, &w.Record.Memory)
	if err != nil {
		return err
	}
	if w.SameVector {
		_, err = c.exec(`UPDATE records SET version = ?, memory = ? WHERE part = ? AND id = ?`, w.Record.Version, text, part.pk, w.ID)
		return err
	}
	var vector any // NULL when there is none
	if len(w.Record.Vector) > 0 {
		vector = w.Record.Vector
	}
	_, err = c.exec(`INSERT INTO records (part, id, version, memory, vector) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (part, id) DO UPDATE SET version = excluded.version, memory = excluded.memory, vector = excluded.vector`,
		part.pk, w.ID, w.Record.Version, text, vector)
	if err != nil || w.Old != 0 {
		return err
	}
	_, err = c.exec(`DELETE FROM tombstones WHERE part = ? AND id = ?`, part.pk, w.ID)
	return err
}

// removeRecord deletes a record and leaves a tombstone, so that indexes hear of it.
func (c *conn) removeRecord(part partition, id string) error {
	if _, err := c.exec(`DELETE FROM records WHERE part = ? AND id = ?`, part.pk, id); err != nil {
		return err
	}
	_, err := c.exec(`INSERT INTO tombstones (part, id, version) VALUES (?, ?, ?)`, part.pk, id, part.version)
	return err
}
