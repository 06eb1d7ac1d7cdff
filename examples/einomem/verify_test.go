// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVerifyFindsWhatIsLeftOfAPerson(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		dir := t.TempDir()
		receipt, markers, folder := filepath.Join(dir, "receipt.json"), filepath.Join(dir, "markers"), filepath.Join(dir, "folder")
		require.NoError(t, os.WriteFile(markers, []byte("peanuts\n杭州\n\n"), 0o600))
		require.NoError(t, os.Mkdir(folder, 0o700))
		check := func(code int, more ...string) string {
			return calls(t, code, db, append([]string{"verify", "-user", "ann", "-marker", "must not \x1b", "-markers", markers, "-folder", folder}, more...)...)
		}
		before := check(3)
		require.Contains(t, before, "store: user ann")
		require.Contains(t, before, "something is left of user ann")

		calls(t, 0, db, "forget", "-user", "ann", "-yes", "-receipt", receipt)
		require.Regexp(t, `user ann +clean`, check(0, "-receipt", receipt))
		require.Contains(t, calls(t, 2, db, "verify", "-user", "bob", "-receipt", receipt), "the receipt is of user ann")
		require.Contains(t, calls(t, 3, db, "verify", "-user", "李雷"), "something is left")

		dump := filepath.Join(folder, "ann.jsonl.user")
		require.NoError(t, os.WriteFile(dump, nil, 0o600))
		require.Contains(t, check(3), dump)
		require.NoError(t, os.Rename(dump, filepath.Join(folder, "x")))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "x"), []byte("says peanuts"), 0o600))
		require.Contains(t, check(3), filepath.Join(folder, "x"))
	})
}

// A marker that another process left in the "-wal" file, or in the free room of the file, is
// found, although no query returns it.
func TestVerifyReadsWhatNoQueryReturns(t *testing.T) {
	db := talked(t, filepath.Join(t.TempDir(), "memory.db"))
	calls(t, 0, db, "forget", "-user", "ann", "-yes")
	calls(t, 0, db, "verify", "-user", "ann", "-marker", "peanuts")
	require.NoError(t, os.WriteFile(db+"-wal", []byte("…peanuts…"), 0o600))
	require.Contains(t, calls(t, 3, db, "verify", "-user", "ann", "-marker", "peanuts"), "-wal")
}

func TestAFileIsCompacted(t *testing.T) {
	on(t, func(t *testing.T, db string) {
		if filepath.Ext(db) == ".db" || strings.HasPrefix(db, "postgres:") {
			require.Contains(t, calls(t, 0, db, "compact", "-yes"), "compacted")
			return
		}
		require.Contains(t, calls(t, 2, db, "compact"), "this store has none")
	})
}
