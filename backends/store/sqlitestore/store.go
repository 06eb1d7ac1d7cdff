// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// Config are the settings of [Open]. The zero value is ready for use.
type Config struct {
	Clock backends.Clock // Optional. Defaults to backends.SystemClock.

	// Relaxed waits for the disk only at checkpoints (synchronous=NORMAL), which is
	// faster where the disk is slow. After a power cut or a crash of the operating system
	// the last commits may be lost, so that a turn that was acknowledged is missing from
	// the session log; the file stays consistent, and a kill of the process loses nothing.
	// Optional. By default each commit waits for the disk (synchronous=FULL): what was
	// acknowledged survives a power cut.
	Relaxed bool

	// BusyTimeout is how long a call waits while another process holds the file's
	// write lock, before it returns ErrUnavailable. Optional. Defaults to 5 s.
	BusyTimeout time.Duration

	// ReadConns is how many reads can run at the same time. Optional. Defaults to 4;
	// at most 64.
	ReadConns int
}

// withDefaults returns a copy with its defaults filled in.
func (c *Config) withDefaults() Config {
	var out Config
	if c != nil {
		out = *c
	}
	if out.Clock == nil {
		out.Clock = backends.SystemClock
	}
	out.BusyTimeout = cmp.Or(out.BusyTimeout, 5*time.Second)
	out.ReadConns = cmp.Or(out.ReadConns, 4)
	return out
}

func (c *Config) validate() error {
	switch {
	case c.BusyTimeout < 0:
		return fmt.Errorf("busy timeout %v: %w: negative", c.BusyTimeout, backends.ErrInvalid)
	case c.ReadConns < 0 || c.ReadConns > 64:
		return fmt.Errorf("%d read connections: %w: use 1 to 64", c.ReadConns, backends.ErrInvalid)
	}
	return nil
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Reclaimer = (*Store)(nil)
)

// Store keeps records and sessions in one SQLite file. Make one with [Open]. All
// methods are safe for concurrent use; several Stores and processes may have the
// same file open.
type Store struct {
	path string
	id   string // of the file, see Life
	cfg  Config

	vfs     *checkedVFS // nil for Memory
	file    *openedFile // nil for Memory
	db      *sql.DB
	conns   []*conn // every connection, in a pool or in use
	writer  pool    // the one that writes
	waiting queue   // the calls that wait for it
	readers pool    // those that read; for Memory the writer

	groupTime time.Duration // see lead

	mu     sync.RWMutex // held for reading by each call, for writing by Close
	closed bool
}

// Close waits for the calls under way and closes the file. Later calls return
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
	if s.vfs != nil {
		defer s.vfs.close()
	}
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

// read runs fn on a connection for reading, with the row of p, and returns its result.
// The statements of fn may see different states of the file, unless fn opens a
// transaction; keys of rows are never reused, so that none finds rows of another
// partition or session.
func read[T any](ctx context.Context, s *Store, doing string, p backends.Partition, session string, fn func(*conn, partition) (T, error)) (T, error) {
	return named(s, doing, p, session, func(out *T) error {
		return s.borrow(ctx, s.readers, func(c *conn) error { return in(c, p, out, fn) })
	})
}

// write is erase for an operation that is refused if it began before a drop.
func write[T any](ctx context.Context, s *Store, doing string, p backends.Partition, session string, fn func(*conn, partition) (T, error)) (T, error) {
	return erase(ctx, s, doing, p, session, func(c *conn, part partition) (out T, err error) {
		if err := s.alive(ctx, c); err != nil {
			return out, err
		}
		return fn(c, part)
	})
}

// erase runs fn in the one write transaction that there is at a time, with the row of
// p, and returns its result when it is on disk: see commit. It may run fn more than once.
func erase[T any](ctx context.Context, s *Store, doing string, p backends.Partition, session string, fn func(*conn, partition) (T, error)) (T, error) {
	return named(s, doing, p, session, func(out *T) error {
		return s.commit(ctx, func(c *conn) error { return in(c, p, out, fn) })
	})
}

// named carries out a call if the names in it are legal. The result of a call that
// fails is the zero value.
func named[T any](s *Store, doing string, p backends.Partition, session string, call func(out *T) error) (T, error) {
	var out, none T
	err := p.Validate()
	if err == nil {
		err = store.ValidateSession(session)
	}
	if err == nil {
		err = call(&out)
	}
	if err != nil {
		return none, s.describe(doing, err)
	}
	return out, nil
}

// in sets out to the result of fn with the row of p.
func in[T any](c *conn, p backends.Partition, out *T, fn func(*conn, partition) (T, error)) error {
	part, err := c.partition(p)
	if err == nil {
		*out, err = fn(c, part)
	}
	return err
}

