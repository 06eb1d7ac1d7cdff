// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/einomem/einomem/backends"
)

// Memory is the path of a private database in memory, which ends with Close.
const Memory = ":memory:"

// Open opens the database file at path, creates it if it does not exist, and
// brings its schema up to date. Its folder must exist. The path [Memory] is a
// private database without a file. A nil cfg means the defaults.
//
// It returns ErrInvalid for a path that can never be a database file or that holds
// the tables of another application, ErrUnavailable for everything else that is
// in the way: a missing folder, a file that is damaged, locked, read-only, no
// database, or written by a newer version of this package.
func Open(ctx context.Context, path string, cfg *Config) (*Store, error) {
	s := &Store{path: path, cfg: cfg.withDefaults(), groupTime: groupTime}
	if err := s.open(ctx); err != nil {
		_ = s.closeAll() // the first error is the one to report
		return nil, s.describe("open "+path, err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := s.cfg.validate(); err != nil {
		return err
	}
	dsn, err := dataSource(s.path)
	if err != nil {
		return err
	}
	if s.path != Memory {
		if s.vfs, err = newCheckedVFS(); err != nil {
			return err
		}
		dsn += "?vfs=" + s.vfs.name
	}
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return err
	}
	s.db = sql.OpenDB(connector)
	writer, err := s.connect(ctx, min(s.cfg.BusyTimeout, busySlice))
	if err != nil {
		return err
	}
	s.writer = make(pool, 1)
	s.writer.put(writer)
	if err := s.prepareFile(ctx, writer); err != nil {
		return err
	}
	if s.path == Memory { // the database is the connection's own
		s.readers = s.writer
		return nil
	}
	if s.file, err = statFile(s.path); err != nil {
		return err
	}
	s.readers = make(pool, s.cfg.ReadConns)
	for range s.cfg.ReadConns {
		c, err := s.connect(ctx, s.cfg.BusyTimeout)
		if err != nil {
			return err
		}
		s.readers.put(c)
	}
	return nil
}

// busySlice is how long SQLite itself waits for a lock; see conn.retry.
const busySlice = 50 * time.Millisecond

// A group of writes changes some hundred pages: they fit into the cache of a connection, and
// a checkpoint writes those that many groups changed once.
const (
	walPages = 4000 // of 4 KB in the "-wal" file, from which on a commit brings them to the file
	cacheKB  = 8000 // at most, in each connection
)

// connect opens one connection.
func (s *Store) connect(ctx context.Context, busy time.Duration) (*conn, error) {
	raw, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, stmts: map[string]*sql.Stmt{}, busy: s.cfg.BusyTimeout}
	s.conns = append(s.conns, c)
	// Another process that closes the file as its last user locks it for a moment, and
	// SQLite does not wait for that.
	synchronous := "FULL"
	if s.cfg.Relaxed {
		synchronous = "NORMAL"
	}
	return c, c.retry(ctx, c.deadline(), func() error {
		return c.script(fmt.Sprintf(`PRAGMA busy_timeout = %d; PRAGMA synchronous = %s; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;
			PRAGMA wal_autocheckpoint = %d; PRAGMA cache_size = -%d`, busy.Milliseconds(), synchronous, walPages, cacheKB))
	})
}

// prepareFile sets what is kept in the file itself.
func (s *Store) prepareFile(ctx context.Context, c *conn) error {
	return c.retry(ctx, c.deadline(), func() error {
		if err := inspect(c, s.path); err != nil {
			return err
		}
		var mode string
		if _, err := c.row("PRAGMA journal_mode = WAL", nil, &mode); err != nil {
			return err
		}
		if mode != "wal" && s.path != Memory {
			return fmt.Errorf("%w: %s: journal mode is %s, not wal: use a local disk", backends.ErrUnavailable, s.path, mode)
		}
		if err := migrate(ctx, c); err != nil {
			return err
		}
		if _, err := c.row(`SELECT id FROM identity`, nil, &s.id); err != nil {
			return err
		}
		// SQLite opens a file that it may not write to: report that now, not at the first
		// turn.
		return c.transaction(ctx, beginImmediate, func() error { return errUnchanged })
	})
}

