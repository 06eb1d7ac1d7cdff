// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

var _ store.Store = (*Store)(nil)

// Store keeps records and sessions in one SQLite file. Make one with [Open]. All
// methods are safe for concurrent use; several Stores and processes may have the
// same file open.
type Store struct {
	path string
	cfg  Config

	db      *sql.DB
	conns   []*conn // every connection, whoever holds it
	writer  pool    // the one that writes
	readers pool    // those that read; for Memory the writer

	mu     sync.RWMutex // held for reading by each call, for writing by Close
	closed bool
}

// Path returns the path that the store was opened with.
func (s *Store) Path() string { return s.path }

// Close waits for the calls under way and closes the file. Later calls fail with
// ErrUnavailable. Closing twice is harmless.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.describe("close", s.closeAll())
}

func (s *Store) closeAll() error {
	if s.db == nil {
		return nil
	}
	var errs []error
	for _, c := range s.conns {
		for _, st := range c.stmts {
			errs = append(errs, st.Close())
		}
		errs = append(errs, c.raw.Close())
	}
	return errors.Join(append(errs, s.db.Close())...)
}

// read runs fn on a connection for reading. Statements of fn do not see one
// state of the file unless fn opens a transaction.
func (s *Store) read(ctx context.Context, doing string, fn func(*conn) error) error {
	return s.describe(doing, s.borrow(ctx, s.readers, fn))
}

// snapshot runs fn in one read transaction: it sees one state of the file.
func (s *Store) snapshot(ctx context.Context, doing string, fn func(*conn) error) error {
	return s.read(ctx, doing, func(c *conn) error {
		return c.transaction(ctx, beginRead, func() error { return fn(c) })
	})
}

// write runs fn in the one write transaction that there is at a time: in this
// process by the pool of one, among processes by SQLite's lock.
func (s *Store) write(ctx context.Context, doing string, fn func(*conn) error) error {
	return s.describe(doing, s.borrow(ctx, s.writer, func(c *conn) error {
		return c.transaction(ctx, beginImmediate, func() error { return fn(c) })
	}))
}

func (s *Store) borrow(ctx context.Context, from pool, fn func(*conn) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return fmt.Errorf("%w: the store is closed", backends.ErrUnavailable)
	}
	c, err := from.take(ctx)
	if err != nil {
		return err
	}
	defer from.put(c)
	return fn(c)
}

// now returns the clock's time in UTC, as it is stored.
func (s *Store) now() time.Time { return s.cfg.Clock().UTC() }
