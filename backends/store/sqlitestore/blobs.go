// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// PutBlob implements [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	if err := checkBlob(p, session, name); err != nil {
		return err
	}
	return s.write(ctx, fmt.Sprintf("put blob %q of session %q", name, session), func(c *conn) error {
		if data == nil {
			part, err := c.partition(p)
			if err != nil {
				return err
			}
			_, err = c.exec(`DELETE FROM blobs WHERE part = ? AND session = ? AND name = ?`, part.pk, session, name)
			return err
		}
		part, err := c.ensurePartition(p)
		if err != nil {
			return err
		}
		now := s.now()
		row, err := c.session(part, session, now)
		if err != nil {
			return err
		}
		if row == nil {
			if err := c.eraseExpired(part.pk, session); err != nil {
				return err
			}
		}
		_, err = c.exec(`INSERT INTO blobs (part, session, name, data) VALUES (?, ?, ?, ?)
			ON CONFLICT (part, session, name) DO UPDATE SET data = excluded.data`, part.pk, session, name, data)
		return err
	})
}

// GetBlob implements [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	if err := checkBlob(p, session, name); err != nil {
		return nil, err
	}
	data := []byte{}
	err := s.read(ctx, fmt.Sprintf("get blob %q of session %q", name, session), func(c *conn) error {
		const query = `SELECT b.data FROM blobs b JOIN partitions p ON p.pk = b.part
			LEFT JOIN sessions s ON s.part = b.part AND s.id = b.session
			WHERE p.namespace = ? AND p.kind = ? AND p.id = ? AND b.session = ? AND b.name = ? AND (s.expires IS NULL OR s.expires > ?)`
		found, err := c.row(query, []any{p.Namespace, string(p.Kind), p.ID, session, name, s.now().UnixMicro()}, &data)
		if err == nil && !found {
			return fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if data == nil { // the driver's way to hand out an empty one
		data = []byte{}
	}
	return data, nil
}

func checkBlob(p backends.Partition, session, name string) error {
	if err := checkNames(p, session); err != nil {
		return err
	}
	if err := store.ValidateID("blob", name); err != nil {
		return fmt.Errorf("sqlitestore: %w", err)
	}
	return nil
}