// dataSource returns the URI of a path for the driver. It checks the folder first,
// because SQLite's own errors do not say what is missing.
func dataSource(path string) (string, error) {
	switch {
	case path == Memory:
		return path, nil
	case path == "" || strings.ContainsRune(path, 0):
		return "", fmt.Errorf("%w: path %q is no file name", backends.ErrInvalid, path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := checkPath(abs); err != nil {
		return "", err
	}
	slashed := filepath.ToSlash(abs)
	if runtime.GOOS == "windows" {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed, OmitHost: true}).String(), nil
}

func checkPath(abs string) error {
	dir := filepath.Dir(abs)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the folder %s does not exist: create it", backends.ErrUnavailable, dir)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%w: %s is a file, not a folder", backends.ErrInvalid, dir)
	case err != nil:
		return fmt.Errorf("%w: %w", backends.ErrUnavailable, err)
	}
	if info, err := os.Stat(abs); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a regular file", backends.ErrInvalid, abs)
	}
	return nil
}

// openedFile is the file that a store opened, as the operating system knows it.
type openedFile struct {
	path string // absolute
	os.FileInfo
}

func statFile(path string) (*openedFile, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	return &openedFile{abs, info}, err
}

// check returns ErrUnavailable if another file or none is where it was: SQLite would go on
// with the one that it has open, which nobody finds any more.
func (f *openedFile) check() error {
	now, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was removed while it was open: put it back, or close the store and open it again to begin anew",
			backends.ErrUnavailable, f.path)
	case err != nil:
		return fmt.Errorf("%w: %w", backends.ErrUnavailable, err)
	case !os.SameFile(f.FileInfo, now):
		return fmt.Errorf("%w: %s was replaced while it was open: close the store and open it again to use the new one",
			backends.ErrUnavailable, f.path)
	case now.Size() == 0:
		return fmt.Errorf("%w: %s was emptied while it was open: put a backup in its place, and open the store again", backends.ErrUnavailable, f.path)
	}
	return nil
}

//go:embed schema.sql
var schema string

//go:embed version2.sql
var version2 string

// ladder holds one script for each step from one schema version to the next:
// a file of version n is brought up to date by ladder[n:].
var ladder = []string{schema, version2}

// applicationID marks a file as one of ours ("eino" in ASCII), so that another
// application's database is never written to.
const applicationID = 0x65696e6f

// header is what a file contains about itself.
type header struct{ app, version, tables int }

func readHeader(c *conn) (header, error) {
	var h header
	const query = `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`
	_, err := c.row(query, nil, &h.app, &h.version, &h.tables)
	return h, err
}

// inspect refuses a file that is another application's or newer than this code,
// before anything of it is changed.
func inspect(c *conn, path string) error {
	h, err := readHeader(c)
	switch {
	case err != nil:
		return err
	case h.app != applicationID && (h.app != 0 || h.tables != 0):
		return fmt.Errorf("%w: %s holds the tables of another application: choose another path", backends.ErrInvalid, path)
	case h.version > len(ladder):
		return fmt.Errorf("%w: %s has schema version %d, and this code knows versions up to %d: update the code",
			backends.ErrUnavailable, path, h.version, len(ladder))
	}
	return nil
}

// migrate brings the file up to the schema of this code, in one transaction.
func migrate(ctx context.Context, c *conn) error {
	h, err := readHeader(c)
	if err != nil || h.version >= len(ladder) {
		return err
	}
	return c.transaction(ctx, beginImmediate, func() error {
		// Another process may have migrated it while this one waited.
		if h, err = readHeader(c); err != nil {
			return err
		}
		for v := h.version; v < len(ladder); v++ {
			if err := c.script(ladder[v]); err != nil {
				return fmt.Errorf("schema version %d: %w", v+1, err)
			}
		}
		return c.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, max(h.version, len(ladder))))
	})
}
