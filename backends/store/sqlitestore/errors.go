// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/einomem/einomem/backends"
)

// reasons say, by SQLite's primary result code, what went wrong and the way out.
var reasons = map[int]string{
	sqlite3.SQLITE_BUSY:     "another process holds the file's lock: retry, raise Config.BusyTimeout, or end the other's long transaction",
	sqlite3.SQLITE_LOCKED:   "a table is locked: retry",
	sqlite3.SQLITE_READONLY: "the file or its folder is read-only: make both writable",
	sqlite3.SQLITE_PERM:     "access is denied: make the file and its folder readable and writable",
	sqlite3.SQLITE_AUTH:     "access is denied: make the file and its folder readable and writable",
	sqlite3.SQLITE_IOERR:    "the disk cannot be read or written: look at the disk, its mount and the limit on file sizes",
	sqlite3.SQLITE_CORRUPT:  `the file is damaged: put a backup in its place, or save what can be read with the shell's ".recover"`,
	sqlite3.SQLITE_NOTADB:   "the file is not an SQLite database: choose another path",
	sqlite3.SQLITE_FULL:     "the disk is full: free some space and repeat the call",
	sqlite3.SQLITE_CANTOPEN: "the file cannot be opened: look at its folder and the access rights",
	sqlite3.SQLITE_NOMEM:    "memory is exhausted",
	sqlite3.SQLITE_PROTOCOL: "the file's locks do not work: use a local disk, not a network share",
}

func primaryCode(err error) (int, bool) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code() & 0xff, true
}

// isBusy reports whether another process holds a lock.
func isBusy(err error) bool {
	code, ok := primaryCode(err)
	return ok && code == sqlite3.SQLITE_BUSY
}

// describe wraps an error with what was being done, and those of SQLite and of
// the operating system with ErrUnavailable (ErrInvalid for what is too big) and
// the way out. Errors that wrap a sentinel already keep it.
func (s *Store) describe(doing string, err error) error {
	if err == nil {
		return nil
	}
	if code, ok := primaryCode(err); ok {
		if code == sqlite3.SQLITE_TOOBIG {
			return fmt.Errorf("sqlitestore: %s: %w: larger than a row can be: %w", doing, backends.ErrInvalid, err)
		}
		reason, known := reasons[code]
		if !known {
			reason = "unexpected answer of SQLite"
		}
		return fmt.Errorf("sqlitestore: %s: %w: %s: %s: %w", doing, backends.ErrUnavailable, s.path, reason, err)
	}
	if isSentinel(err) {
		return fmt.Errorf("sqlitestore: %s: %w", doing, err)
	}
	if errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("sqlitestore: %s: %w: the store is closed: %w", doing, backends.ErrUnavailable, err)
	}
	return fmt.Errorf("sqlitestore: %s: %w: %s: %w", doing, backends.ErrUnavailable, s.path, err)
}

func isSentinel(err error) bool {
	for _, target := range []error{
		context.Canceled, context.DeadlineExceeded, backends.ErrInvalid, backends.ErrNotFound,
		backends.ErrConflict, backends.ErrUnavailable, backends.ErrDimension, backends.ErrNoScope,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
