// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	_ "embed" // the check
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// erase queues the removal of sessions with their messages and blobs. The transaction must have
// locked them: a message that came since the statement began would stay.
func (t *tx) erase(which string, args ...any) {
	t.exec(`WITH gone AS (DELETE FROM @sessions WHERE `+which+` RETURNING pk, part, id),
		messages AS (DELETE FROM @messages WHERE session IN (SELECT pk FROM gone))
		DELETE FROM @blobs WHERE (part, session) IN (SELECT part, id FROM gone)`, args...)
}

// The cadence of purging: an append in purgeEvery erases up to purgeBatch expired sessions.
const purgeEvery, purgeBatch = 64, 100

// purge erases expired sessions of all partitions, which get no more messages. It leaves locked
// ones to others.
func (s *Store) purge(ctx context.Context) error {
	return do(ctx, s, listing, "erase expired sessions", anybody, "", func(t *tx) {
		t.erase(`pk = ANY (ARRAY(SELECT pk FROM @sessions WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED))`,
			t.now.UnixMicro(), purgeBatch)
	})
}

// Delete implements [store.Sessions].
func (s *Store) Delete(ctx context.Context, p backends.Partition, id string) error {
	return do(ctx, s, deleting, fmt.Sprintf("delete session %q", id), p, id, func(t *tx) {
		t.session(id)
		t.erase(`part = $1 AND id = $2`, t.part.PK, []byte(id))
		t.exec(`DELETE FROM @blobs WHERE part = $1 AND session = $2`, t.part.PK, []byte(id)) // put before the first message
	})
}

// EraseMessages implements [store.Sessions].
func (s *Store) EraseMessages(ctx context.Context, p backends.Partition, id string, seqs ...int64) (int, error) {
	return call(ctx, s, updating, fmt.Sprintf("erase %d messages of session %q", len(seqs), id), p, id, func(t *tx) int {
		row := t.session(id)
		if row.PK == 0 {
			return 0
		}
		entries := ask(t, pgx.RowTo[string], `SELECT entry FROM @messages WHERE session = $1 AND seq = ANY($2)`, row.PK, seqs)
		rests := plan.Erase(row.Session, decode[store.Entry](t, "message", entries))
		for _, e := range rests {
			t.exec(`UPDATE @messages SET entry = $3 WHERE session = $1 AND id = $2`, row.PK, []byte(e.ID), t.encode("message "+e.ID, &e))
		}
		if len(rests) > 0 {
			t.save(row)
		}
		return len(rests)
	})
}

// Drop implements [store.Records].
func (s *Store) Drop(ctx context.Context, p backends.Partition) (store.DropCount, error) {
	return call(ctx, s, dropping, "drop "+p.String(), p, "", func(t *tx) (out store.DropCount) {
		now := t.now.UnixMicro()
		t.erase(`part = $1 AND expires <= $2`, t.part.PK, now) // they are left out of the count
		var n []int
		for _, table := range []string{"records", "tombstones", "sessions", "messages", "blobs", "events", "batches"} {
			list(t, &n, pgx.RowTo[int], `WITH gone AS (DELETE FROM @`+table+` WHERE part = $1 RETURNING 1) SELECT count(*) FROM gone`, t.part.PK)
		}
		t.exec(`DELETE FROM @partitions WHERE pk = $1`, t.part.PK)
		t.exec(`DELETE FROM @lives WHERE life IN (SELECT life FROM @lives WHERE began <= $1 FOR UPDATE SKIP LOCKED)`, t.known())
		t.exec(`INSERT INTO @lives (name, began) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET life = DEFAULT, began = excluded.began`, t.name, now)
		if t.finish(); t.err == nil {
			out = store.DropCount{Records: n[0] + n[1], Sessions: n[2], Messages: n[3], Blobs: n[4]}
		}
		return out
	})
}

// known is the time after which an epoch that began is known.
func (t *tx) known() int64 { return t.now.Add(-store.KeepEpochs).UnixMicro() }

// Epoch implements [store.Records].
func (s *Store) Epoch(ctx context.Context, p backends.Partition) (string, error) {
	return call(ctx, s, reading, "epoch of "+p.String(), p, "", func(t *tx) string {
		found := ask(t, pgx.RowTo[int64], `SELECT life FROM @lives WHERE name = $1 AND began > $2`, t.name, t.known())
		return fmt.Sprintf("%s.%d", s.id, first(found))
	})
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

// Fence implements [store.Records]. Every write looks at the epochs of all partitions that its
// operation began in, so it waits only for the writes that have looked before.
func (s *Store) Fence(ctx context.Context, p, of backends.Partition) error {
	return do(ctx, s, dropping, fmt.Sprintf("fence %s for %s", p, of), p, "", func(*tx) {})
}

// mostFindings is how many lines Check returns.
const mostFindings = 100

//go:embed check.sql
var contradictions string

// Check compares the tables with each other: the records of each partition with their number and
// its version, the messages of each session with their number. Every row must have its partition
// and its session. It returns a line for each contradiction, at most 100; the result is empty for
// sound data. Check reads every key in one transaction, and writers go on. Pages and indexes are
// the server's own: pg_amcheck and data checksums look at those.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	return call(ctx, s, listing, "check", anybody, "", func(t *tx) []string {
		t.exec(`SELECT set_config('statement_timeout', '0', true)`)
		return ask(t, pgx.RowTo[string], contradictions, mostFindings)
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
