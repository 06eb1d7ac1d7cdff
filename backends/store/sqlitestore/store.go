// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// readConns is how many reads can run at the same time.
const readConns = 4

// Config are the settings of [Open]. The zero value is ready for use.
type Config struct {
	Clock backends.Clock // Optional. Defaults to backends.SystemClock.

	// Relaxed waits for the disk only at checkpoints (synchronous=NORMAL), which is faster
	// where the disk is slow. After a power cut or a crash of the operating system the
	// last commits may be lost: the session log may lack an acknowledged turn. The file
	// stays consistent, and a kill of the process loses nothing. Optional. By default each
	// commit waits for the disk (synchronous=FULL), and an acknowledged write survives a
	// power cut.
	Relaxed bool

	// BusyTimeout is how long a call waits while another process holds the file's
	// write lock, before it returns ErrUnavailable. Optional. Defaults to 5 s.
	BusyTimeout time.Duration
}

// withDefaults returns a copy with its defaults filled in.
func (c *Config) withDefaults() Config {
	out := *cmp.Or(c, &Config{})
	if out.Clock == nil {
		out.Clock = backends.SystemClock
	}
	out.BusyTimeout = cmp.Or(out.BusyTimeout, 5*time.Second)
	return out
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Reclaimer = (*Store)(nil)
	_ store.Finder    = (*Store)(nil)
)

// Store keeps records and sessions in one SQLite file. Make one with [Open]. All
// methods are safe for concurrent use; several Stores and processes may have the
// same file open.
type Store struct {
	path string
	id   string // of the file, see Epoch
	cfg  Config

	abs     string      // path, absolute
	file    os.FileInfo // of the file that was opened; nil for Memory
	db      *sql.DB
	conns   []*conn      // every connection, also those in use
	writer  chan *conn   // the writing connection, while it is free
	members chan *member // the calls that wait for it
	readers chan *conn   // the reading connections; for Memory the writer

	reclaiming chan struct{} // full while one call reclaims
	freed      atomic.Bool   // rows were deleted since the last Reclaim
	version    int64         // of the file's data, for the writer, when the last Reclaim began

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

// call runs fn by way of s.read, s.write or s.erase with the row of p, if the names are
// legal, and returns its result. The result of a failed call is the zero value.
func call[T any](ctx context.Context, s *Store, way func(context.Context, func(*conn) error) error, doing string,
	p backends.Partition, session string, fn func(*conn, partition) (T, error),
) (T, error) {
	var out, none T
	err := cmp.Or(p.Validate(), store.ValidateSession(session))
	if err == nil {
		err = way(ctx, func(c *conn) error {
			part, err := c.partition(p)
			if err == nil {
				out, err = fn(c, part)
			}
			return err
		})
	}
	if err != nil {
		return none, s.describe(doing, err)
	}
	return out, nil
}

// read runs fn in a transaction that sees one state of the file.
func (s *Store) read(ctx context.Context, fn func(*conn) error) error {
	return s.borrow(ctx, s.readers, func(c *conn) error { return c.transaction(ctx, "BEGIN", func() error { return fn(c) }) })
}

// write is erase, except that it refuses an operation that began before a drop.
func (s *Store) write(ctx context.Context, fn func(*conn) error) error {
	return s.erase(ctx, func(c *conn) error {
		if err := s.alive(ctx, c); err != nil {
			return err
		}
		return fn(c)
	})
}

// enter begins a call. The store stays open until mu is unlocked for reading, unless
// enter returns an error.
func (s *Store) enter() (err error) {
	s.mu.RLock()
	if err = s.sameFile(); s.closed {
		err = fmt.Errorf("%w: the store is closed", backends.ErrUnavailable)
	}
	if err != nil {
		s.mu.RUnlock()
	}
	return err
}

// sameFile returns ErrUnavailable if the opened file is gone from its place. SQLite would
// go on with the open file, which is lost for every other process.
func (s *Store) sameFile() error {
	if s.file == nil {
		return nil
	}
	now, err := os.Stat(s.abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was removed while it was open: put it back, or close the store and open it again to begin anew",
			backends.ErrUnavailable, s.abs)
	case err == nil && (now.Size() == 0 || !os.SameFile(s.file, now)):
		return fmt.Errorf("%w: %s was replaced or emptied while it was open: close the store and open it again to use the present file, or a backup",
			backends.ErrUnavailable, s.abs)
	}
	return err
}

