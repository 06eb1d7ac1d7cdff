// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// Store is a [store.Store] in Postgres. Make one with [Open] or [New]. All methods are safe for
// concurrent use; any number of Stores and processes may share a database.
type Store struct {
	pool    *pgxpool.Pool
	opts    Options
	schema  *strings.Replacer
	id      string       // of the storage, see Epoch
	owned   bool         // the pool is closed with the store
	appends atomic.Int64 // see purge

	mu     sync.RWMutex // held for reading by each call, for writing by Close
	closed bool
}

var _ store.Store = (*Store)(nil)

// Close waits for the calls under way. Later calls are ErrUnavailable. A pool that was given to
// New stays open. Closing twice is harmless.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.owned {
		s.pool.Close()
	}
	s.closed = true
	return nil
}

// open returns an error after Close.
func (s *Store) open() error {
	if s.closed {
		return fmt.Errorf("%w: the store is closed", backends.ErrUnavailable)
	}
	return nil
}

// sql returns a statement with the schema's name for each @.
func (s *Store) sql(text string) string { return s.schema.Replace(text) }

// now returns the clock's time in UTC, as it is stored.
func (s *Store) now() time.Time { return s.opts.Clock().UTC() }

// partition is a row of the table partitions. The PK is 0 for a missing one.
type partition struct {
	PK, Version int64
	Records     int64  // how many it has
	Model       []byte // of its embedding; empty before the first vector
	Dim         int64  // of its embedding
	Server      int64  // when the server was started
}

const selectPartition = `SELECT pk, version, records, model, dim, (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
	FROM @partitions WHERE name = $1`

// embedding returns the partition's embedding, nil before the first vector.
func (p *partition) embedding() *store.Embedding {
	if len(p.Model) == 0 {
		return nil
	}
	return &store.Embedding{Model: string(p.Model), Dim: int(p.Dim)}
}

// lock locks the row of the partition, which it creates if it is to. The epochs are read after
// that: a drop that ends later finds what this transaction wrote.
func (t *tx) lock() error {
	for {
		var found []partition
		list(t, &found, rowTo[partition], selectPartition+t.access.lock, t.name)
		if err := t.alive(); err != nil {
			return err
		}
		if len(found) > 0 {
			t.part = found[0]
		}
		if len(found) > 0 || !t.create {
			return nil
		}
		t.exec(`INSERT INTO @partitions (name, namespace, kind, id) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING`,
			t.name, t.p.Namespace, string(t.p.Kind), t.p.ID)
	}
}

// own is the key of the partition with the name $1.
const own = `(SELECT pk FROM @partitions WHERE name = $1)`

// anybody is a partition of a namespace, for a call that uses no row of it.
func anybody(namespace string) backends.Partition {
	return backends.Partition{Namespace: namespace, Kind: backends.PartitionUser, ID: "any"}
}

// Partitions implements [store.Records]. They come in the order of their first writes.
func (s *Store) Partitions(ctx context.Context, namespace string, page store.Page) (*store.PartitionPage, error) {
	// Every record has an event, and so has every tombstone. The data of an expired session
	// is gone with it.
	const query = `SELECT namespace, kind, id, pk FROM @partitions p WHERE namespace = $1 AND pk > $2 AND (
		EXISTS (SELECT 1 FROM @events WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM @records WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM @sessions WHERE part = p.pk AND (expires IS NULL OR expires > $4))
		OR EXISTS (SELECT 1 FROM @blobs b LEFT JOIN @sessions s ON s.part = b.part AND s.id = b.session
			WHERE b.part = p.pk AND (s.expires IS NULL OR s.expires > $4))) ORDER BY pk LIMIT $3`
	type named struct {
		backends.Partition
		PK int64
	}
	return call(ctx, s, &listing, "partitions of "+namespace, anybody(namespace), "", func(t *tx) (*store.PartitionPage, error) {
		after, err := parsePlace(page.Cursor)
		if err != nil {
			return nil, err
		}
		found, err := last(t, rowTo[named], query, namespace, after.part, page.Size()+1, t.now.UnixMicro())
		out := &store.PartitionPage{}
		found, out.Next = plan.Cut(found, page, func(p *named) string { return place{part: p.PK}.String() })
		for _, p := range found {
			out.Partitions = append(out.Partitions, p.Partition)
		}
		return out, err
	})
}

// place is a reader's position: a partition by its key, and the version or session up to which it
// has read there. A partition that is dropped and created again has another key. A server that
// lost writes was restarted or is another one, so its start is another, too; it is 0 in listings.
type place struct{ part, at, server int64 }

func (c place) String() string { return fmt.Sprintf("%d.%d.%d", c.part, c.at, c.server) }

// at is the position of a reader that knows the partition up to a version.
func (p *partition) at(version int64) place { return place{p.PK, version, p.Server} }

// parsePlace reads a cursor. The empty one is the beginning.
func parsePlace(cursor string) (place, error) {
	var c place
	if cursor == "" {
		return c, nil
	}
	if _, err := fmt.Sscanf(cursor, "%d.%d.%d", &c.part, &c.at, &c.server); err != nil || c.String() != cursor {
		return c, fmt.Errorf("cursor %q: %w: not one of this store", cursor, backends.ErrInvalid)
	}
	return c, nil
}

// ids reads a page of ids that a query selects in the order of their bytes. The query's arguments
// are the partition's name, the least id, how many, and more.
func (s *Store) ids(ctx context.Context, doing string, p backends.Partition, page store.Page, query string, more ...any) (*store.IDPage, error) {
	return call(ctx, s, &reading, doing+" of "+p.String(), p, "", func(t *tx) (*store.IDPage, error) {
		within, err := plan.ParseNames("id", "", page.Cursor)
		if err != nil {
			return nil, err
		}
		out := &store.IDPage{}
		found, err := last(t, rowToID, query, append([]any{t.name, []byte(within.Low), page.Size() + 1}, more...)...)
		out.IDs, out.Next = plan.Cut(found, page, func(id *string) string { return plan.NamesCursor(*id) })
		return out, err
	})
}

// rowToID reads an id, which is a bytea.
func rowToID(row pgx.CollectableRow) (string, error) {
	id, err := pgx.RowTo[[]byte](row)
	return string(id), err
}

func bytesOf(ids []string) [][]byte {
	out := make([][]byte, len(ids))
	for i, id := range ids {
		out[i] = []byte(id)
	}
	return out
}
