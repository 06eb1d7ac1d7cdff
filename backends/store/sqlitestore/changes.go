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

// changesPage is how many records (and tombstones) a page of changes has, before
// it is rounded up to a whole batch.
const changesPage = 1000

// changesCursor is how far a reader has read: of which partition, by its key, which
// a partition that is dropped and created again does not keep, up to which version.
type changesCursor struct{ pk, version int64 }

func (c changesCursor) String() string { return fmt.Sprintf("%d.%d", c.pk, c.version) }

func parseChangesCursor(text string) (changesCursor, error) {
	var c changesCursor
	if text == "" {
		return c, nil
	}
	if _, err := fmt.Sscanf(text, "%d.%d", &c.pk, &c.version); err != nil || c.String() != text {
		return c, fmt.Errorf("cursor %q: %w: not one of this store", text, backends.ErrInvalid)
	}
	return c, nil
}

// Changes implements [store.Records].
func (s *Store) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	return read(ctx, s, "changes of "+p.String(), p, "", func(c *conn, part partition) (out *store.ChangeSet, err error) {
		since, err := parseChangesCursor(cursor)
		if err != nil {
			return nil, err
		}
		if (changesCursor{part.pk, part.version}) == since {
			return &store.ChangeSet{Version: part.version, Cursor: cursor, Embedding: part.embedding()}, nil
		}
		err = c.transaction(ctx, beginRead, func() error {
			return in(c, p, &out, func(c *conn, part partition) (*store.ChangeSet, error) { return c.changes(ctx, part, since) })
		})
		return out, err
	})
}

// changes reads one page. It runs in a read transaction.
func (c *conn) changes(ctx context.Context, part partition, since changesCursor) (*store.ChangeSet, error) {
	out := &store.ChangeSet{Embedding: part.embedding()}
	// A partition of another key was dropped; a version ahead was lost with a restored
	// backup.
	if since.pk != 0 && (since.pk != part.pk || since.version > part.version) {
		since, out.Reset = changesCursor{}, true
	}
	if part.pk == 0 {
		return out, nil
	}
	var err error
	if out.Version, err = c.pageEnd(part, since.version); err != nil {
		return nil, err
	}
	out.Cursor = changesCursor{part.pk, out.Version}.String()
	out.More = out.Version < part.version
	if out.Records, err = c.changed(ctx, part.pk, since.version, out.Version); err != nil {
		return nil, err
	}
	if since.version > 0 { // a reader who knows nothing need not remove anything
		const query = `SELECT id FROM tombstones WHERE part = ? AND version > ? AND version <= ? ORDER BY version, id`
		out.Removed, err = column[string](ctx, c, query, part.pk, since.version, out.Version)
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
	var texts [][]byte
	const query = `SELECT memory, vector FROM records WHERE part = ? AND version > ? AND version <= ? ORDER BY version, pk`
	err := c.each(ctx, query, []any{part, since, upto}, func(rows *sql.Rows) error {
		var text []byte
		var r store.Record
		err := rows.Scan(&text, &r.Vector)
		out, texts = append(out, r), append(texts, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, plan.Each(len(out), func(i int) error { return decode("record", texts[i], &out[i].Memory) })
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
