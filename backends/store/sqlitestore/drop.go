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
)

// Drop implements [store.Records].
func (s *Store) Drop(ctx context.Context, p backends.Partition) (store.DropCount, error) {
	if err := checkNames(p, ""); err != nil {
		return store.DropCount{}, err
	}
	var out store.DropCount
	err := s.write(ctx, "drop "+p.String(), func(c *conn) error {
		part, err := c.partition(p)
		if err != nil || !part.exists() {
			return err
		}
		if err := c.sweep(ctx, s.now(), -1); err != nil { // what is gone already does not count
			return err
		}
		out, err = c.drop(part.pk)
		return err
	})
	if err != nil {
		return store.DropCount{}, err
	}
	return out, nil
}

func (c *conn) drop(part int64) (store.DropCount, error) {
	var out store.DropCount
	var ignored int
	for _, step := range []struct {
		query string
		count *int
	}{
		{`DELETE FROM records WHERE part = ?`, &out.Records},
		{`DELETE FROM tombstones WHERE part = ?`, &out.Records},
		{`DELETE FROM messages WHERE session IN (SELECT pk FROM sessions WHERE part = ?)`, &out.Messages},
		{`DELETE FROM sessions WHERE part = ?`, &out.Sessions},
		{`DELETE FROM blobs WHERE part = ?`, &out.Blobs},
		{`DELETE FROM events WHERE part = ?`, &ignored},
		{`DELETE FROM batches WHERE part = ?`, &ignored},
		{`DELETE FROM partitions WHERE pk = ?`, &ignored},
	} {
		n, err := c.exec(step.query, part)
		if err != nil {
			return store.DropCount{}, err
		}
		*step.count += int(n)
	}
	return out, nil
}

// Partitions implements [store.Records]. They come in the order in which they
// were first written to.
func (s *Store) Partitions(ctx context.Context, namespace string, page store.Page) (*store.PartitionPage, error) {
	if err := checkNames(backends.Partition{Namespace: namespace, Kind: backends.PartitionUser, ID: "any"}, ""); err != nil {
		return nil, err
	}
	after := int64(0)
	if page.Cursor != "" {
		var err error
		if after, err = strconv.ParseInt(page.Cursor, 10, 64); err != nil {
			return nil, fmt.Errorf("sqlitestore: partitions: cursor %q: %w: not one of this store", page.Cursor, backends.ErrInvalid)
		}
	}
	out := &store.PartitionPage{}
	err := s.read(ctx, "partitions of "+namespace, func(c *conn) error {
		// Every record has an event, and so has every tombstone. What belongs to an
		// expired session is gone with it.
		const query = `SELECT pk, kind, id FROM partitions p WHERE namespace = ?1 AND pk > ?2 AND (
			EXISTS (SELECT 1 FROM events WHERE part = p.pk)
			OR EXISTS (SELECT 1 FROM sessions WHERE part = p.pk AND (expires IS NULL OR expires > ?4))
			OR EXISTS (SELECT 1 FROM blobs b LEFT JOIN sessions s ON s.part = b.part AND s.id = b.session
				WHERE b.part = p.pk AND (s.expires IS NULL OR s.expires > ?4))) ORDER BY pk LIMIT ?3`
		return c.each(ctx, query, []any{namespace, after, page.Size() + 1, s.now().UnixMicro()}, func(rows *sql.Rows) error {
			if len(out.Partitions) == page.Size() { // one more than asked for: there is a next page
				out.Next = strconv.FormatInt(after, 10)
				return nil
			}
			p := backends.Partition{Namespace: namespace}
			if err := rows.Scan(&after, &p.Kind, &p.ID); err != nil {
				return err
			}
			out.Partitions = append(out.Partitions, p)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
