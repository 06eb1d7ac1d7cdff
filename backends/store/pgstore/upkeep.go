// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	_ "embed" // the check

	"github.com/jackc/pgx/v5"
)

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
	return call(ctx, s, listing, "check", anybody("any"), "", func(t *tx) []string {
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
