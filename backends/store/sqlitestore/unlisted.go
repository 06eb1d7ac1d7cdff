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

// Deleted implements [store.Records].
func (s *Store) Deleted(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "deleted memories of "+p.String(), p, page, `SELECT DISTINCT id FROM events e
		WHERE part = ?1 AND id >= ?2 AND NOT EXISTS (SELECT 1 FROM records WHERE part = ?1 AND id = e.id) ORDER BY id LIMIT ?3`)
}

// BlobSessions implements [store.Blobs].
func (s *Store) BlobSessions(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "sessions of "+p.String()+" with blobs", p, page, `SELECT DISTINCT session FROM blobs b
		WHERE part = ?1 AND session >= ?2 AND NOT EXISTS (SELECT 1 FROM sessions WHERE part = ?1 AND id = b.session AND expires <= ?4)
		ORDER BY session LIMIT ?3`, s.now().UnixMicro())
}

// ids reads a page of the ids that the query selects, in the order of their bytes.
func (s *Store) ids(ctx context.Context, doing string, p backends.Partition, page store.Page, query string, more ...any) (*store.IDPage, error) {
	if err := checkNames(p, ""); err != nil {
		return nil, err
	}
	within, err := plan.ParseNames("id", "", page.Cursor)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: %s: %w", doing, err)
	}
	out, size := &store.IDPage{}, page.Size()
	err = s.snapshot(ctx, doing, func(c *conn) error {
		part, err := c.partition(p)
		if err != nil {
			return err
		}
		return c.each(ctx, query, append([]any{part.pk, within.Low, size + 1}, more...), func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			out.IDs = append(out.IDs, id)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if len(out.IDs) > size { // one more than asked for: there is a next page
		out.IDs = out.IDs[:size]
		out.Next = plan.NamesCursor(out.IDs[size-1])
	}
	return out, nil
}
