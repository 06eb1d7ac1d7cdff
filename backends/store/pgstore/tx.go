// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/plan"
)

// tx is one transaction. Statements wait in a queue until an answer is needed, and go to the
// server together: most calls take two or three round trips, however many statements they have.
type tx struct {
	*Store
	ctx   context.Context
	conn  *pgxpool.Conn
	name  string // of the partition of the call, or everywhere
	queue *pgx.Batch
	part  partition // of the call, as it is locked; pk is 0 for a missing one
	now   time.Time
}

// exec queues a statement.
func (t *tx) exec(query string, args ...any) { t.queue.Queue(t.sql(query), args...) }

// count queues a statement, and adds the number of rows that it changes to n.
func (t *tx) count(n *int, query string, args ...any) {
	t.queue.Queue(t.sql(query), args...).Exec(func(tag pgconn.CommandTag) error {
		*n += int(tag.RowsAffected())
		return nil
	})
}

// list queues a query. When the queue is sent, out holds its rows, with the columns in the
// fields that fields names.
func list[T any](t *tx, out *[]T, fields func(*T) []any, query string, args ...any) {
	*out = nil
	t.queue.Queue(t.sql(query), args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var row T
			if err := rows.Scan(fields(&row)...); err != nil {
				return err
			}
			*out = append(*out, row)
		}
		return rows.Err()
	})
}

// column queues a query of one column.
func column[T any](t *tx, out *[]T, query string, args ...any) {
	list(t, out, func(v *T) []any { return []any{v} }, query, args...)
}

// flush sends the queue, and waits for all answers.
func (t *tx) flush() error {
	some := t.queue
	t.queue = &pgx.Batch{}
	return t.conn.SendBatch(t.ctx, some).Close()
}

// everywhere is the name of all partitions together, which none can have.
const everywhere = "*"

// The ways to begin a transaction. Reads see one state of the database. Writes lock the row of
// their partition, so each statement after that sees everything that was committed before.
const (
	reading = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`
	writing = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`

	// settings hold for one transaction. The disk is waited for even if the database's default
	// is otherwise.
	settings = `SELECT set_config('einomem.partition', $1, true), set_config('statement_timeout', $2, true),
		set_config('idle_in_transaction_session_timeout', $2, true),
		CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`
)

// run carries out fn in a transaction on the partition with that name, and repeats it after a
// transient failure. A write whose COMMIT has no answer is left in doubt: the caller knows
// whether a repeat is harmless.
func (s *Store) run(ctx context.Context, doing, begin, name string, fn func(*tx) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return describe(doing, fmt.Errorf("%w: the store is closed", backends.ErrUnavailable))
	}
	return s.retry(ctx, doing, func() error { return s.once(ctx, begin, name, fn) })
}

// retry calls fn again after a transient failure.
func (s *Store) retry(ctx context.Context, doing string, fn func() error) error {
	until := backends.SystemClock().Add(s.opts.Retry)
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		err := ctx.Err()
		if err == nil {
			err = fn()
		}
		if ctx.Err() != nil && err != nil {
			return describe(doing, ctx.Err())
		}
		if err == nil || !transient(err) || !backends.SystemClock().Before(until) {
			return describe(doing, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(rand.N(wait)):
		}
	}
}

// errRollback ends a transaction without a change, and without an error.
var errRollback = errors.New("nothing to commit")

func (s *Store) once(ctx context.Context, begin, name string, fn func(*tx) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // ends a connection that is still in a transaction
	t := &tx{Store: s, ctx: ctx, conn: conn, name: name, queue: &pgx.Batch{}, now: s.now()}
	t.exec(begin)
	t.exec(settings, name, fmt.Sprint(s.opts.Timeout.Milliseconds()))
	if err := fn(t); err != nil {
		t.rollback()
		if errors.Is(err, errRollback) {
			return nil
		}
		return err
	}
	t.exec(`COMMIT`)
	if err = t.flush(); err != nil {
		t.rollback()
	}
	if err != nil && begin == writing && !aborted(err) {
		return fmt.Errorf("%w: no answer to COMMIT: it may be stored: %w", backends.ErrUnavailable, err)
	}
	return err
}

// rollback ends a transaction that is still open, so that the connection can be used again.
func (t *tx) rollback() {
	if t.conn.Conn().IsClosed() || t.conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), t.opts.Timeout)
	defer cancel()
	_, _ = t.conn.Exec(ctx, "ROLLBACK") // else Release ends the connection
}

// code returns the SQLSTATE of a server's error.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// aborted reports whether the server undid the transaction with this error.
func aborted(err error) bool {
	c := code(err)
	return c != "" && !strings.HasPrefix(c, "57P") && !strings.HasPrefix(c, "08")
}

// transient reports whether a repeat may succeed: the failure was before COMMIT, or undid it.
func transient(err error) bool {
	switch c := code(err); c {
	case "40001", "40P01", "57P01", "57P02", "57P03", "53300", "25006": // see reasons
		return !errors.Is(err, backends.ErrUnavailable)
	case "":
		return !plan.IsSentinel(err) // a connection that broke, or that could not be made
	default:
		return strings.HasPrefix(c, "08")
	}
}

// reasons give the cause and the way out for codes of the server, or for their classes.
var reasons = []struct{ code, text string }{
	{"40", "transactions of others were in the way each time: repeat it"},
	{"57014", "the server ended the statement: raise Options.Timeout, or look for a long transaction that holds locks"},
	{"57P", "the server stops or starts: repeat it"},
	{"08", "the connection broke: repeat it"},
	{"25006", "the server is a replica, which only reads: connect to the primary (target_session_attrs=read-write)"},
	{"25P03", "this process hung too long in a transaction: repeat it"},
	{"28", "the server refuses the user: look at its password and at pg_hba.conf"},
	{"3D000", "the database does not exist: create it"},
	{"42501", "the role lacks a right: grant it the tables, or let it create them"},
	{"42", "the tables are not as this code made them: restore a backup"},
	{"53100", "the disk is full: free some space and repeat the call"},
	{"53300", "the server has no free connection: lower pool_max_conns, or raise max_connections"},
	{"53", "the server lacks memory or room"},
	{"XX001", "the data are damaged: restore a backup"},
	{"XX002", "an index is damaged: run REINDEX"},
}

// describe wraps an error with the call's work. Errors of the server and of the connection become
// ErrUnavailable (ErrInvalid for a value that is too big) with the way out. Errors that already
// wrap a sentinel keep it.
func describe(doing string, err error) error {
	switch c := code(err); {
	case err == nil:
		return nil
	case plan.IsSentinel(err):
		return fmt.Errorf("pgstore: %s: %w", doing, err)
	case strings.HasPrefix(c, "54"):
		return fmt.Errorf("pgstore: %s: %w: larger than a value can be: %w", doing, backends.ErrInvalid, err)
	case c != "":
		for _, r := range reasons {
			if strings.HasPrefix(c, r.code) {
				return fmt.Errorf("pgstore: %s: %w: %s: %w", doing, backends.ErrUnavailable, r.text, err)
			}
		}
	}
	return fmt.Errorf("pgstore: %s: %w: %w", doing, backends.ErrUnavailable, err)
}
