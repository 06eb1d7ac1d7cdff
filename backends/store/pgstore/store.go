// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"fmt"
	"strings"
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
	id      string // of the storage, see Epoch
	owned   bool   // the pool is closed with the store
	closed  atomic.Bool
	appends atomic.Int64 // see purge
}

var _ store.Store = (*Store)(nil)

// Close ends the store: later calls are ErrUnavailable. Calls under way finish first where the
// pool is the store's own. A pool that was given to New stays open.
func (s *Store) Close() error {
	if !s.closed.Swap(true) && s.owned {
		s.pool.Close()
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

// enter locks the row of the partition, which it creates if it is to. The epochs are read after
// that: a drop that ends later finds what this transaction wrote.
func (t *tx) enter() {
	for {
		var found []partition
		list(t, &found, rowTo[partition], selectPartition+t.lock, t.name)
		t.alive()
		if t.part = first(found); t.part.PK != 0 || !t.create || t.err != nil {
			return
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
	return call(ctx, s, listing, "partitions of "+namespace, anybody(namespace), "", func(t *tx) *store.PartitionPage {
		after, err := parsePlace(page.Cursor)
		t.check(err)
		found := ask(t, rowTo[named], query, namespace, after.part, page.Size()+1, t.now.UnixMicro())
		out := &store.PartitionPage{}
		found, out.Next = plan.Cut(found, page, func(p *named) string { return place{part: p.PK}.String() })
		for _, p := range found {
			out.Partitions = append(out.Partitions, p.Partition)
		}
		return out
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
func parsePlace(cursor string) (c place, err error) {
	_, _ = fmt.Sscanf(cursor, "%d.%d.%d", &c.part, &c.at, &c.server)
	if cursor != "" && cursor != c.String() {
		err = fmt.Errorf("cursor %q: %w: not one of this store", cursor, backends.ErrInvalid)
	}
	return c, err
}

// ids reads a page of ids that a query selects in the order of their bytes. The query's arguments
// are the partition's name, the least id, how many, and more.
func (s *Store) ids(ctx context.Context, doing string, p backends.Partition, page store.Page, query string, more ...any) (*store.IDPage, error) {
	return call(ctx, s, reading, doing+" of "+p.String(), p, "", func(t *tx) *store.IDPage {
		within, err := plan.ParseNames("id", "", page.Cursor)
		t.check(err)
		out := &store.IDPage{}
		found := ask(t, rowToID, query, append([]any{t.name, []byte(within.Low), page.Size() + 1}, more...)...)
		out.IDs, out.Next = plan.Cut(found, page, func(id *string) string { return plan.NamesCursor(*id) })
		return out
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
