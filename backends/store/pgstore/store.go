// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"cmp"
	"context"
	_ "embed" // the schema, and the check
	"fmt"
	"regexp"
	"slices"
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

// Options are the settings of [Open] and [New]. The zero value is ready for use.
type Options struct {
	// Schema is the schema of all tables. It begins with a small letter; small letters, digits
	// and underscores follow. A missing one is created. Optional. Defaults to "einomem".
	Schema string

	// Clock is the time for the ends of leases and sessions. Processes that share a database
	// should agree on it within a second. Optional. Defaults to backends.SystemClock.
	Clock backends.Clock

	// Timeout bounds each statement on the server (statement_timeout), and how long the server
	// keeps the locks of a process that hangs. Optional. Defaults to 30 seconds.
	Timeout time.Duration

	// Retry is how long a call is retried after a transient failure: a deadlock, a conflict of
	// transactions, a connection that broke, a server that restarts. The context ends it
	// earlier. Optional. Defaults to 2 seconds; a negative value turns it off.
	Retry time.Duration

	// RowSecurity turns on row-level security for all tables, for every process from then on. A
	// statement then sees the rows of the partition that its transaction named, even if its
	// own condition is wrong. The role must own the tables, and be subject to row security:
	// neither a superuser nor BYPASSRLS. Optional. Defaults to off.
	RowSecurity bool
}

var legalSchema = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

func (o *Options) withDefaults() (Options, error) {
	out := *cmp.Or(o, &Options{})
	out.Schema = cmp.Or(out.Schema, "einomem")
	out.Timeout = cmp.Or(out.Timeout, 30*time.Second)
	out.Retry = cmp.Or(out.Retry, 2*time.Second)
	if out.Clock == nil {
		out.Clock = backends.SystemClock
	}
	switch {
	case !legalSchema.MatchString(out.Schema):
		return out, fmt.Errorf("pgstore: schema %q: %w: up to 63 small letters, digits and underscores, a letter first", out.Schema, backends.ErrInvalid)
	case out.Timeout < time.Millisecond:
		return out, fmt.Errorf("pgstore: timeout %v: %w: at least a millisecond", out.Timeout, backends.ErrInvalid)
	}
	return out, nil
}

// Open connects to the database of a URL (or of words such as "host=db user=me"), and returns a
// store on it, as [New] does. Close ends the connections.
//
//	postgres://user:password@host:5432/database?sslmode=verify-full
//	postgres://user@host1,host2/database?target_session_attrs=read-write   the primary of a cluster
//
// Settings of pgx go into the query. Without pool_max_conns there are up to 16 connections.
// Without default_query_exec_mode it is cache_describe, which leaves nothing on the server
// between transactions, and so bears PgBouncer.
func Open(ctx context.Context, address string, o *Options) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(address)
	if err != nil { // its text leaves out passwords
		return nil, fmt.Errorf("pgstore: open: %w: want a URL such as postgres://user@localhost:5432/database: %w", backends.ErrInvalid, err)
	}
	if !strings.Contains(address, "pool_max_conns") {
		cfg.MaxConns = 16
	}
	if !strings.Contains(address, "default_query_exec_mode") {
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, describe("open", err)
	}
	s, err := New(ctx, pool, o)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.owned = true
	return s, nil
}

// New returns a store on a pool, and brings its schema up to date. The pool stays the caller's:
// Close leaves it open. A nil o means the defaults.
//
// The error is ErrInvalid for settings or a database that cannot be used. It is ErrUnavailable
// for a server that is out of reach or refuses, and for a schema of a newer version of this
// package.
func New(ctx context.Context, pool *pgxpool.Pool, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if pool == nil {
		return nil, fmt.Errorf("pgstore: %w: no pool: pass one, or use Open with a URL", backends.ErrInvalid)
	}
	s := &Store{pool: pool, opts: opts, schema: strings.NewReplacer("@schema", `"`+opts.Schema+`"`, "@", `"`+opts.Schema+`".`)}
	err = s.retry(ctx, func() error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return s.prepare(ctx, tx) })
	})
	if err != nil {
		return nil, describe("open", err)
	}
	return s, nil
}

