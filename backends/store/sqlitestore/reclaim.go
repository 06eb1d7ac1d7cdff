// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"math"
	"time"

	"github.com/einomem/einomem/backends"
)

// Reclaim implements [store.Reclaimer]. SQLite overwrites each cell that it deletes, and keeps
// older copies of cells in the unused middle of pages that it split or merged. Reclaim overwrites
// those copies, and empties the "-wal" file. It reads the file once beside the other calls, half of
// the time at most, and writes in short transactions. A write may have moved a copy meanwhile, so
// that it reads the file again while writes wait: about 0.2 s for 150 MB. It returns at once if all
// processes deleted nothing since the last one. The room of deleted rows is used again;
// [Store.Compact] makes the file smaller. Disks and file systems may keep overwritten bytes: SQLite
// cannot reach those.
//
// Reclaim waits up to [Config].BusyTimeout for a transaction of another process or call
// that still reads the old state. Then the error is ErrUnavailable.
func (s *Store) Reclaim(ctx context.Context) (err error) {
	if s.path == Memory {
		return nil
	}
	select {
	case s.reclaiming <- struct{}{}:
	case <-ctx.Done():
		return s.describe("reclaim", ctx.Err())
	}
	defer func() { <-s.reclaiming }()
	dirty, err := s.dirty(ctx)
	if err != nil || !dirty {
		return s.describe("reclaim", err)
	}
	if err = s.scrub(ctx); err != nil {
		s.freed.Store(true) // the next call begins anew
	}
	return s.describe("reclaim", err)
}

// Compact writes the file anew without unused room (VACUUM). It costs as much as writing the
// whole file, needs its room twice more meanwhile, and makes other writers wait. Reclaim
// calls it once for a file of schema version 2, which has pages of another kind
// (auto_vacuum) until then. It returns the same errors as Reclaim.
func (s *Store) Compact(ctx context.Context) error {
	return s.describe("compact", s.borrow(ctx, s.writer, func(c *conn) error {
		// The file may be larger than memory.
		vacuum := func() error { return c.script("PRAGMA temp_store = FILE; PRAGMA auto_vacuum = NONE; VACUUM") }
		defer func() { _ = c.script("PRAGMA temp_store = MEMORY") }()
		for _, step := range []func() error{c.checkpoint, vacuum, c.checkpoint} {
			if err := retry(ctx, s.deadline(), step); err != nil {
				return err
			}
		}
		return nil
	}))
}

// dirty reports whether this Store, or perhaps another, deleted rows since the last call.
func (s *Store) dirty(ctx context.Context) (dirty bool, err error) {
	err = s.borrow(ctx, s.writer, func(c *conn) error {
		seen := s.version
		_, err := c.row("SELECT data_version FROM pragma_data_version", nil, &s.version) // others' commits change it
		dirty = s.freed.Swap(false) || seen != s.version
		return err
	})
	return dirty, err
}

// scanPages are read in one transaction: while it lasts, the "-wal" file grows.
const scanPages = 1024

const scan = `WITH RECURSIVE some(number) AS (SELECT ?1 UNION ALL SELECT number+1 FROM some
		WHERE number < min(?2, (SELECT page_count FROM pragma_page_count)))
	SELECT pgno, data FROM some JOIN sqlite_dbpage ON pgno = number`

// scrub overwrites the unused middles of pages, and empties the "-wal" file.
func (s *Store) scrub(ctx context.Context) error {
	var moving int
	err := s.read(ctx, func(c *conn) error {
		_, err := c.row(`SELECT auto_vacuum FROM pragma_auto_vacuum`, nil, &moving)
		return err
	})
	if err == nil && moving != 0 {
		return s.Compact(ctx)
	}
	for first, read := int64(1), scanPages; err == nil && read == scanPages; first += scanPages {
		began := backends.SystemClock()
		var soiled []int64
		err = s.read(ctx, func(c *conn) (err error) {
			soiled, read, err = c.soiled(ctx, first, first+scanPages-1)
			return err
		})
		if err == nil && len(soiled) > 0 {
			err = s.erase(ctx, func(c *conn) error { return c.scrub(ctx, first, first+scanPages-1) })
		}
		time.Sleep(backends.SystemClock().Sub(began)) // half of a processor stays free for others
	}
	if err == nil {
		// SQLite gives a page another number where it joins or splits others (balance_nonroot),
		// and a write may have done so since the scan. Now none can.
		err = s.erase(ctx, func(c *conn) error { return c.scrub(ctx, 1, math.MaxInt64) })
	}
	if err != nil {
		return err
	}
	return s.borrow(ctx, s.writer, func(c *conn) error { return retry(ctx, s.deadline(), c.checkpoint) })
}

// soiled reads the pages first to last, as far as there are, and returns the numbers of those
// whose unused middle has content, and how many it read.
func (c *conn) soiled(ctx context.Context, first, last int64) (pages []int64, read int, err error) {
	err = c.each(ctx, scan, []any{first, last}, func(rows *sql.Rows) error {
		var number int64
		var page sql.RawBytes
		err := rows.Scan(&number, &page)
		if gap := unused(number, page); bytes.Count(gap, []byte{0}) < len(gap) {
			pages = append(pages, number)
		}
		read++
		return err
	})
	return pages, read, err
}

// scrub overwrites the unused middles of the pages first to last.
func (c *conn) scrub(ctx context.Context, first, last int64) error {
	pages, _, err := c.soiled(ctx, first, last)
	for _, number := range pages {
		var page []byte
		if err == nil {
			_, err = c.row(`SELECT data FROM sqlite_dbpage WHERE pgno = ?`, []any{number}, &page)
		}
		if err == nil {
			clear(unused(number, page))
			err = c.exec(`UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?`, page, number)
		}
	}
	return err
}

// unused returns the bytes of a page between the places of its cells and the cells, which are
// empty. Only pages of B-trees have them; their first byte marks them. In other pages that
// byte is the highest of a page's number, which these files never reach.
func unused(number int64, page []byte) []byte {
	head := 0
	if number == 1 {
		head = 100 // of the file
	}
	if len(page) < head+12 {
		return nil
	}
	places := head + 8
	switch page[head] {
	case 10, 13: // a leaf
	case 2, 5: // with the number of a further page
		places += 4
	default:
		return nil
	}
	from := places + 2*int(binary.BigEndian.Uint16(page[head+3:]))
	to := int(binary.BigEndian.Uint16(page[head+5:]))
	if to == 0 {
		to = 1 << 16
	}
	if from > to || to > len(page) {
		return nil
	}
	return page[from:to]
}

// checkpoint writes the content of the "-wal" file to the database file, and empties it.
func (c *conn) checkpoint() error {
	var busy, pages, done int
	_, err := c.row("PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy, &pages, &done)
	if err == nil && busy != 0 {
		err = errRead
	}
	return err
}
