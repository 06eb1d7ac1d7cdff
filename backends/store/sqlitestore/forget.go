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
	return erase(ctx, s, "drop "+p.String(), p, "", func(c *conn, part partition) (out store.DropCount, err error) {
		if err := c.purge(s.now(), -1); err != nil { // expired sessions do not count
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
		return out, c.newLife(p, s.now())
	})
}

// Reclaim implements [store.Reclaimer]. What is deleted is overwritten with zeros at once
// (secure_delete), in the "-wal" file; Reclaim brings that to the file itself, empties
// "-wal" and gives free pages back to the operating system. It costs what was written and
// freed since the last one. A file that a version without checksums began is written anew
// instead (VACUUM), which costs all of it and meanwhile as much room again. What disks and
// file systems keep of bytes that were overwritten is beyond SQLite.
//
// A transaction of another process or call that still reads the old state is waited for up
// to [Config].BusyTimeout, then the error is ErrUnavailable.
func (s *Store) Reclaim(ctx context.Context) error {
	if s.path == Memory {
		return nil
	}
	return s.describe("reclaim", s.borrow(ctx, s.writer, func(c *conn) error {
		if err := c.checkpoint(ctx); err != nil {
			return err
		}
		var incremental int
		if _, err := c.row("SELECT auto_vacuum = 2 FROM pragma_auto_vacuum", nil, &incremental); err != nil {
			return err
		}
		shrink := "PRAGMA incremental_vacuum"
		if incremental == 0 {
			shrink = "VACUUM"
		}
		err := c.retry(ctx, c.deadline(), func() error { return c.script(shrink) })
		if err != nil {
			return err
		}
		return c.checkpoint(ctx)
	}))
}

// checkpoint writes what is in the "-wal" file to the database file, and empties it.
func (c *conn) checkpoint(ctx context.Context) error {
	for until := c.deadline(); ; {
		var busy, pages, done int
		if _, err := c.row("PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy, &pages, &done); err != nil {
			return err
		}
		switch {
		case busy == 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !backends.SystemClock().Before(until):
			return fmt.Errorf("%w: a transaction of another process still reads or writes: repeat it, or end that process", backends.ErrUnavailable)
		}
	}
}

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

// Outside says what keeps erased data that the store does not reach: see
// [backends.Receipt].
func (s *Store) Outside() []string {
	return []string{"backups and copies of " + s.path, "what the file system and the disk keep of blocks that were overwritten"}
}