// prepare looks at the server and brings the schema up to date, while other processes wait for it.
func (s *Store) prepare(ctx context.Context, tx pgx.Tx) error {
	const look = `SELECT current_setting('server_encoding'), current_setting('server_version_num')::int / 10000,
		pg_advisory_xact_lock(hashtext('einomem schema'), hashtext($1))::text`
	var encoding string
	var server int
	err := tx.QueryRow(ctx, look, s.opts.Schema).Scan(&encoding, &server, nil)
	switch {
	case err != nil:
		return err
	case encoding != "UTF8":
		return fmt.Errorf("%w: the database's encoding is %s: create one with ENCODING 'UTF8' TEMPLATE template0", backends.ErrInvalid, encoding)
	case server < 13:
		return fmt.Errorf("%w: the server has version %d: 13 is the oldest", backends.ErrInvalid, server)
	}
	return s.migrate(ctx, tx)
}

//go:embed schema.sql
var schema string

//go:embed secure.sql
var rowSecurity string

// ladder holds one script for each step from one schema version to the next: ladder[n:] brings
// a schema of version n up to date. The last statement of a step writes its version.
var ladder = []string{schema}

// migrate carries out the steps that are missing, and turns row security on.
func (s *Store) migrate(ctx context.Context, tx pgx.Tx) error {
	const tables = `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = $1 AND relname = 'identity'`
	version := 0
	err := tx.QueryRow(ctx, tables, s.opts.Schema).Scan(&version) // to_regclass may answer from a cache of before the lock
	if err == nil && version > 0 {
		err = tx.QueryRow(ctx, s.sql(`SELECT version FROM @identity`)).Scan(&version)
	}
	switch {
	case err != nil:
		return err
	case version > len(ladder):
		return fmt.Errorf("%w: the schema has version %d, and this code knows up to %d: update the code", backends.ErrUnavailable, version, len(ladder))
	}
	steps := ladder[version:]
	if s.opts.RowSecurity {
		steps = append(slices.Clip(steps), rowSecurity)
	}
	for _, step := range steps {
		if _, err := tx.Conn().PgConn().Exec(ctx, s.sql(step)).ReadAll(); err != nil {
			return err
		}
	}
	secure := false
	err = tx.QueryRow(ctx, s.sql(`SELECT id, row_security_active('@partitions') FROM @identity`)).Scan(&s.id, &secure)
	if err == nil && s.opts.RowSecurity && !secure {
		err = fmt.Errorf("%w: row security does not hold for this role: choose one that is neither a superuser nor BYPASSRLS", backends.ErrInvalid)
	}
	return err
}

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

//go:embed check.sql
var contradictions string

// Check compares the tables with each other: the records of each partition with their number and
// its version, the messages of each session with their number. Every row must have its partition
// and its session. It returns a line for each contradiction, at most 100; the result is empty for
// sound data. Check reads every key in one transaction, and writers go on. Pages and indexes are
// the server's own: pg_amcheck and data checksums look at those.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	return call(ctx, s, listing, "check", anybody, nil, func(t *tx) []string {
		t.exec(`SELECT set_config('statement_timeout', '0', true)`)
		return ask(t, pgx.RowTo[string], contradictions)
	})
}

// Outside lists the places of erased data that are out of reach for a transaction: see
// [backends.Receipt].
func (s *Store) Outside() []string {
	return []string{
		"Postgres, tables: deleted rows keep their bytes until VACUUM FULL of schema " + s.opts.Schema + " (Store.Compact)",
		"Postgres, write-ahead log: run CHECKPOINT and pg_switch_wal; archived files keep what was erased",
		"Postgres, replicas: they follow the primary",
		"Postgres, logs, if the server logs parameters of statements",
		"backups and copies of the database, and what the file system and the disk keep of blocks that were freed",
	}
}

