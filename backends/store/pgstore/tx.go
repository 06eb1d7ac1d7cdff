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
	begin  string // empty: the call is one statement
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
	reading   = access{} // one query
	paging    = access{begin: toRead}
	listing   = access{all: true} // one query
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
func call[T any](ctx context.Context, s *Store, a access, doing string, p backends.Partition, session string, fn func(*tx) T) (out T, err error) {
	if err = cmp.Or(p.Validate(), store.ValidateSession(session)); err == nil {
		err = s.retry(ctx, func() error {
			out, err = once(ctx, s, a, p, fn)
			return err
		})
	}
	return out, describe(doing, err)
}

// retry calls fn again after a transient failure.
func (s *Store) retry(ctx context.Context, fn func() error) error {
	limit, cancel := context.WithTimeout(ctx, s.opts.Retry)
	defer cancel()
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		err := fmt.Errorf("%w: the store is closed", backends.ErrUnavailable)
		if !s.closed.Load() {
			err = fn()
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err == nil || limit.Err() != nil || !transient(err):
			return err
		}
		select {
		case <-limit.Done():
		case <-time.After(rand.N(wait)):
		}
	}
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
	name    string             // of the partition, or everywhere
	part    partition          // its row, as it is locked
	now     time.Time
	queue   *pgx.Batch
	err     error
	refused error // the error of a call whose transaction is committed: see update
}

// once makes one attempt of a call.
func once[T any](ctx context.Context, s *Store, a access, p backends.Partition, fn func(*tx) T) (out T, err error) {
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
		t.enter()
	}
	if t.err == nil {
		out = fn(t)
	}
	t.finish()
	if err = cmp.Or(t.err, t.refused); err != nil {
		t.rollback()
		return none, err
	}
	return out, nil
}

// check keeps the first error.
func (t *tx) check(err error) { t.err = cmp.Or(t.err, err) }

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
	if t.flush(); doubtful && t.err != nil && !undone(t.err) {
		t.err = fmt.Errorf("%w: no answer to COMMIT: it may be stored: %w", backends.ErrUnavailable, t.err)
	}
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