// enter begins a call: unless it fails, the store stays open until mu is unlocked for
// reading.
func (s *Store) enter() (err error) {
	s.mu.RLock()
	if s.closed {
		err = fmt.Errorf("%w: the store is closed", backends.ErrUnavailable)
	} else {
		err = s.sameFile()
	}
	if err != nil {
		s.mu.RUnlock()
	}
	return err
}

// sameFile returns an error if the file is not the one that was opened.
func (s *Store) sameFile() error {
	if s.file == nil {
		return nil
	}
	return s.file.check()
}

func (s *Store) borrow(ctx context.Context, from pool, fn func(*conn) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.RUnlock()
	c, err := from.take(ctx)
	if err != nil {
		return err
	}
	defer from.put(c)
	return fn(c)
}

// now returns the clock's time in UTC, as it is stored.
func (s *Store) now() time.Time { return s.cfg.Clock().UTC() }

// partition is a row of the table partitions. The pk is 0 if there is none yet.
type partition struct {
	backends.Partition
	pk      int64
	version int64
	space   store.Embedding // zero until the first vector
}

// embedding returns a copy of the partition's embedding, nil before there is one.
func (p *partition) embedding() *store.Embedding {
	if p.space == (store.Embedding{}) {
		return nil
	}
	e := p.space
	return &e
}

// partition reads the row of p.
func (c *conn) partition(p backends.Partition) (partition, error) {
	row := partition{Partition: p}
	_, err := c.row(`SELECT pk, version, model, dim FROM partitions WHERE namespace = ? AND kind = ? AND id = ?`,
		[]any{p.Namespace, string(p.Kind), p.ID}, &row.pk, &row.version, &row.space.Model, &row.space.Dim)
	return row, err
}

// create writes the row if there is none yet.
func (c *conn) create(row *partition) (err error) {
	if row.pk == 0 {
		_, err = c.row(`INSERT INTO partitions (namespace, kind, id) VALUES (?, ?, ?) RETURNING pk`,
			[]any{row.Namespace, string(row.Kind), row.ID}, &row.pk)
	}
	return err
}

// Partitions implements [store.Records]. They come in the order in which they
// were first written to.
func (s *Store) Partitions(ctx context.Context, namespace string, page store.Page) (*store.PartitionPage, error) {
	// Every record has an event, and so has every tombstone. What belongs to an
	// expired session is gone with it.
	const query = `SELECT pk, kind, id FROM partitions p WHERE namespace = ?1 AND pk > ?2 AND (
		EXISTS (SELECT 1 FROM events WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM records WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM sessions WHERE part = p.pk AND (expires IS NULL OR expires > ?4))
		OR EXISTS (SELECT 1 FROM blobs b LEFT JOIN sessions s ON s.part = b.part AND s.id = b.session
			WHERE b.part = p.pk AND (s.expires IS NULL OR s.expires > ?4))) ORDER BY pk LIMIT ?3`
	some := backends.Partition{Namespace: namespace, Kind: backends.PartitionUser, ID: "any"} // its row is not used
	return read(ctx, s, "partitions of "+namespace, some, "", func(c *conn, _ partition) (*store.PartitionPage, error) {
		out, after := &store.PartitionPage{}, int64(0)
		if page.Cursor != "" {
			var err error
			if after, err = strconv.ParseInt(page.Cursor, 10, 64); err != nil {
				return nil, fmt.Errorf("cursor %q: %w: not one of this store", page.Cursor, backends.ErrInvalid)
			}
		}
		return out, c.each(ctx, query, []any{namespace, after, page.Size() + 1, s.now().UnixMicro()}, func(rows *sql.Rows) error {
			if len(out.Partitions) == page.Size() { // one more than asked for: there is a next page
				out.Next = strconv.FormatInt(after, 10)
				return nil
			}
			p := backends.Partition{Namespace: namespace}
			err := rows.Scan(&after, &p.Kind, &p.ID)
			out.Partitions = append(out.Partitions, p)
			return err
		})
	})
}

// ids reads a page of the ids that a query selects in the order of their bytes. Its
// arguments are the partition's key, the least id, how many, and the time.
func (s *Store) ids(ctx context.Context, doing string, p backends.Partition, page store.Page, query string) (*store.IDPage, error) {
	return read(ctx, s, doing+" of "+p.String(), p, "", func(c *conn, part partition) (*store.IDPage, error) {
		within, err := plan.ParseNames("id", "", page.Cursor)
		if err != nil {
			return nil, err
		}
		out, size := &store.IDPage{}, page.Size()
		out.IDs, err = column[string](ctx, c, query, part.pk, within.Low, size+1, s.now().UnixMicro())
		if len(out.IDs) > size { // one more than asked for: there is a next page
			out.IDs = out.IDs[:size]
			out.Next = plan.NamesCursor(out.IDs[size-1])
		}
		return out, err
	})
}
