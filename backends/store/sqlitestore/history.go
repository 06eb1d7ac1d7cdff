// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/plan"
)

// History implements [store.Records].
func (s *Store) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	if err := checkNames(p, ""); err != nil {
		return nil, err
	}
	var out []backends.Event
	err := s.read(ctx, fmt.Sprintf("history of %q", id), func(c *conn) error {
		const query = `SELECT e.event FROM events e JOIN partitions p ON p.pk = e.part
			WHERE p.namespace = ? AND p.kind = ? AND p.id = ? AND e.id = ? ORDER BY e.pk`
		return c.each(ctx, query, []any{p.Namespace, string(p.Kind), p.ID, id}, func(rows *sql.Rows) error {
			var text sql.RawBytes
			if err := rows.Scan(&text); err != nil {
				return err
			}
			var e backends.Event
			if err := decode("event", text, &e); err != nil {
				return err
			}
			out = append(out, e)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// saveEvent adds an event to the history of its record.
func (c *conn) saveEvent(part int64, e *backends.Event) error {
	text, err := plan.Encode("event", e)
	if err != nil {
		return err
	}
	_, err = c.exec(`INSERT INTO events (part, id, event) VALUES (?, ?, ?)`, part, e.MemoryID, text)
	return err
}
