// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Life implements [store.Records].
func (s *Store) Life(ctx context.Context, p backends.Partition) (string, error) {
	return read(ctx, s, "life of "+p.String(), p, "", func(c *conn, _ partition) (string, error) { return s.life(c, p) })
}

// Fence implements [store.Records]. Every write looks at the lives of all partitions that
// its operation began in.
func (s *Store) Fence(context.Context, backends.Partition, backends.Partition) error { return nil }

func (s *Store) life(c *conn, p backends.Partition) (string, error) {
	now, life := s.now(), int64(0)
	_, err := c.row(`SELECT life FROM lives WHERE namespace = ? AND kind = ? AND id = ? AND began > ?`,
		[]any{p.Namespace, string(p.Kind), p.ID, now.Add(-store.KeepLives).UnixMicro()}, &life)
	return s.id + "." + strconv.FormatInt(life, 10), err
}

// alive returns ErrForgotten if a partition was dropped since the operation of ctx began.
func (s *Store) alive(ctx context.Context, c *conn) error {
	for p, began := range store.Lives(ctx, s.id) {
		life, err := s.life(c, p)
		if err != nil {
			return err
		}
		if life != s.id+".0" && life != began {
			return fmt.Errorf("%w: %s was dropped since this began", backends.ErrForgotten, p)
		}
	}
	return nil
}

// newLife ends the life of a partition, and forgets those that ended long ago.
func (c *conn) newLife(p backends.Partition, now time.Time) error {
	if _, err := c.exec(`DELETE FROM lives WHERE began <= ?`, now.Add(-store.KeepLives).UnixMicro()); err != nil {
		return err
	}
	_, err := c.exec(`INSERT OR REPLACE INTO lives (namespace, kind, id, began) VALUES (?, ?, ?, ?)`,
		p.Namespace, string(p.Kind), p.ID, now.UnixMicro())
	return err
}
