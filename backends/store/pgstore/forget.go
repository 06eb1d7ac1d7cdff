// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// erase queues the removal of sessions with their messages and blobs.
func (t *tx) erase(pks []int64, ids ...[]byte) {
	t.exec(`DELETE FROM @messages WHERE session = ANY($1)`, pks)
	t.exec(`DELETE FROM @blobs WHERE part = $1 AND session = ANY($2)`, t.part.pk, ids)
	t.exec(`DELETE FROM @sessions WHERE pk = ANY($1)`, pks)
}

// The cadence of purging: an append in purgeEvery erases up to purgeBatch expired sessions.
const purgeEvery, purgeBatch = 64, 100

// purge erases expired sessions of all partitions. It leaves those to others that are locked.
func (s *Store) purge(ctx context.Context) error {
	return s.run(ctx, "erase expired sessions", writing, everywhere, func(t *tx) error {
		t.exec(`WITH gone AS (SELECT pk, part, id FROM @sessions WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED),
			messages AS (DELETE FROM @messages WHERE session IN (SELECT pk FROM gone)),
			blobs AS (DELETE FROM @blobs WHERE (part, session) IN (SELECT part, id FROM gone))
			DELETE FROM @sessions WHERE pk IN (SELECT pk FROM gone)`, t.now.UnixMicro(), purgeBatch)
		return nil
	})
}

// Delete implements [store.Sessions].
func (s *Store) Delete(ctx context.Context, p backends.Partition, id string) error {
	return s.write(ctx, fmt.Sprintf("delete session %q", id), p, id, deleting, func(t *tx) error {
		row, err := t.session(id)
		if err != nil {
			return err
		}
		pks := []int64{}
		if row != nil {
			pks = append(pks, row.pk)
		}
		t.erase(pks, []byte(id)) // also blobs that were put before the first message
		return nil
	})
}

