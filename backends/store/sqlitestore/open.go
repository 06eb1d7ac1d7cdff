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
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
)

// Memory is the path of a private database in memory, which ends with Close.
const Memory = ":memory:"

// Open opens the database file at path, creates a missing one, and brings its schema up
// to date. Its folder must exist. The path [Memory] is a private database without a file.
// A nil cfg means the defaults.
//
// It returns ErrInvalid for a path that can never be a database file or that holds the
// tables of another application. It returns ErrUnavailable for every other obstacle: a
// missing folder, or a file that is damaged, locked, read-only or no database. So is a
// file of a newer version of this package.
func Open(ctx context.Context, path string, cfg *Config) (*Store, error) {
	s := &Store{path: path, cfg: cfg.withDefaults(), writer: make(chan *conn, 1), members: make(chan *member), reclaiming: make(chan struct{}, 1)}
	s.freed.Store(true) // others may have deleted rows before
	if err := s.open(ctx); err != nil {
		_ = s.closeAll() // the first error is the one to report
		return nil, s.describe("open "+path, err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if s.cfg.BusyTimeout < 0 {
		return fmt.Errorf("busy timeout %v: %w: negative", s.cfg.BusyTimeout, backends.ErrInvalid)
	}
	dsn, err := s.dataSource()
	if err != nil {
		return err
	}
	if s.db, err = sql.Open("sqlite", dsn); err != nil {
		return err
	}
	writer, err := s.connect(ctx, min(s.cfg.BusyTimeout, busySlice))
	if err != nil {
		return err
	}
	s.writer <- writer
	if err := retry(ctx, s.deadline(), func() error { return s.prepareFile(ctx, writer) }); err != nil {
		return err
	}
	if s.path == Memory { // the database is the connection's own
		s.readers = s.writer
		return nil
	}
	if s.file, err = os.Stat(s.abs); err != nil {
		return err
	}
	s.readers = make(chan *conn, readConns)
	for range readConns {
		c, err := s.connect(ctx, s.cfg.BusyTimeout)
		if err != nil {
			return err
		}
		s.readers <- c
	}
	return nil
}

// busySlice is how long SQLite itself waits for a lock; see retry.
const busySlice = 50 * time.Millisecond

// A group of writes changes some hundred pages. They fit into the cache of a connection, and
// a checkpoint writes a page once that many groups changed.
const (
	walPages = 4000 // of 4 KB in the "-wal" file; above this a commit brings them to the file
	cacheKB  = 8000 // at most, in each connection
)

// connect opens one connection.
func (s *Store) connect(ctx context.Context, busy time.Duration) (*conn, error) {
	raw, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, stmts: map[string]*sql.Stmt{}, freed: &s.freed}
	s.conns = append(s.conns, c)
	synchronous := "FULL"
	if s.cfg.Relaxed {
		synchronous = "NORMAL"
	}
	// Another process that closes the file as its last user locks it for a moment. SQLite
	// returns at once then.
	return c, retry(ctx, s.deadline(), func() error {
		return c.script(fmt.Sprintf(`PRAGMA busy_timeout = %d; PRAGMA synchronous = %s; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;
			PRAGMA cell_size_check = ON; PRAGMA wal_autocheckpoint = %d; PRAGMA cache_size = -%d`, busy.Milliseconds(), synchronous, walPages, cacheKB))
	})
}

// prepareFile sets the settings that the file itself keeps.
func (s *Store) prepareFile(ctx context.Context, c *conn) error {
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
	// SQLite opens a file even if it is read-only. This transaction reports that now,
	// before the first turn.
	err := c.transaction(ctx, "BEGIN IMMEDIATE", func() error { return migrate(c) })
	if err == nil {
		_, err = c.row(`SELECT id FROM identity`, nil, &s.id)
	}
	return err
}

// dataSource returns the URI of the path for the driver. It checks the folder first,
// because SQLite's own errors leave open what is missing.
func (s *Store) dataSource() (dsn string, err error) {
	switch {
	case s.path == Memory:
		return s.path, nil
	case s.path == "" || strings.ContainsRune(s.path, 0):
		return "", fmt.Errorf("%w: path %q is no file name", backends.ErrInvalid, s.path)
	}
	if s.abs, err = filepath.Abs(s.path); err != nil {
		return "", err
	}
	dir := filepath.Dir(s.abs)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%w: the folder %s does not exist: create it", backends.ErrUnavailable, dir)
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%w: %s is a file, not a folder", backends.ErrInvalid, dir)
	}
	if info, err := os.Stat(s.abs); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("%w: %s is not a regular file", backends.ErrInvalid, s.abs)
	}
	// What people said is for the owner of the file alone; SQLite gives the files beside it the same mode.
	if f, err := os.OpenFile(s.abs, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = f.Close() // SQLite opens it anew, and reports what fails
	}
	slashed := filepath.ToSlash(s.abs)
	if !strings.HasPrefix(slashed, "/") { // of Windows
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed, OmitHost: true}).String(), nil
}

//go:embed schema.sql
var schema string

//go:embed version2.sql
var version2 string

//go:embed version3.sql
var version3 string

// ladder holds one script for each step from one schema version to the next: ladder[n:]
// brings a file of version n up to date.
var ladder = []string{schema, version2, version3}

// applicationID marks a file as one of ours ("eino" in ASCII), so another application's
// database stays untouched.
const applicationID = 0x65696e6f

// header is a file's description of itself.
type header struct{ app, version, tables int }

func readHeader(c *conn) (header, error) {
	var h header
	const query = `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`
	_, err := c.row(query, nil, &h.app, &h.version, &h.tables)
	return h, err
}

// inspect refuses a file that is another application's or newer than this code, before
// its first change.
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

// migrate brings the file up to the schema of this code. It runs inside a transaction,
// since another process may have migrated meanwhile.
func migrate(c *conn) error {
	h, err := readHeader(c)
	if err != nil || h.version >= len(ladder) {
		return err
	}
	for v := h.version; v < len(ladder); v++ {
		if err := c.script(ladder[v]); err != nil {
			return fmt.Errorf("schema version %d: %w", v+1, err)
		}
	}
	return c.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(ladder)))
}