func (s *Store) borrow(ctx context.Context, from chan *conn, fn func(*conn) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c := <-from:
		defer func() { from <- c }()
		return fn(c)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// now returns the clock's time in UTC, as it is stored.
func (s *Store) now() time.Time { return s.cfg.Clock().UTC() }

// partition is a row of the table partitions. The pk is 0 for a new one.
type partition struct {
	backends.Partition
	pk      int64
	version int64
	records int64           // how many it has
	space   store.Embedding // zero until the first vector
	sum     sql.NullInt64
}

// embedding returns a copy of the partition's embedding, nil before the first vector.
func (p *partition) embedding() *store.Embedding {
	if p.space == (store.Embedding{}) {
		return nil
	}
	e := p.space
	return &e
}

// sealed returns the content that the row's checksum covers.
func (p *partition) sealed() *sealed {
	return &sealed{owner: p.pk, key: p.String(), text: fmt.Sprintf("%d %d %q %d", p.version, p.records, p.space.Model, p.space.Dim), sum: p.sum}
}

// partition reads the row of p. It checks the same row once.
func (c *conn) partition(p backends.Partition) (partition, error) {
	row := partition{Partition: p}
	found, err := c.row(`SELECT pk, version, records, model, dim, sum FROM partitions WHERE namespace = ? AND kind = ? AND id = ?`,
		[]any{p.Namespace, string(p.Kind), p.ID}, &row.pk, &row.version, &row.records, &row.space.Model, &row.space.Dim, &row.sum)
	if err == nil && found && row != c.checked {
		if err = row.sealed().check("partition"); err == nil {
			c.checked = row
		}
	}
	return row, err
}

// create writes the row if it is new.
func (c *conn) create(row *partition) (err error) {
	if row.pk == 0 {
		_, err = c.row(`INSERT INTO partitions (namespace, kind, id) VALUES (?, ?, ?) RETURNING pk`,
			[]any{row.Namespace, string(row.Kind), row.ID}, &row.pk)
	}
	return err
}

// Partitions implements [store.Records]. They come in the order of their kinds and ids.
func (s *Store) Partitions(ctx context.Context, namespace string, page store.Page) (*store.PartitionPage, error) {
	return s.FindPartitions(ctx, store.PartitionQuery{Namespace: namespace, Page: page})
}

// FindPartitions implements [store.Finder].
func (s *Store) FindPartitions(ctx context.Context, q store.PartitionQuery) (*store.PartitionPage, error) {
	// Every record has an event, and so has every tombstone. The data of an expired
	// session is gone with it.
	const query = `SELECT namespace, kind, id FROM partitions p WHERE namespace = ?1 AND (kind, id) >= (?2, ?3) AND ?7 IN ('', kind) AND id LIKE ?4 ESCAPE '\' AND (
		EXISTS (SELECT 1 FROM events WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM records WHERE part = p.pk)
		OR EXISTS (SELECT 1 FROM sessions WHERE part = p.pk AND (expires IS NULL OR expires > ?6))
		OR EXISTS (SELECT 1 FROM blobs b LEFT JOIN sessions s ON s.part = b.part AND s.id = b.session
			WHERE b.part = p.pk AND (s.expires IS NULL OR s.expires > ?6))) ORDER BY kind, id LIMIT ?5`
	some := backends.Partition{Namespace: q.Namespace, Kind: backends.PartitionUser, ID: "any"} // its row stays unused
	return call(ctx, s, s.read, "partitions of "+q.Namespace, some, "", func(c *conn, _ partition) (*store.PartitionPage, error) {
		within, err := plan.ParseNames("partition", "", q.Page.Cursor)
		if err != nil {
			return nil, err
		}
		kind, id, _ := strings.Cut(cmp.Or(within.Low, string(q.Kind)), "/")
		like := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(q.Part) + "%"
		found, err := collect(ctx, c, func(p *backends.Partition) []any { return []any{&p.Namespace, &p.Kind, &p.ID} }, query,
			q.Namespace, kind, id, like, q.Page.Size()+1, s.now().UnixMicro(), string(q.Kind))
		out := &store.PartitionPage{}
		out.Partitions, out.Next = plan.Cut(found, q.Page, func(p *backends.Partition) string { return plan.NamesCursor(string(p.Kind) + "/" + p.ID) })
		return out, err
	})
}

// CountFacts implements [store.Finder]. It reads all memories of the namespace.
func (s *Store) CountFacts(ctx context.Context, namespace string) (n int64, err error) {
	some := backends.Partition{Namespace: namespace, Kind: backends.PartitionUser, ID: "any"} // its row stays unused
	return call(ctx, s, s.read, "count of "+namespace, some, "", func(c *conn, _ partition) (int64, error) {
		_, err := c.row(`SELECT count(*) FROM partitions p JOIN records r ON r.part = p.pk WHERE namespace = ? AND memory ->> 'kind' IN ('fact', 'personal')
			AND memory ->> 'superseded_by' IS NULL AND memory ->> 'invalidated' IS NULL`, []any{namespace}, &n)
		return n, err
	})
}

// ids reads a page of ids that a query selects in the order of their bytes. The query's
// arguments are the partition's key, the least id, how many, and the time.
func (s *Store) ids(ctx context.Context, doing string, p backends.Partition, page store.Page, query string) (*store.IDPage, error) {
	return call(ctx, s, s.read, doing+" of "+p.String(), p, "", func(c *conn, part partition) (*store.IDPage, error) {
		within, err := plan.ParseNames("id", "", page.Cursor)
		if err != nil {
			return nil, err
		}
		found, err := column[string](ctx, c, query, part.pk, within.Low, page.Size()+1, s.now().UnixMicro())
		out := &store.IDPage{}
		out.IDs, out.Next = plan.Cut(found, page, func(id *string) string { return plan.NamesCursor(*id) })
		return out, err
	})
}

// Drop implements [store.Records].
func (s *Store) Drop(ctx context.Context, p backends.Partition) (store.DropCount, error) {
	return call(ctx, s, s.erase, "drop "+p.String(), p, "", func(c *conn, part partition) (out store.DropCount, err error) {
		if err := c.purge(s.now(), -1); err != nil { // expired sessions are left out of the count
			return out, err
		}
		var n [8]int64
		for i, from := range [len(n)]string{
			`records WHERE part = ?`,
			`tombstones WHERE part = ?`,
			`messages WHERE session IN (SELECT pk FROM sessions WHERE part = ?)`,
			`sessions WHERE part = ?`,
			`blobs WHERE part = ?`,
			`events WHERE part = ?`,
			`batches WHERE part = ?`,
			`partitions WHERE pk = ?`,
		} {
			if n[i], err = c.count(`DELETE FROM `+from, part.pk); err != nil {
				return out, err
			}
		}
		out = store.DropCount{Records: int(n[0] + n[1]), Messages: int(n[2]), Sessions: int(n[3]), Blobs: int(n[4])}
		return out, c.newEpoch(p, s.now())
	})
}

// Epoch implements [store.Records].
func (s *Store) Epoch(ctx context.Context, p backends.Partition) (string, error) {
	return call(ctx, s, s.read, "epoch of "+p.String(), p, "", func(c *conn, _ partition) (string, error) { return s.epoch(c, p) })
}

// Fence implements [store.Records]. It has no work: every write looks at the epochs of all
// partitions that its operation began in.
func (s *Store) Fence(context.Context, backends.Partition, backends.Partition) error { return nil }

func (s *Store) epoch(c *conn, p backends.Partition) (string, error) {
	now, epoch := s.now(), int64(0)
	_, err := c.row(`SELECT life FROM lives WHERE namespace = ? AND kind = ? AND id = ? AND began > ?`,
		[]any{p.Namespace, string(p.Kind), p.ID, now.Add(-store.KeepEpochs).UnixMicro()}, &epoch)
	return s.id + "." + strconv.FormatInt(epoch, 10), err
}

// alive returns ErrForgotten if a partition was dropped since the operation of ctx began.
func (s *Store) alive(ctx context.Context, c *conn) error {
	for p, began := range store.Epochs(ctx, s.id) {
		epoch, err := s.epoch(c, p)
		if err != nil {
			return err
		}
		if epoch != s.id+".0" && epoch != began {
			return fmt.Errorf("%w: %s was dropped since this began", backends.ErrForgotten, p)
		}
	}
	return nil
}

// newEpoch ends the epoch of a partition, and drops epochs that ended long ago.
func (c *conn) newEpoch(p backends.Partition, now time.Time) error {
	if err := c.exec(`DELETE FROM lives WHERE began <= ?`, now.Add(-store.KeepEpochs).UnixMicro()); err != nil {
		return err
	}
	return c.exec(`INSERT OR REPLACE INTO lives (namespace, kind, id, began) VALUES (?, ?, ?, ?)`,
		p.Namespace, string(p.Kind), p.ID, now.UnixMicro())
}

// Outside lists the places of erased data that are out of reach for the store: see
// [backends.Receipt].
func (s *Store) Outside() []string {
	return []string{"backups and copies of " + s.path, "what the file system and the disk keep of blocks that were overwritten"}
}
