// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import "context"

// mostFindings is how many lines Check returns.
const mostFindings = 100

// checks select a line for each contradiction between tables.
var checks = []string{
	`SELECT 'partition ' || name || ': ' || (SELECT count(*) FROM @records WHERE part = pk) || ' of ' || records || ' records are there'
		FROM @partitions WHERE records <> (SELECT count(*) FROM @records WHERE part = pk)`,
	`SELECT 'partition ' || name || ': a record is newer than the partition'
		FROM @partitions WHERE version < (SELECT max(version) FROM @records WHERE part = pk)`,
	`SELECT 'partition ' || name || ': a record ' || quote_literal(encode(r.id, 'escape')) || ' is deleted, too'
		FROM @partitions p JOIN @records r ON r.part = p.pk JOIN @tombstones d ON d.part = r.part AND d.id = r.id`,
	`SELECT 'partition ' || name || ', session ' || quote_literal(encode(s.id, 'escape')) || ': ' || m.n || ' of ' || s.last || ' messages are there'
		FROM @partitions p JOIN @sessions s ON s.part = p.pk,
		LATERAL (SELECT count(*) AS n, coalesce(max(seq), 0) AS last FROM @messages WHERE session = s.pk) m WHERE m.n <> s.last OR m.last <> s.last`,
	`SELECT DISTINCT 'partition number ' || part || ' is missing, and has rows' FROM (SELECT part FROM @records UNION SELECT part FROM @tombstones
		UNION SELECT part FROM @events UNION SELECT part FROM @batches UNION SELECT part FROM @sessions UNION SELECT part FROM @blobs) o
		WHERE NOT EXISTS (SELECT 1 FROM @partitions WHERE pk = o.part)`,
	`SELECT DISTINCT 'session number ' || session || ' is missing, and has messages' FROM @messages m
		WHERE NOT EXISTS (SELECT 1 FROM @sessions WHERE pk = m.session AND part = m.part)`,
}

// Check compares the tables with each other: the records of each partition with their number and
// its version, the messages of each session with their number. Every row must have its partition
// and its session. It returns a line for each contradiction, at most 100; the result is empty for
// sound data. Check reads every key in one transaction, and writers go on. Pages and indexes are
// the server's own: pg_amcheck and data checksums look at those.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	out, err := call(ctx, s, &listing, "check", anybody("any"), "", func(t *tx) (found []string, err error) {
		t.exec(`SET LOCAL statement_timeout = 0`)
		for _, query := range checks {
			column(t, &found, query+` LIMIT $1`, mostFindings)
		}
		err = t.finish()
		return found, err
	})
	return out[:min(len(out), mostFindings)], err
}
