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

// Drop implements [store.Records].
func (s *Store) Drop(ctx context.Context, p backends.Partition) (store.DropCount, error) {
	return call(ctx, s, s.erase, "drop "+p.String(), p, "", func(c *conn, part partition) (out store.DropCount, err error) {
		if err := c.purge(s.now(), -1); err != nil { // expired sessions are left out of the count
			return out, err
		}
		var n [8]int64
		for i, from := range [len(n)]string{
			`records WHERE part = ?`,
			`tombstones WHERE part = ?`,
			`messages WHERE session IN (SELECT pk FROM sessions WHERE part = ?)`,
			`sessions WHERE part = ?`,
			`blobs WHERE part = ?`,
			`events WHERE part = ?`,
			`batches WHERE part = ?`,
			`partitions WHERE pk = ?`,
		} {
			if n[i], err = c.count(`DELETE FROM `+from, part.pk); err != nil {
				return out, err
			}
		}
		out = store.DropCount{Records: int(n[0] + n[1]), Messages: int(n[2]), Sessions: int(n[3]), Blobs: int(n[4])}
		return out, c.newEpoch(p, s.now())
	})
}

// Epoch implements [store.Records].
func (s *Store) Epoch(ctx context.Context, p backends.Partition) (string, error) {
	return call(ctx, s, s.read, "epoch of "+p.String(), p, "", func(c *conn, _ partition) (string, error) { return s.epoch(c, p) })
}

// Fence implements [store.Records]. It has no work: every write looks at the epochs of all
// partitions that its operation began in.
func (s *Store) Fence(context.Context, backends.Partition, backends.Partition) error { return nil }

func (s *Store) epoch(c *conn, p backends.Partition) (string, error) {
	now, epoch := s.now(), int64(0)
	_, err := c.row(`SELECT life FROM lives WHERE namespace = ? AND kind = ? AND id = ? AND began > ?`,
		[]any{p.Namespace, string(p.Kind), p.ID, now.Add(-store.KeepEpochs).UnixMicro()}, &epoch)
	return s.id + "." + strconv.FormatInt(epoch, 10), err
}

// alive returns ErrForgotten if a partition was dropped since the operation of ctx began.
func (s *Store) alive(ctx context.Context, c *conn) error {
	for p, began := range store.Epochs(ctx, s.id) {
		epoch, err := s.epoch(c, p)
		if err != nil {
			return err
		}
		if epoch != s.id+".0" && epoch != began {
			return fmt.Errorf("%w: %s was dropped since this began", backends.ErrForgotten, p)
		}
	}
	return nil
}

// newEpoch ends the epoch of a partition, and drops epochs that ended long ago.
func (c *conn) newEpoch(p backends.Partition, now time.Time) error {
	if err := c.exec(`DELETE FROM lives WHERE began <= ?`, now.Add(-store.KeepEpochs).UnixMicro()); err != nil {
		return err
	}
	return c.exec(`INSERT OR REPLACE INTO lives (namespace, kind, id, began) VALUES (?, ?, ?, ?)`,
		p.Namespace, string(p.Kind), p.ID, now.UnixMicro())
}

// Outside lists the places of erased data that are out of reach for the store: see
// [backends.Receipt].
func (s *Store) Outside() []string {
	return []string{"backups and copies of " + s.path, "what the file system and the disk keep of blocks that were overwritten"}
}
