// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// PutBlob implements [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	doing := fmt.Sprintf("put blob %q of session %q", name, session)
	_, err := call(ctx, s, s.write, doing, p, session, func(c *conn, part partition) (any, error) {
		if err := store.ValidateID("blob", name); err != nil {
			return nil, err
		}
		if data == nil {
			return nil, c.exec(`DELETE FROM blobs WHERE part = ? AND session = ? AND name = ?`, part.pk, session, name)
		}
		if err := c.create(&part); err != nil {
			return nil, err
		}
		row, err := c.session(part, session, s.now())
		if err == nil && row == nil {
			err = c.erase(byName, part.pk, session) // it has expired, if it is there
		}
		if err != nil {
			return nil, err
		}
		r := sealed{owner: part.pk, key: session, text: name, data: data}
		return nil, c.exec(`INSERT INTO blobs (part, session, name, data, sum) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (part, session, name) DO UPDATE SET data = excluded.data, sum = excluded.sum`, r.owner, r.key, r.text, r.data, r.checksum())
	})
	return err
}

// GetBlob implements [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	const query = `SELECT b.part, b.session, b.name, b.data, b.sum FROM blobs b LEFT JOIN sessions s ON s.part = b.part AND s.id = b.session
		WHERE b.part = ? AND b.session = ? AND b.name = ? AND (s.expires IS NULL OR s.expires > ?)`
	return call(ctx, s, s.read, fmt.Sprintf("get blob %q of session %q", name, session), p, session, func(c *conn, part partition) ([]byte, error) {
		if err := store.ValidateID("blob", name); err != nil {
			return nil, err
		}
		rows, err := c.rows(ctx, query, part.pk, session, name, s.now().UnixMicro())
		if err == nil && len(rows) == 0 {
			err = fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		if err != nil {
			return nil, err
		}
		if rows[0].data == nil { // so the driver returns an empty one
			rows[0].data = []byte{}
		}
		return rows[0].data, rows[0].check("blob of session")
	})
}

// blobsQuery reads a range of the index of names. SQLite takes the length of a blob from
// the head of its row, and leaves its data unread.
const blobsQuery = `SELECT b.name, length(b.data) FROM blobs b LEFT JOIN sessions s ON s.part = b.part AND s.id = b.session
	WHERE b.part = ? AND b.session = ? AND b.name >= ? AND b.name < ? AND (s.expires IS NULL OR s.expires > ?)
	ORDER BY b.name LIMIT ?`

// ListBlobs implements [store.Blobs]. The cost of a page depends on its own size alone,
// however many blobs the session has.
func (s *Store) ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page store.Page) (*store.BlobPage, error) {
	return call(ctx, s, s.read, fmt.Sprintf("list blobs of session %q", session), p, session, func(c *conn, part partition) (*store.BlobPage, error) {
		within, err := plan.ParseNames("blob", prefix, page.Cursor)
		if err != nil {
			return nil, err
		}
		out := &store.BlobPage{}
		found, err := collect(ctx, c, func(b *store.BlobInfo) []any { return []any{&b.Name, &b.Size} }, blobsQuery,
			part.pk, session, within.Low, within.High, s.now().UnixMicro(), page.Size()+1)
		out.Blobs, out.Next = plan.Cut(found, page, func(b *store.BlobInfo) string { return plan.NamesCursor(b.Name) })
		return out, err
	})
}

// BlobSessions implements [store.Blobs].
func (s *Store) BlobSessions(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "sessions with blobs", p, page, `SELECT DISTINCT session FROM blobs b
		WHERE part = ?1 AND session >= ?2 AND NOT EXISTS (SELECT 1 FROM sessions WHERE part = ?1 AND id = b.session AND expires <= ?4)
		ORDER BY session LIMIT ?3`)
}
