// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// mostFindings is how many lines Check returns.
const mostFindings = 100

// allRows selects every row that has a checksum, past the indexes.
var allRows = []struct{ what, query string }{
	{"record", `SELECT part, id, memory, vector, sum FROM records NOT INDEXED`},
	{"tombstone", `SELECT part, id, version, NULL, sum FROM tombstones`},
	{"event of", `SELECT part, id, event, NULL, sum FROM events NOT INDEXED`},
	{"results of batch", `SELECT part, key, results, version, sum FROM batches`},
	{"session", `SELECT part, id, state, NULL, sum FROM sessions NOT INDEXED`},
	{"message", `SELECT session, seq, entry, NULL, sum FROM messages`},
	{"blob of session", `SELECT part, session, name, data, sum FROM blobs NOT INDEXED`},
}

// Check reads the whole file. It compares every index with its table, in both directions, as
// SQLite's integrity_check does. It compares every row with its checksum, and the records of
// each partition with their number. It returns a line for each damage, at most 100; the result
// is empty for a sound file.
//
// Check only reads and may run in the background: it takes one of the connections for
// reading, and writers go on. It sees each table as it was when Check came to it; the "-wal"
// file grows meanwhile. Check takes as long as reading the file twice. The end of ctx ends
// it, between two rows or after integrity_check.
func (s *Store) Check(ctx context.Context) (found []string, err error) {
	err = s.borrow(ctx, s.readers, func(c *conn) error {
		if found, err = column[string](ctx, c, fmt.Sprintf("PRAGMA integrity_check(%d)", mostFindings)); err != nil {
			return err
		}
		if slices.Equal(found, []string{"ok"}) {
			found = nil
		}
		for _, of := range allRows {
			err := c.each(ctx, of.query, nil, func(rows *sql.Rows) error {
				var r sealed
				if err := rows.Scan(r.columns()...); err != nil {
					return err
				}
				if r.check(of.what) != nil && len(found) < mostFindings {
					found = append(found, fmt.Sprintf("%s %q, of number %d: not as it was written", of.what, r.key, r.owner))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		few, err := column[string](ctx, c, `SELECT format('partition %s/%s/%s: %d of %d records are there', namespace, kind, id, coalesce(n, 0), records)
			FROM partitions LEFT JOIN (SELECT part, count(*) AS n FROM records NOT INDEXED GROUP BY part) ON part = pk WHERE coalesce(n, 0) <> records`)
		found = append(found, few...)
		return err
	})
	return found[:min(len(found), mostFindings)], s.describe("check "+s.path, err)
}
