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

// blobsQuery reads a stretch of the index of names. SQLite knows the length of a
// blob from the head of its row: the data stays where it is.
const blobsQuery = `SELECT b.name, length(b.data) FROM partitions p JOIN blobs b ON b.part = p.pk
	LEFT JOIN sessions s ON s.part = b.part AND s.id = b.session
	WHERE p.namespace = ? AND p.kind = ? AND p.id = ? AND b.session = ? AND b.name >= ? AND b.name < ? AND (s.expires IS NULL OR s.expires > ?)
	ORDER BY b.name LIMIT ?`

// ListBlobs implements [store.Blobs]. A page costs what it returns, however many
// blobs the session has.
func (s *Store) ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page store.Page) (*store.BlobPage, error) {
	if err := checkNames(p, session); err != nil {
		return nil, err
	}
	within, err := plan.ParseNames("blob", prefix, page.Cursor)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: list blobs: %w", err)
	}
	out := &store.BlobPage{}
	size := page.Size()
	err = s.read(ctx, fmt.Sprintf("list blobs of session %q", session), func(c *conn) error {
		args := []any{p.Namespace, string(p.Kind), p.ID, session, within.Low, within.High, s.now().UnixMicro(), size + 1}
		return c.each(ctx, blobsQuery, args, func(rows *sql.Rows) error {
			var b store.BlobInfo
			err := rows.Scan(&b.Name, &b.Size)
			out.Blobs = append(out.Blobs, b)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if len(out.Blobs) > size { // one more than asked for: there is a next page
		out.Blobs = out.Blobs[:size]
		out.Next = plan.NamesCursor(out.Blobs[size-1].Name)
	}
	return out, nil
}
