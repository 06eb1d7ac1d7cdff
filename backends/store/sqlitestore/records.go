// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
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
			r, err := c.record(part.pk, id)
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

// record reads one record, nil when there is none.
func (c *conn) record(part int64, id string) (*store.Record, error) {
	var text sql.RawBytes
	var r store.Record
	found := false
	err := c.each(context.Background(), `SELECT memory, vector FROM records WHERE part = ? AND id = ?`, []any{part, id}, func(rows *sql.Rows) error {
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

// saveRecord writes r over the record with its id, if there is one.
func (c *conn) saveRecord(part int64, r *store.Record) error {
	text, err := encode("record "+r.ID, &r.Memory)
	if err != nil {
		return err
	}
	var vector any // NULL when there is none
	if len(r.Vector) > 0 {
		vector = r.Vector
	}
	_, err = c.exec(`INSERT INTO records (part, id, version, memory, vector) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (part, id) DO UPDATE SET version = excluded.version, memory = excluded.memory, vector = excluded.vector`,
		part, r.ID, r.Version, text, vector)
	return err
}

// saveMemory writes m over the record with its id, which exists, and leaves the
// vector alone.
func (c *conn) saveMemory(part int64, m *backends.Memory) error {
	text, err := encode("record "+m.ID, m)
	if err != nil {
		return err
	}
	_, err = c.exec(`UPDATE records SET version = ?, memory = ? WHERE part = ? AND id = ?`, m.Version, text, part, m.ID)
	return err
}
