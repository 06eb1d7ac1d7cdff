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
	return call(ctx, s, &listing, "check", anybody("any"), "", func(t *tx) ([]string, error) {
		t.exec(`SET LOCAL statement_timeout = 0`)
		return last(t, pgx.RowTo[string], contradictions, mostFindings)
	})
}
