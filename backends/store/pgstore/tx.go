// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// access is how a call meets the database.
type access struct {
	begin  string // empty: the call is one statement
	lock   string // of the partition's row
	create bool   // the row, if it is missing
	erases bool   // also for an operation that began before a drop
	of     string // the name of the partition, if it is not the call's
}

const toRead = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

const toWrite = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`

// Reads see one state of the database. Writes lock the row of their partition, so each statement
// after that sees everything that was committed before. Sessions change beside each other, and
// beside a batch. Batches follow each other. A drop waits for all, and all for it.
var (
	reading   = access{} // one query
	paging    = access{begin: toRead}
	listing   = access{of: "*"} // all partitions: one query, or one statement that writes
	updating  = access{begin: toWrite, lock: ` FOR KEY SHARE`}
	appending = access{begin: toWrite, lock: ` FOR KEY SHARE`, create: true}
	deleting  = access{begin: toWrite, lock: ` FOR KEY SHARE`, erases: true}
	batching  = access{begin: toWrite, lock: ` FOR NO KEY UPDATE`, create: true}
	dropping  = access{begin: toWrite, lock: ` FOR UPDATE`, create: true, erases: true}
)

// settings hold for one transaction. The disk is waited for even if the database's default is
// otherwise.
const settings = `SELECT set_config('einomem.partition', $1, true), set_config('statement_timeout', $2, true),
	set_config('idle_in_transaction_session_timeout', $2, true),
	CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`

// call runs fn in a transaction on p, and returns its result, unless an argument is invalid. It
// repeats fn after a transient failure. The result of a failed call is the zero value.
func call[T any](ctx context.Context, s *Store, a access, doing string, p backends.Partition, invalid error, fn func(*tx) T) (out T, err error) {
	if err = cmp.Or(p.Validate(), invalid); err == nil {
		err = s.retry(ctx, func() error {
			out, err = once(ctx, s, a, p, fn)
			return err
		})
	}
	return out, describe(doing, err)
}

// do is call for a work without a result.
func do(ctx context.Context, s *Store, a access, doing string, p backends.Partition, invalid error, fn func(*tx)) error {
	_, err := call(ctx, s, a, doing, p, invalid, func(t *tx) any { fn(t); return nil })
	return err
}

// retry calls fn again after a transient failure.
func (s *Store) retry(ctx context.Context, fn func() error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return fmt.Errorf("%w: the store is closed", backends.ErrUnavailable)
	}
	err := plan.Retry(ctx, s.opts.Retry, transient, fn)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// tx is one transaction. Statements wait in a queue until an answer is needed, and go to the
// server together: most calls take two or three round trips, however many statements they have.
//
// The first error stays. Nothing is sent after it, and queries find nothing. So a call goes on to
// its end, where once looks at the error.
type tx struct {
	*Store
	access
	ctx     context.Context
	conn    *pgxpool.Conn
	p       backends.Partition // of the call
	name    string             // of the partition, or "*"
	part    partition          // its row, as it is locked
	now     time.Time
	queue   *pgx.Batch
	err     error
	refused error // the error of a call whose transaction is committed: see update
}

// once makes one attempt of a call.
func once[T any](ctx context.Context, s *Store, a access, p backends.Partition, fn func(*tx) T) (out T, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return out, err
	}
	defer conn.Release() // ends a connection that is still in a transaction
	t := &tx{Store: s, access: a, ctx: ctx, conn: conn, p: p, name: cmp.Or(a.of, p.String()), now: s.now(), queue: &pgx.Batch{}}
	if a.begin != "" {
		t.exec(a.begin)
	}
	t.exec(settings, t.name, fmt.Sprint(s.opts.Timeout.Milliseconds()))
	if a.lock != "" {
		t.enter()
	}
	if t.err == nil {
		out = fn(t)
	}
	t.finish()
	if err = cmp.Or(t.err, t.refused); err != nil {
		if conn.Conn().PgConn().TxStatus() != 'I' {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout)
			defer cancel()
			_, _ = conn.Exec(end, "ROLLBACK") // so that the connection can be used again
		}
		return *new(T), err
	}
	return out, nil
}

// alive sends the queue. It fails with ErrForgotten if a partition was dropped since the operation
// of the context began in it.
func (t *tx) alive() {
	var names, began, dropped []string
	for p, epoch := range store.Epochs(t.ctx, t.id) {
		names, began = append(names, p.String()), append(began, epoch)
	}
	if len(names) > 0 && !t.erases {
		list(t, &dropped, pgx.RowTo[string], `SELECT name FROM @lives JOIN unnest($1::text[], $2::text[]) AS e (name, epoch) USING (name)
			WHERE began > $3 AND epoch <> $4 || '.' || life`, names, began, t.known(), t.id)
	}
	if t.flush(); len(dropped) > 0 {
		t.check(fmt.Errorf("%w: %s was dropped since this began", backends.ErrForgotten, dropped[0]))
	}
}

// check keeps the first error.
func (t *tx) check(err error) { t.err = cmp.Or(t.err, err) }

// exec queues a statement.
func (t *tx) exec(query string, args ...any) { t.queue.Queue(t.sql(query), args...) }

// list queues a query. When the queue was sent, out has its rows, too.
func list[T any](t *tx, out *[]T, read pgx.RowToFunc[T], query string, args ...any) {
	t.queue.Queue(t.sql(query), args...).Query(func(rows pgx.Rows) (err error) {
		*out, err = pgx.AppendRows(*out, rows, read)
		return err
	})
}

// ask sends the queue with a query, and returns its rows.
func ask[T any](t *tx, read pgx.RowToFunc[T], query string, args ...any) (out []T) {
	list(t, &out, read, query, args...)
	t.flush()
	return out
}

// first returns the zero value if nothing was found.
func first[T any](found []T) (v T) {
	if len(found) > 0 {
		v = found[0]
	}
	return v
}

// only is first for something that must be there.
func only[T any](t *tx, found []T) T {
	if len(found) == 0 {
		t.check(fmt.Errorf("%w: in %s", backends.ErrNotFound, t.p))
	}
	return first(found)
}

// decode returns values that were read as JSON.
func decode[T any](t *tx, what string, texts []string) []T {
	out := make([]T, len(texts))
	t.check(plan.Each(len(out), func(i int) error { return plan.Decode(what, texts[i], &out[i]) }))
	return out
}

// encode returns a value as JSON.
func (t *tx) encode(what string, v any) string {
	text, err := plan.Encode(what, v)
	t.check(err)
	return text
}

// flush sends the queue, and waits for all answers.
func (t *tx) flush() {
	if some := t.queue; t.err == nil && some.Len() > 0 {
		t.queue = &pgx.Batch{}
		t.err = t.conn.SendBatch(t.ctx, some).Close()
	}
}

// finish sends the queue with the end of the transaction, unless that was sent before. A write
// without an answer is left in doubt: the caller knows whether a repeat is harmless.
func (t *tx) finish() {
	doubtful := t.err == nil && t.begin == toWrite
	if t.begin != "" {
		t.exec(`COMMIT`)
	}
	t.begin = ""
	if t.flush(); doubtful && t.err != nil && unclear.MatchString(code(t.err)) {
		t.err = fmt.Errorf("%w: no answer to COMMIT: it may be stored: %w", backends.ErrUnavailable, t.err)
	}
}

// code returns the SQLSTATE of a server's error, empty for another error.
func code(err error) string {
	e := &pgconn.PgError{}
	errors.As(err, &e)
	return e.Code
}

// passing are the codes of failures that a repeat may end, empty for one of the connection: see reasons.
var passing = regexp.MustCompile(`^(|08...|25006|40001|40P01|53300|57P0[123])$`)

// unclear are the codes of failures after which the server may have committed.
var unclear = regexp.MustCompile(`^(|08...|57P..)$`)

// transient reports whether a repeat may succeed: the failure was before COMMIT, or undid it.
func transient(err error) bool { return !plan.IsSentinel(err) && passing.MatchString(code(err)) }

// reason is the cause and the way out for a code of the server, or for a class of codes.
type reason struct{ code, text string }

var reasons = []reason{
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
	{"XX", "the data or an index are damaged: run REINDEX, or restore a backup"},
	{"", "the server is out of reach, or met something unexpected: look at its log"},
}

// describe wraps an error with the call's work. Errors of the server and of the connection become
// ErrUnavailable (ErrInvalid for a value that is too big) with the way out. Errors that already
// wrap a sentinel keep it.
func describe(doing string, err error) error {
	c := code(err)
	switch {
	case err == nil:
		return nil
	case plan.IsSentinel(err):
		return fmt.Errorf("pgstore: %s: %w", doing, err)
	case strings.HasPrefix(c, "54"):
		return fmt.Errorf("pgstore: %s: %w: larger than a value can be: %w", doing, backends.ErrInvalid, err)
	}
	why := slices.IndexFunc(reasons, func(r reason) bool { return strings.HasPrefix(c, r.code) })
	return fmt.Errorf("pgstore: %s: %w: %s: %w", doing, backends.ErrUnavailable, reasons[why].text, err)
}
