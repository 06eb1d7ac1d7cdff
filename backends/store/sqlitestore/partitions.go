// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// partition is a row of the table partitions. The pk is 0 if there is none yet.
type partition struct {
	backends.Partition
	pk      int64
	version int64
	space   store.Embedding // zero until the first vector
}

// embedding returns a copy of the partition's embedding, nil before there is one.
func (p *partition) embedding() *store.Embedding {
	if p.space == (store.Embedding{}) {
		return nil
	}
	e := p.space
	return &e
}

// partition reads the row of p.
func (c *conn) partition(p backends.Partition) (partition, error) {
	row := partition{Partition: p}
	_, err := c.row(`SELECT pk, version, model, dim FROM partitions WHERE namespace = ? AND kind = ? AND id = ?`,
		[]any{p.Namespace, string(p.Kind), p.ID}, &row.pk, &row.version, &row.space.Model, &row.space.Dim)
	return row, err
}

// create writes the row if there is none yet.
func (c *conn) create(row *partition) (err error) {
	if row.pk == 0 {
		row.pk, err = c.insert(`INSERT INTO partitions (namespace, kind, id) VALUES (?, ?, ?)`, row.Namespace, string(row.Kind), row.ID)
	}
	return err
}

// Drop implements [store.Records].
func (s *Store) Drop(ctx context.Context, p backends.Partition) (store.DropCount, error) {
	return write(ctx, s, "drop "+p.String(), p, "", func(c *conn, part partition) (out store.DropCount, err error) {
		if err := c.purge(ctx, s.now(), -1); err != nil { // expired sessions do not count
			return out, err
		}
		var other int
		for _, step := range []struct {
			query string
			count *int
		}{
			{`DELETE FROM records WHERE part = ?`, &out.Records},
			{`DELETE FROM tombstones WHERE part = ?`, &out.Records},
			{`DELETE FROM messages WHERE session IN (SELECT pk FROM sessions WHERE part = ?)`, &out.Messages},
			{`DELETE FROM sessions WHERE part = ?`, &out.Sessions},
			{`DELETE FROM blobs WHERE part = ?`, &out.Blobs},
			{`DELETE FROM events WHERE part = ?`, &other},
			{`DELETE FROM batches WHERE part = ?`, &other},
			{`DELETE FROM partitions WHERE pk = ?`, &other},
		} {
			n, err := c.exec(step.query, part.pk)
			if err != nil {
				return out, err
			}
			*step.count += int(n)
		}
		return out, nil
	})
}

// Partitions implements [store.Records]. They come in the order in which they
// were first written to.
func (s *Store) Partitions(ctx context.Context, namespace string, page store.Page) (*store.PartitionPage, error) {
	// Every record has an event, and so has every tombstone. What belongs to an
	// expired session is gone with it.
	const query = `SELECT pk, kind, id FROM partitions p WHERE namespace = ?1 AND pk > ?2 AND (
		EXISTS (SELECT 1 FROM events WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM records WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM sessions WHERE part = p.pk AND (expires IS NULL OR expires > ?4))
		OR EXISTS (SELECT 1 FROM blobs b LEFT JOIN sessions s ON s.part = b.part AND s.id = b.session
			WHERE b.part = p.pk AND (s.expires IS NULL OR s.expires > ?4))) ORDER BY pk LIMIT ?3`
	some := backends.Partition{Namespace: namespace, Kind: backends.PartitionUser, ID: "any"} // its row is not used
	return read(ctx, s, "partitions of "+namespace, some, "", func(c *conn, _ partition) (*store.PartitionPage, error) {
		out, after := &store.PartitionPage{}, int64(0)
		if page.Cursor != "" {
			var err error
			if after, err = strconv.ParseInt(page.Cursor, 10, 64); err != nil {
				return nil, fmt.Errorf("cursor %q: %w: not one of this store", page.Cursor, backends.ErrInvalid)
			}
		}
		return out, c.each(ctx, query, []any{namespace, after, page.Size() + 1, s.now().UnixMicro()}, func(rows *sql.Rows) error {
			if len(out.Partitions) == page.Size() { // one more than asked for: there is a next page
				out.Next = strconv.FormatInt(after, 10)
				return nil
			}
			p := backends.Partition{Namespace: namespace}
			err := rows.Scan(&after, &p.Kind, &p.ID)
			out.Partitions = append(out.Partitions, p)
			return err
		})
	})
}

// ids reads a page of the ids that a query selects in the order of their bytes. Its
// arguments are the partition's key, the least id, how many, and the time.
func (s *Store) ids(ctx context.Context, doing string, p backends.Partition, page store.Page, query string) (*store.IDPage, error) {
	return read(ctx, s, doing+" of "+p.String(), p, "", func(c *conn, part partition) (*store.IDPage, error) {
		within, err := plan.ParseNames("id", "", page.Cursor)
		if err != nil {
			return nil, err
		}
		out, size := &store.IDPage{}, page.Size()
		out.IDs, err = column[string](ctx, c, query, part.pk, within.Low, size+1, s.now().UnixMicro())
		if len(out.IDs) > size { // one more than asked for: there is a next page
			out.IDs = out.IDs[:size]
			out.Next = plan.NamesCursor(out.IDs[size-1])
		}
		return out, err
	})
}