// EraseMessages implements [store.Sessions].
func (s *Store) EraseMessages(ctx context.Context, p backends.Partition, id string, seqs ...int64) (n int, err error) {
	doing := fmt.Sprintf("erase %d messages of session %q", len(seqs), id)
	err = s.write(ctx, doing, p, id, updating, func(t *tx) error {
		n = 0
		row, err := t.session(id)
		if err != nil || row == nil {
			return err
		}
		var texts []string
		column(t, &texts, `SELECT entry FROM @messages WHERE session = $1 AND seq = ANY($2) ORDER BY seq`, row.pk, seqs)
		if err := t.flush(); err != nil {
			return err
		}
		for _, text := range texts {
			var e store.Entry
			if err := plan.Decode("message of session "+id, text, &e); err != nil {
				return err
			}
			if e.Erased {
				continue
			}
			n++
			row.Tokens -= int64(e.Tokens)
			rest := e.Erase()
			if text, err = plan.Encode("message "+e.ID, &rest); err != nil {
				return err
			}
			t.exec(`UPDATE @messages SET entry = $3 WHERE session = $1 AND id = $2`, row.pk, []byte(e.ID), text)
		}
		if n == 0 {
			return nil
		}
		row.Title, row.Summary, row.SummaryUpto = "", "", 0
		return t.save(row)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Drop implements [store.Records].
func (s *Store) Drop(ctx context.Context, p backends.Partition) (out store.DropCount, err error) {
	err = s.write(ctx, "drop "+p.String(), p, "", dropping, func(t *tx) error {
		out = store.DropCount{}
		now, unused := t.now.UnixMicro(), 0
		var expired []session // they are left out of the count
		list(t, &expired, (*session).fields, selectSession+`part = $1 AND expires <= $2 FOR UPDATE`, t.part.pk, now)
		if err := t.flush(); err != nil {
			return err
		}
		var pks []int64
		var ids [][]byte
		for _, e := range expired {
			pks, ids = append(pks, e.pk), append(ids, e.id)
		}
		t.erase(pks, ids...)
		for _, from := range []struct {
			table string
			n     *int
		}{
			{"sessions", &out.Sessions}, {"messages", &out.Messages}, {"blobs", &out.Blobs}, {"records", &out.Records},
			{"tombstones", &out.Records}, {"events", &unused}, {"batches", &unused},
		} {
			t.count(from.n, `DELETE FROM @`+from.table+` WHERE part = $1`, t.part.pk)
		}
		t.exec(`DELETE FROM @partitions WHERE pk = $1`, t.part.pk)
		t.exec(`DELETE FROM @lives WHERE life IN (SELECT life FROM @lives WHERE began <= $1 FOR UPDATE SKIP LOCKED)`,
			t.now.Add(-store.KeepLives).UnixMicro())
		t.exec(`INSERT INTO @lives (name, began) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET life = DEFAULT, began = excluded.began`, p.String(), now)
		return nil
	})
	if err != nil {
		return store.DropCount{}, err
	}
	return out, nil
}

// Life implements [store.Records].
func (s *Store) Life(ctx context.Context, p backends.Partition) (string, error) {
	var found []int64
	err := s.read(ctx, "life of "+p.String(), p, "", func(t *tx) error {
		column(t, &found, `SELECT life FROM @lives WHERE name = $1 AND began > $2`, t.name, t.now.Add(-store.KeepLives).UnixMicro())
		return nil
	})
	if err != nil {
		return "", err
	}
	return s.life(append(found, 0)[0]), nil
}

func (s *Store) life(n int64) string { return s.id + "." + strconv.FormatInt(n, 10) }

// alive queues a look at the partitions that the operation of its context began in. The function
// that it returns is for the time when the queue was sent: it returns ErrForgotten if one of
// them was dropped since.
func (t *tx) alive(a access) func() error {
	type life struct {
		name string
		n    int64
	}
	began := map[string]string{}
	var names []string
	for p, life := range store.Lives(t.ctx, t.id) {
		names = append(names, p.String())
		began[p.String()] = life
	}
	var found []life
	if len(names) > 0 && !a.erases {
		list(t, &found, func(l *life) []any { return []any{&l.name, &l.n} }, `SELECT name, life FROM @lives WHERE name = ANY($1) AND began > $2`,
			names, t.now.Add(-store.KeepLives).UnixMicro())
	}
	return func() error {
		for _, l := range found {
			if t.life(l.n) != began[l.name] {
				return fmt.Errorf("%w: %s was dropped since this began", backends.ErrForgotten, l.name)
			}
		}
		return nil
	}
}

// Fence implements [store.Records]. Every write looks at the lives of all partitions that its
// operation began in, so it waits only for the writes that have looked before.
func (s *Store) Fence(ctx context.Context, p, of backends.Partition) error {
	return s.write(ctx, fmt.Sprintf("fence %s for %s", p, of), p, "", dropping, func(*tx) error { return errRollback })
}

// Outside lists the places of erased data that are out of reach for a transaction: see
// [backends.Receipt].
func (s *Store) Outside() []string {
	return []string{
		"Postgres, tables: deleted rows keep their bytes until VACUUM FULL of schema " + s.opts.Schema + " (Store.Compact)",
		"Postgres, write-ahead log: run CHECKPOINT and pg_switch_wal; archived files keep what was erased",
		"Postgres, replicas: they follow the primary",
		"Postgres, logs, if the server logs parameters of statements",
		"backups and copies of the database, and what the file system and the disk keep of blocks that were freed",
	}
}

// tables are all tables of the schema.
var tables = []string{"identity", "partitions", "records", "tombstones", "events", "batches", "sessions", "messages", "blobs", "lives"}

// Compact writes every table anew without deleted rows (VACUUM FULL), and so erases their bytes in
// tables, indexes and overflow tables. Calls of all processes wait while it writes a table. It
// needs room for the largest table twice, and a role that owns the tables. The end of ctx ends
// it. Rows that a transaction of another program still sees stay: repeat it when that has ended.
func (s *Store) Compact(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return describe("compact", fmt.Errorf("%w: the store is closed", backends.ErrUnavailable))
	}
	for _, table := range tables {
		if _, err := s.pool.Exec(ctx, `VACUUM (FULL) `+s.sql("@"+table)); err != nil {
			return describe("compact", err)
		}
	}
	return nil
}
