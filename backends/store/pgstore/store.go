// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// Store is a [store.Store] in Postgres. Make one with [Open] or [New]. All methods are safe for
// concurrent use; any number of Stores and processes may share a database.
type Store struct {
	pool   *pgxpool.Pool
	opts   Options
	schema *strings.Replacer
	id     string // of the storage, see Life
	owned  bool   // the pool is closed with the store

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

// sql returns a statement with the schema's name for each @.
func (s *Store) sql(text string) string { return s.schema.Replace(text) }

// now returns the clock's time in UTC, as it is stored.
func (s *Store) now() time.Time { return s.opts.Clock().UTC() }

// read runs fn, which queues queries, in a transaction that sees one state of the database. Their
// rows are there when read returns.
func (s *Store) read(ctx context.Context, doing string, p backends.Partition, session string, fn func(*tx) error) error {
	if err := cmp.Or(p.Validate(), store.ValidateSession(session)); err != nil {
		return describe(doing, err)
	}
	return s.run(ctx, doing, reading, p.String(), fn)
}

// access is how a write begins.
type access struct {
	lock   string // of the partition's row
	create bool   // the row, if it is missing
	erases bool   // also for an operation that began before a drop
}

// Sessions change beside each other, and beside a batch. Batches follow each other. A drop waits
// for all, and all for it.
var (
	updating  = access{lock: ` FOR KEY SHARE`}
	appending = access{lock: ` FOR KEY SHARE`, create: true}
	deleting  = access{lock: ` FOR KEY SHARE`, erases: true}
	batching  = access{lock: ` FOR NO KEY UPDATE`, create: true}
	dropping  = access{lock: ` FOR UPDATE`, create: true, erases: true}
)

// write runs fn in a transaction that has locked the row of p. It refuses an operation that began
// before a drop.
func (s *Store) write(ctx context.Context, doing string, p backends.Partition, session string, a access, fn func(*tx) error) error {
	if err := cmp.Or(p.Validate(), store.ValidateSession(session)); err != nil {
		return describe(doing, err)
	}
	return s.run(ctx, doing, writing, p.String(), func(t *tx) error {
		if err := t.lock(p, a); err != nil {
			return err
		}
		return fn(t)
	})
}

// partition is a row of the table partitions.
type partition struct {
	backends.Partition
	pk      int64
	version int64
	records int64  // how many it has
	model   []byte // of its embedding; empty before the first vector
	dim     int64  // of its embedding
	server  int64  // when the server was started
}

func (p *partition) fields() []any {
	return []any{&p.pk, &p.version, &p.records, &p.model, &p.dim, &p.server}
}

// embedding returns the partition's embedding, nil before the first vector.
func (p *partition) embedding() *store.Embedding {
	if len(p.model) == 0 {
		return nil
	}
	return &store.Embedding{Model: string(p.model), Dim: int(p.dim)}
}

const selectPartition = `SELECT pk, version, records, model, dim, (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
	FROM @partitions WHERE name = $1`

// lock locks the row of p, which it creates if it is to. The lives are read after that: a drop
// that ends later finds what this transaction wrote.
func (t *tx) lock(p backends.Partition, a access) error {
	for {
		var found []partition
		list(t, &found, (*partition).fields, selectPartition+a.lock, t.name)
		alive := t.alive(a)
		if err := t.flush(); err != nil {
			return err
		}
		t.part = partition{Partition: p}
		if len(found) > 0 {
			t.part = found[0]
			t.part.Partition = p
		}
		if len(found) > 0 || !a.create {
			return alive()
		}
		t.exec(`INSERT INTO @partitions (name, namespace, kind, id) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING`,
			t.name, p.Namespace, string(p.Kind), p.ID)
	}
}

// Partitions implements [store.Records]. They come in the order of their first writes.
func (s *Store) Partitions(ctx context.Context, namespace string, page store.Page) (*store.PartitionPage, error) {
	// Every record has an event, and so has every tombstone. The data of an expired session
	// is gone with it.
	const query = `SELECT pk, kind, id FROM @partitions p WHERE namespace = $1 AND pk > $2 AND (
		EXISTS (SELECT 1 FROM @events WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM @records WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM @sessions WHERE part = p.pk AND (expires IS NULL OR expires > $4))
		OR EXISTS (SELECT 1 FROM @blobs b LEFT JOIN @sessions s ON s.part = b.part AND s.id = b.session
			WHERE b.part = p.pk AND (s.expires IS NULL OR s.expires > $4))) ORDER BY pk LIMIT $3`
	doing := "partitions of " + namespace
	some := backends.Partition{Namespace: namespace, Kind: backends.PartitionUser, ID: "any"}
	after, err := parsePlace(page.Cursor)
	if err := cmp.Or(some.Validate(), err); err != nil {
		return nil, describe(doing, err)
	}
	var found []partition
	err = s.run(ctx, doing, reading, everywhere, func(t *tx) error {
		fields := func(p *partition) []any { return []any{&p.pk, &p.Kind, &p.ID} }
		list(t, &found, fields, query, namespace, after.part, page.Size()+1, t.now.UnixMicro())
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &store.PartitionPage{}
	if len(found) > page.Size() { // one more than asked for: there is a next page
		found = found[:page.Size()]
		out.Next = place{part: found[len(found)-1].pk}.String()
	}
	for _, p := range found {
		out.Partitions = append(out.Partitions, backends.Partition{Namespace: namespace, Kind: p.Kind, ID: p.ID})
	}
	return out, nil
}

// place is a reader's position: a partition by its key, and the version or session up to which it
// has read there. A partition that is dropped and created again has another key. A server that
// lost writes was restarted or is another one, so its start is another, too; it is 0 in listings.
type place struct{ part, at, server int64 }

func (c place) String() string { return fmt.Sprintf("%d.%d.%d", c.part, c.at, c.server) }

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

// own is the key of the partition with the name $1.
const own = `(SELECT pk FROM @partitions WHERE name = $1)`

// ids reads a page of ids that a query selects in the order of their bytes. The query's arguments
// are the partition's name, the least id, how many, and more.
func (s *Store) ids(ctx context.Context, doing string, p backends.Partition, page store.Page, query string, more ...any) (*store.IDPage, error) {
	doing += " of " + p.String()
	within, err := plan.ParseNames("id", "", page.Cursor)
	if err := cmp.Or(p.Validate(), err); err != nil {
		return nil, describe(doing, err)
	}
	var found [][]byte
	size := page.Size()
	err = s.read(ctx, doing, p, "", func(t *tx) error {
		column(t, &found, query, append([]any{t.name, []byte(within.Low), size + 1}, more...)...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &store.IDPage{}
	if len(found) > size { // one more than asked for: there is a next page
		found = found[:size]
		out.Next = plan.NamesCursor(string(found[size-1]))
	}
	for _, id := range found {
		out.IDs = append(out.IDs, string(id))
	}
	return out, nil
}
