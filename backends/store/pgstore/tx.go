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
func call[T any](ctx context.Context, s *Store, a *access, doing string, p backends.Partition, session string, fn func(*tx) (T, error)) (out T, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err = cmp.Or(s.open(), p.Validate(), store.ValidateSession(session)); err == nil {
		err = s.retry(ctx, func() error {
			out, err = once(ctx, s, a, p, fn)
			return err
		})
	}
	return out, describe(doing, err)
}

// retry calls fn again after a transient failure.
func (s *Store) retry(ctx context.Context, fn func() error) error {
	until := backends.SystemClock().Add(s.opts.Retry)
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		err := fn()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !transient(err) || !backends.SystemClock().Before(until):
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
	p     backends.Partition // of the call
	name  string             // of the partition, or everywhere
	part  partition          // its row, as it is locked
	now   time.Time
	queue *pgx.Batch
	err   error // of a value that could not be encoded
	over  bool  // finish was called
}

// once makes one attempt of a call. The result of a failed one is the zero value.
func once[T any](ctx context.Context, s *Store, a *access, p backends.Partition, fn func(*tx) (T, error)) (out T, err error) {
	var none T
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return none, err
	}
	defer conn.Release() // ends a connection that is still in a transaction
	t := &tx{Store: s, access: a, ctx: ctx, conn: conn, p: p, name: p.String(), now: s.now(), queue: &pgx.Batch{}}
	if a.all {
		t.name = everywhere
	}
	if a.begin != "" {
		t.exec(a.begin)
	}
	t.exec(settings, t.name, fmt.Sprint(s.opts.Timeout.Milliseconds()))
	if a.lock != "" {
		err = t.lock()
	}
	if err == nil {
		out, err = fn(t)
	}
	if err == nil && !t.over {
		err = t.finish()
	}
	if err != nil {
		t.rollback()
		return none, err
	}
	return out, nil
}

// exec queues a statement.
func (t *tx) exec(query string, args ...any) { t.queue.Queue(t.sql(query), args...) }

// rowTo reads a row into the fields of a T, by their order.
func rowTo[T any](row pgx.CollectableRow) (T, error) { return pgx.RowToStructByPos[T](row) }

// list queues a query. When the queue was sent, out has its rows, too.
func list[T any](t *tx, out *[]T, read pgx.RowToFunc[T], query string, args ...any) {
	t.queue.Queue(t.sql(query), args...).Query(func(rows pgx.Rows) (err error) {
		*out, err = pgx.AppendRows(*out, rows, read)
		return err
	})
}

// ask sends the queue with a query, and returns its rows.
func ask[T any](t *tx, read pgx.RowToFunc[T], query string, args ...any) (out []T, err error) {
	list(t, &out, read, query, args...)
	err = t.flush()
	return out, err
}

// last is ask with the end of the transaction.
func last[T any](t *tx, read pgx.RowToFunc[T], query string, args ...any) (out []T, err error) {
	list(t, &out, read, query, args...)
	err = t.finish()
	return out, err
}

// values sends the queue with a query of JSON, by flush or finish, and returns its values.
func values[T any](t *tx, send func() error, what, query string, args ...any) ([]T, error) {
	var texts []string
	list(t, &texts, pgx.RowTo[string], query, args...)
	if err := send(); err != nil {
		return nil, err
	}
	return decode[T](what, texts)
}

func decode[T any](what string, texts []string) ([]T, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	out := make([]T, len(texts))
	return out, plan.Each(len(out), func(i int) error { return plan.Decode(what, texts[i], &out[i]) })
}

// encode returns a value as JSON. An error of it fails the transaction.
func (t *tx) encode(what string, v any) string {
	text, err := plan.Encode(what, v)
	t.err = cmp.Or(t.err, err)
	return text
}

// flush sends the queue, and waits for all answers.
func (t *tx) flush() error {
	some := t.queue
	if t.err != nil || some.Len() == 0 {
		return t.err
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
	if err != nil && t.err == nil && t.begin == toWrite && !undone(err) {
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
