// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// An index that has one row twice and another not at all is served by no read, and Check
// reports it.
func TestAnIndexThatHasARowTwice(t *testing.T) {
	for index, of := range map[string]struct{ table, columns, two string }{
		"records_changed":             {"records", "part, version", "id IN ('r20', 'r40')"},
		"sqlite_autoindex_records_1":  {"records", "part, id", "id IN ('r20', 'r40')"},
		"events_of":                   {"events", "part, id", "id IN ('r20', 'r40')"},
		"sqlite_autoindex_sessions_1": {"sessions", "part, id", "id IN ('s1', 's3')"},
		"sqlite_autoindex_blobs_1":    {"blobs", "part, session, name", "name IN ('b20', 'b40')"},
	} {
		t.Run(index, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mem.db")
			fill(t, path)
			s, err := sqlitestore.Open(t.Context(), path, nil)
			require.NoError(t, err)
			truth, errs := answers(s)
			require.Empty(t, errs)
			require.NoError(t, s.Close())
			// A table without row ids is stored as an index is.
			raw(t, path, strings.NewReplacer("$table", of.table, "$columns", of.columns, "$two", of.two, "$index", index).Replace(`
				CREATE TABLE shadow ($columns, key, PRIMARY KEY ($columns, key)) WITHOUT ROWID;
				INSERT INTO shadow SELECT $columns, CASE pk WHEN (SELECT min(pk) FROM $table WHERE $two) THEN (SELECT max(pk) FROM $table WHERE $two) ELSE pk END
					FROM $table NOT INDEXED;
				PRAGMA writable_schema = ON;
				UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'shadow') WHERE name = '$index'`))
			s = open(t, path, nil)
			found, err := s.Check(t.Context())
			require.NoError(t, err)
			require.Contains(t, fmt.Sprint(found), index)
			got, errs := answers(s)
			require.NotEmpty(t, errs)
			for what, answer := range got {
				if what != "blobs" { // sizes in a list have no checksum
					require.Equal(t, truth[what], answer, what)
				}
			}
			for _, err := range errs {
				require.ErrorIs(t, err, backends.ErrUnavailable)
				require.ErrorContains(t, err, "damaged")
			}
		})
	}
}

// Check reads what no read has asked for yet: content that is not as it was written, and rows
// that are missing together with their entries in all indexes.
func TestCheckReadsEveryChecksum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	fill(t, path)
	s := open(t, path, nil)
	found, err := s.Check(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	for _, change := range []struct{ statement, says string }{
		{"UPDATE records SET memory = replace(memory, 'text', 'test') WHERE id = 'r7'", `record "r7"`},
		{"UPDATE records SET vector = x'00' WHERE id = 'r9'", `record "r9"`},
		{"UPDATE events SET event = replace(event, 'added', 'edded') WHERE id = 'r3'", `event of "r3"`},
		{"UPDATE batches SET version = 1 WHERE key = 'k5'", `results of batch "k5"`},
		{"UPDATE sessions SET state = replace(state, '1', '2') WHERE id = 's2'", `session "s2"`},
		{"UPDATE messages SET entry = replace(entry, 'm8', 'm9') WHERE id = 'm8'", `message "2"`},
		{"UPDATE blobs SET data = x'00' WHERE name = 'b4'", `blob of session "s1"`},
		{"DELETE FROM records WHERE id = 'r30'", "59 of 60 records are there"},
	} {
		raw(t, path, change.statement)
		found, err = s.Check(t.Context())
		require.NoError(t, err)
		require.Contains(t, strings.Join(found, "\n"), change.says)
	}
	require.Len(t, found, 8)
}

// Check runs in the background: others write meanwhile, and the end of its context ends it.
func TestCheckInTheBackground(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mem.db")
	fill(t, path)
	s := open(t, path, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		for {
			found, err := s.Check(ctx)
			if err == nil && len(found) > 0 {
				err = fmt.Errorf("found %v", found)
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	for i := range 100 {
		apply(t, s, put(fmt.Sprint("x", i%7), fmt.Sprint(i)))
	}
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}
