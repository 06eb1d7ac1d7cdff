// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// changesPage is how many records (and tombstones) a page of changes has, before
// it is rounded up to a whole batch.
const changesPage = 1000

// changesCursor says how far a reader is: which incarnation of the partition,
// and up to which version.
type changesCursor struct{ pk, version int64 }

func (c changesCursor) String() string { return fmt.Sprintf("%d.%d", c.pk, c.version) }

func parseChangesCursor(text string) (changesCursor, error) {
	var c changesCursor
	if text == "" {
		return c, nil
	}
	if _, err := fmt.Sscanf(text, "%d.%d", &c.pk, &c.version); err != nil || c.String() != text {
		return c, fmt.Errorf("sqlitestore: changes: cursor %q: %w: not one of this store", text, backends.ErrInvalid)
	}
	return c, nil
}

// Changes implements [store.Records].
func (s *Store) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	if err := checkNames(p, ""); err != nil {
		return nil, err
	}
	since, err := parseChangesCursor(cursor)
	if err != nil {
		return nil, err
	}
	var out *store.ChangeSet
	err = s.read(ctx, "changes of "+p.String(), func(c *conn) error {
		part, err := c.partition(p)
		if err != nil {
			return err
		}
		if (changesCursor{part.pk, part.version}) == since {
			out = &store.ChangeSet{Version: part.version, Cursor: cursor, Embedding: part.space()}
			return nil
		}
		return c.transaction(ctx, beginRead, func() error {
			out, err = c.changes(ctx, p, since)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// changes reads one page. It runs in a read transaction.
func (c *conn) changes(ctx context.Context, p backends.Partition, since changesCursor) (*store.ChangeSet, error) {
	part, err := c.partition(p)
	if err != nil {
		return nil, err
	}
	out := &store.ChangeSet{Embedding: part.space()}
	// Another incarnation was dropped; a version ahead was lost with a restored backup.
	if since.pk != 0 && (since.pk != part.pk || since.version > part.version) {
		since, out.Reset = changesCursor{}, true
	}
	if !part.exists() {
		return out, nil
	}
	if out.Version, err = c.pageEnd(part, since.version); err != nil {
		return nil, err
	}
	out.Cursor = changesCursor{part.pk, out.Version}.String()
	out.More = out.Version < part.version
	if out.Records, err = c.changed(ctx, part.pk, since.version, out.Version); err != nil {
		return nil, err
	}
	if since.version == 0 { // who knows nothing need not forget anything
		return out, nil
	}
	out.Removed, err = c.removed(ctx, part.pk, since.version, out.Version)
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
		if err := rows.Scan(&text, &r.Vector); err != nil {
			return err
		}
		out, texts = append(out, r), append(texts, text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all errgroup.Group
	left := out
	for some := range slices.Chunk(texts, max(minDecode, len(texts)/runtime.GOMAXPROCS(0)+1)) {
		into := left[:len(some)]
		left = left[len(some):]
		all.Go(func() error { return decodeMemories(some, into) })
	}
	return out, all.Wait()
}

// minDecode is how many records are worth a goroutine.
const minDecode = 64

func decodeMemories(texts [][]byte, into []store.Record) error {
	for i, text := range texts {
		if err := decode("record", text, &into[i].Memory); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) removed(ctx context.Context, part, since, upto int64) ([]string, error) {
	var out []string
	const query = `SELECT id FROM tombstones WHERE part = ? AND version > ? AND version <= ? ORDER BY version, id`
	err := c.each(ctx, query, []any{part, since, upto}, func(rows *sql.Rows) error {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		out = append(out, id)
		return nil
	})
	return out, err
}