// Compact writes every table anew without deleted rows (VACUUM FULL), and so erases their bytes in
// tables, indexes and overflow tables. Calls of all processes wait while it writes a table. It
// needs room for the largest table twice, and a role that owns the tables. The end of ctx ends
// it. Rows that a transaction of another program still sees stay: repeat it when that has ended.
func (s *Store) Compact(ctx context.Context) error {
	return describe("compact", s.retry(ctx, func() error {
		_, err := s.pool.Exec(ctx, s.sql(`VACUUM (FULL) @lives, @partitions, @records, @tombstones, @events, @batches, @sessions, @messages, @blobs`))
		return err
	}))
}

// sql returns a statement with the schema's name for each @.
func (s *Store) sql(text string) string { return s.schema.Replace(text) }

// now returns the clock's time in UTC, as it is stored.
func (s *Store) now() time.Time { return s.opts.Clock().UTC() }

// partition is a row of the table partitions. The PK is 0 for a missing one.
type partition struct {
	backends.Partition
	PK, Version int64
	Records     int64  // how many it has
	Model       []byte // of its embedding; empty before the first vector
	Dim         int64  // of its embedding
	Server      int64  // when the server was started
}

const selectPartition = `SELECT namespace, kind, id, pk, version, records, model, dim,
	(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint FROM @partitions p WHERE `

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
		list(t, &found, pgx.RowToStructByPos, selectPartition+`name = $1`+t.lock, t.name)
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

// anybody is a partition for a call on all, which uses no row of it.
var anybody = backends.Partition{Namespace: "any", Kind: backends.PartitionUser, ID: "any"}

// Partitions implements [store.Records]. They come in the order of their first writes.
func (s *Store) Partitions(ctx context.Context, namespace string, page store.Page) (*store.PartitionPage, error) {
	// Every record has an event, and so has every tombstone. The data of an expired session
	// is gone with it.
	const query = selectPartition + `namespace = $1 AND pk > $2 AND (
		EXISTS (SELECT 1 FROM @events WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM @records WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM @sessions WHERE part = p.pk AND (expires IS NULL OR expires > $4))
		OR EXISTS (SELECT 1 FROM @blobs b LEFT JOIN @sessions s ON s.part = b.part AND s.id = b.session
			WHERE b.part = p.pk AND (s.expires IS NULL OR s.expires > $4))) ORDER BY pk LIMIT $3`
	within := anybody
	within.Namespace = namespace
	return call(ctx, s, listing, "partitions of "+namespace, within, nil, func(t *tx) *store.PartitionPage {
		var after int64
		t.check(plan.ParseCursor(page.Cursor, &after))
		found := ask(t, pgx.RowToStructByPos[partition], query, namespace, after, page.Size()+1, t.now.UnixMicro())
		out := &store.PartitionPage{}
		found, out.Next = plan.Cut(found, page, func(p *partition) string { return plan.Cursor(p.PK) })
		for _, p := range found {
			out.Partitions = append(out.Partitions, p.Partition)
		}
		return out
	})
}

// at is the cursor of a reader that knows the partition up to a version. A partition that is dropped
// and created again has another key. A server that lost writes was restarted or is another one, so
// its start is another, too.
func (p *partition) at(version int64) string { return plan.Cursor(p.PK, version, p.Server) }

// ids reads a page of ids that a query selects in the order of their bytes. The query's arguments
// are the partition's name, the least id, how many, and more.
func (s *Store) ids(ctx context.Context, doing string, p backends.Partition, page store.Page, query string, more ...any) (*store.IDPage, error) {
	return call(ctx, s, reading, doing+" of "+p.String(), p, nil, func(t *tx) *store.IDPage {
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
