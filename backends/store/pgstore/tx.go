// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
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
	begin  string
	lock   string // of the partition's row
	create bool   // the row, if it is missing
	erases bool   // also for an operation that began before a drop
	all    bool   // partitions
}

const (
	toRead  = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`
	toWrite = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`
)

// Reads see one state of the database. Writes lock the row of their partition, so each statement
// after that sees everything that was committed before. Sessions change beside each other, and
// beside a batch. Batches follow each other. A drop waits for all, and all for it.
var (
	glancing  = access{} // one query
	reading   = access{begin: toRead}
	listing   = access{begin: toRead, all: true}
	purging   = access{begin: toWrite, all: true}
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

// everywhere stands for the name of all partitions, which none can have.
const everywhere = "*"

// call runs fn in a transaction on p, if the names are legal, and returns its result. It repeats fn
// after a transient failure. The result of a failed call is the zero value.
func call[T any](ctx context.Context, s *Store, a *access, doing string, p backends.Partition, session string, fn func(*tx) (T, error)) (T, error) {
	var out, none T
	s.mu.RLock()
	defer s.mu.RUnlock()
	err := cmp.Or(p.Validate(), store.ValidateSession(session))
	if s.closed {
		err = fmt.Errorf("%w: the store is closed", backends.ErrUnavailable)
	}
	if err == nil {
		err = s.retry(ctx, func() (err error) {
			out, err = once(ctx, s, a, p, fn)
			return err
		})
	}
	if err != nil {
		return none, describe(doing, err)
	}
	return out, nil
}

// retry calls fn again after a transient failure.
func (s *Store) retry(ctx context.Context, fn func() error) error {
	until := backends.SystemClock().Add(s.opts.Retry)
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		err := ctx.Err()
		if err == nil {
			err = fn()
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil || !transient(err) || !backends.SystemClock().Before(until) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(rand.N(wait)):
		}
	}
}

// tx is one transaction. Statements wait in a queue until an answer is needed, and go to the
// server together: most calls take two or three round trips, however many statements they have.
type tx struct {
	*Store
	*access
	ctx   context.Context
	conn  *pgxpool.Conn
	name  string // of the partition of the call, or everywhere
	queue *pgx.Batch
	part  partition // of the call, as it is locked
	now   time.Time
	over  bool // finish was called
}

func once[T any](ctx context.Context, s *Store, a *access, p backends.Partition, fn func(*tx) (T, error)) (out T, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return out, err
	}
	defer conn.Release() // ends a connection that is still in a transaction
	t := &tx{Store: s, access: a, ctx: ctx, conn: conn, name: p.String(), queue: &pgx.Batch{}, now: s.now()}
	if a.all {
		t.name = everywhere
	}
	if a.begin != "" {
		t.exec(a.begin)
	}
	t.exec(settings, t.name, fmt.Sprint(s.opts.Timeout.Milliseconds()))
	if a.lock != "" {
		err = t.lock(p)
	}
	if err == nil {
		out, err = fn(t)
	}
	if err == nil && !t.over {
		err = t.finish()
	}
	if err != nil {
		t.rollback()
	}
	return out, err
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

// list queues a query. When the queue was sent, out holds its rows, with the columns in the fields
// that fields names.
func list[T any](t *tx, out *[]T, fields func(*T) []any, query string, args ...any) {
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

// values returns what a query of JSON selects. It is the last statement of a transaction.
func values[T any](t *tx, what, query string, args ...any) ([]T, error) {
	var texts []string
	column(t, &texts, query, args...)
	if err := t.finish(); err != nil || len(texts) == 0 {
		return nil, err
	}
	return decode[T](what, texts)
}

func decode[T any](what string, texts []string) ([]T, error) {
	out := make([]T, len(texts))
	return out, plan.Each(len(out), func(i int) error { return plan.Decode(what, texts[i], &out[i]) })
}

// flush sends the queue, and waits for all answers.
func (t *tx) flush() error {
	some := t.queue
	if some.Len() == 0 {
		return nil
	}
	t.queue = &pgx.Batch{}
	return t.conn.SendBatch(t.ctx, some).Close()
}

// finish sends the queue with the end of the transaction. A write without an answer is left in
// doubt: the caller knows whether a repeat is harmless.
func (t *tx) finish() error {
	t.over = true
	if t.begin != "" {
		t.exec(`COMMIT`)
	}
	err := t.flush()
	if err != nil && t.begin == toWrite && !undone(err) {
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
