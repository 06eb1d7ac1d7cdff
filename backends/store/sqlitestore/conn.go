// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/plan"
)

// conn is one connection with its prepared statements. It is used by one goroutine
// at a time, which took it out of a pool.
//
// Statements run detached from the caller's context: each is short, and an interrupted
// one would leave the outcome open. The context is checked between them.
type conn struct {
	raw   *sql.Conn
	stmts map[string]*sql.Stmt
	freed *atomic.Bool // see Store

	checked partition // the row that was checked last
}

// prepared returns the statement for a query, prepared at its first use. Queries are
// constants, so there are few.
func (c *conn) prepared(query string) (*sql.Stmt, error) {
	if st, ok := c.stmts[query]; ok {
		return st, nil
	}
	st, err := c.raw.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = st
	return st, nil
}

// exec runs a statement.
func (c *conn) exec(query string, args ...any) error {
	_, err := c.count(query, args...)
	return err
}

// count runs a statement and returns how many rows it changed.
func (c *conn) count(query string, args ...any) (int64, error) {
	st, err := c.prepared(query)
	if err != nil {
		return 0, err
	}
	res, err := st.Exec(args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	if n > 0 && (strings.HasPrefix(query, "DELETE") || strings.HasPrefix(query, "UPDATE messages")) { // it may leave bytes behind
		c.freed.Store(true)
	}
	return n, err
}

// row reads at most one row and reports whether there was one.
func (c *conn) row(query string, args []any, dest ...any) (bool, error) {
	st, err := c.prepared(query)
	if err != nil {
		return false, err
	}
	err = st.QueryRow(args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls fn for every row, until an error or the end of ctx.
func (c *conn) each(ctx context.Context, query string, args []any, fn func(*sql.Rows) error) error {
	st, err := c.prepared(query)
	if err != nil {
		return err
	}
	rows, err := st.Query(args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// collect returns the rows of a query, with the columns in the fields that a function names.
func collect[T any](ctx context.Context, c *conn, fields func(*T) []any, query string, args ...any) ([]T, error) {
	var out []T
	err := c.each(ctx, query, args, func(rows *sql.Rows) error {
		var row T
		err := rows.Scan(fields(&row)...)
		out = append(out, row)
		return err
	})
	return out, err
}

// column returns the only column of a query.
func column[T any](ctx context.Context, c *conn, query string, args ...any) ([]T, error) {
	return collect(ctx, c, func(v *T) []any { return []any{v} }, query, args...)
}

// script runs statements that are used too rarely to prepare them.
func (c *conn) script(text string) error {
	_, err := c.raw.ExecContext(context.Background(), text)
	return err
}

// transaction runs fn between begin and COMMIT, and rolls back if it fails.
func (c *conn) transaction(ctx context.Context, begin string, fn func() error) error {
	err := c.exec(begin)
	if err != nil {
		return err
	}
	if err = fn(); err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = c.exec("COMMIT")
	}
	if err != nil {
		_ = c.exec("ROLLBACK") // if it fails, SQLite has rolled back itself
	}
	return err
}

// deadline is the time until which a call that begins now waits for the locks of other
// processes.
func (s *Store) deadline() time.Time { return backends.SystemClock().Add(s.cfg.BusyTimeout) }

// retry calls fn until it finds the file unlocked, ctx ends, or the time until is reached.
// SQLite itself waits for other processes only for a short while. The waiting continues here,
// so it ends with ctx.
func retry(ctx context.Context, until time.Time, fn func() error) error {
	for {
		err := fn()
		switch {
		case err == nil || !isBusy(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !backends.SystemClock().Before(until):
			return err
		}
	}
}

// reasons give the cause and the way out for SQLite's primary result codes.
var reasons = map[int]string{
	sqlite3.SQLITE_BUSY:     "another process holds the file's lock: retry, raise Config.BusyTimeout, or end the other's long transaction",
	sqlite3.SQLITE_READONLY: "the file or its folder is read-only: make both writable",
	sqlite3.SQLITE_PERM:     "access is denied: make the file and its folder readable and writable",
	sqlite3.SQLITE_IOERR:    "the disk cannot be read or written: look at the disk, its mount and the limit on file sizes",
	sqlite3.SQLITE_CORRUPT:  `the file is damaged: put a backup in its place, or save what can be read with the shell's ".recover"`,
	sqlite3.SQLITE_NOTADB:   "the file is not an SQLite database: choose another path",
	sqlite3.SQLITE_FULL:     "the disk is full: free some space and repeat the call",
	sqlite3.SQLITE_CANTOPEN: "the file cannot be opened: look at its folder and the access rights",
	sqlite3.SQLITE_NOMEM:    "memory is exhausted",
	sqlite3.SQLITE_PROTOCOL: "the file's locks do not work: use a local disk, not a network share",
}

func primaryCode(err error) (int, bool) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code() & 0xff, true
}

// errRead is the error of a checkpoint while a reader is in its way.
var errRead = fmt.Errorf("%w: a transaction of another process still reads or writes: repeat it, or end that process", backends.ErrUnavailable)

// isBusy reports whether another process holds a lock.
func isBusy(err error) bool {
	code, ok := primaryCode(err)
	return ok && code == sqlite3.SQLITE_BUSY || errors.Is(err, errRead)
}

// describe wraps an error with the call's work. Errors of SQLite and of the operating
// system become ErrUnavailable (ErrInvalid for a row that is too big) with the way out.
// Errors that already wrap a sentinel keep it.
func (s *Store) describe(doing string, err error) error {
	if err == nil {
		return nil
	}
	if code, ok := primaryCode(err); ok {
		if code == sqlite3.SQLITE_TOOBIG {
			return fmt.Errorf("sqlitestore: %s: %w: larger than a row can be: %w", doing, backends.ErrInvalid, err)
		}
		reason, known := reasons[code]
		if !known {
			reason = "unexpected answer of SQLite"
		}
		return fmt.Errorf("sqlitestore: %s: %w: %s: %s: %w", doing, backends.ErrUnavailable, s.path, reason, err)
	}
	if plan.IsSentinel(err) {
		return fmt.Errorf("sqlitestore: %s: %w", doing, err)
	}
	return fmt.Errorf("sqlitestore: %s: %w: %s: %w", doing, backends.ErrUnavailable, s.path, err)
}
