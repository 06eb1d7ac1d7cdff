// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"cmp"
	"context"
	_ "embed" // the schema
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/einomem/einomem/backends"
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
	var out Options
	if o != nil {
		out = *o
	}
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
	if err := s.migrate(ctx, tx); err != nil || !s.opts.RowSecurity {
		return err
	}
	return s.secure(ctx, tx)
}

//go:embed schema.sql
var schema string

// ladder holds one script for each step from one schema version to the next: ladder[n:] brings
// a schema of version n up to date. The last statement of a step writes its version.
var ladder = []string{schema}

// migrate carries out the steps that are missing.
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
		return fmt.Errorf("%w: the schema has version %d, and this code knows versions up to %d: update the code", backends.ErrUnavailable, version, len(ladder))
	}
	for _, step := range ladder[version:] {
		if _, err := tx.Conn().PgConn().Exec(ctx, s.sql(step)).ReadAll(); err != nil {
			return err
		}
	}
	return tx.QueryRow(ctx, s.sql(`SELECT id FROM @identity`)).Scan(&s.id)
}

//go:embed secure.sql
var rowSecurity string

// secure turns row security on, and makes sure that it holds for this role.
func (s *Store) secure(ctx context.Context, tx pgx.Tx) error {
	active := false
	_, err := tx.Exec(ctx, s.sql(rowSecurity))
	if err == nil {
		err = tx.QueryRow(ctx, s.sql(`SELECT row_security_active('@partitions')`)).Scan(&active)
	}
	if err == nil && !active {
		err = fmt.Errorf("%w: row security does not hold for this role: choose one that is neither a superuser nor BYPASSRLS", backends.ErrInvalid)
	}
	return err
}
