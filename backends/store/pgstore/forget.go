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

// purge erases expired sessions of all partitions. It leaves locked ones to others.
func (s *Store) purge(ctx context.Context) error {
	_, err := call(ctx, s, &purging, "erase expired sessions", anybody("any"), "", func(t *tx) (any, error) {
		t.exec(`WITH gone AS (SELECT pk, part, id FROM @sessions WHERE expires <= $1 ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED),
			messages AS (DELETE FROM @messages WHERE session IN (SELECT pk FROM gone)),
			blobs AS (DELETE FROM @blobs WHERE (part, session) IN (SELECT part, id FROM gone))
			DELETE FROM @sessions WHERE pk IN (SELECT pk FROM gone)`, t.now.UnixMicro(), purgeBatch)
		return nil, nil
	})
	return err
}

// Delete implements [store.Sessions].
func (s *Store) Delete(ctx context.Context, p backends.Partition, id string) error {
	_, err := call(ctx, s, &deleting, fmt.Sprintf("delete session %q", id), p, id, func(t *tx) (any, error) {
		row, err := t.session(id)
		pks := []int64{}
		if row != nil {
			pks = append(pks, row.pk)
		}
		t.erase(pks, []byte(id)) // also blobs that were put before the first message
		return nil, err
	})
	return err
}

// EraseMessages implements [store.Sessions].
func (s *Store) EraseMessages(ctx context.Context, p backends.Partition, id string, seqs ...int64) (int, error) {
	return call(ctx, s, &updating, fmt.Sprintf("erase %d messages of session %q", len(seqs), id), p, id, func(t *tx) (n int, err error) {
		row, err := t.session(id)
		if err != nil || row == nil {
			return 0, err
		}
		var texts []string
		column(t, &texts, `SELECT entry FROM @messages WHERE session = $1 AND seq = ANY($2)`, row.pk, seqs)
		if err := t.flush(); err != nil {
			return 0, err
		}
		entries, err := decode[store.Entry]("message", texts)
		for i := range entries {
			e := &entries[i]
			if err != nil || e.Erased {
				continue
			}
			var text string
			rest := e.Erase()
			text, err = plan.Encode("message "+e.ID, &rest)
			t.exec(`UPDATE @messages SET entry = $3 WHERE session = $1 AND id = $2`, row.pk, []byte(e.ID), text)
			row.Tokens -= int64(e.Tokens)
			n++
		}
		if err != nil || n == 0 {
			return 0, err
		}
		row.Title, row.Summary, row.SummaryUpto = "", "", 0
		return n, t.save(row)
	})
}

// Drop implements [store.Records].
func (s *Store) Drop(ctx context.Context, p backends.Partition) (store.DropCount, error) {
	return call(ctx, s, &dropping, "drop "+p.String(), p, "", func(t *tx) (out store.DropCount, err error) {
		now, pk, unused := t.now.UnixMicro(), t.part.pk, 0
		var expired []session // they are left out of the count
		list(t, &expired, (*session).fields, selectSession+`part = $1 AND expires <= $2 FOR UPDATE`, pk, now)
		if err := t.flush(); err != nil {
			return out, err
		}
		for i := range expired {
			t.erase([]int64{expired[i].pk}, expired[i].id)
		}
		for _, from := range []struct {
			table string
			n     *int
		}{
			{"sessions", &out.Sessions}, {"messages", &out.Messages}, {"blobs", &out.Blobs}, {"records", &out.Records},
			{"tombstones", &out.Records}, {"events", &unused}, {"batches", &unused},
		} {
			t.count(from.n, `DELETE FROM @`+from.table+` WHERE part = $1`, pk)
		}
		t.exec(`DELETE FROM @partitions WHERE pk = $1`, pk)
		t.exec(`DELETE FROM @lives WHERE life IN (SELECT life FROM @lives WHERE began <= $1 FOR UPDATE SKIP LOCKED)`, known(t))
		t.exec(`INSERT INTO @lives (name, began) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET life = DEFAULT, began = excluded.began`, t.name, now)
		err = t.finish()
		return out, err
	})
}

// known is the time after which an epoch that began is known.
func known(t *tx) int64 { return t.now.Add(-store.KeepEpochs).UnixMicro() }

// Epoch implements [store.Records].
func (s *Store) Epoch(ctx context.Context, p backends.Partition) (string, error) {
	return call(ctx, s, &glancing, "epoch of "+p.String(), p, "", func(t *tx) (string, error) {
		var found []int64
		column(t, &found, `SELECT life FROM @lives WHERE name = $1 AND began > $2`, t.name, known(t))
		err := t.finish()
		return s.epoch(append(found, 0)[0]), err
	})
}

func (s *Store) epoch(n int64) string { return s.id + "." + strconv.FormatInt(n, 10) }

// alive queues a look at the partitions that the operation of its context began in. The function
// that it returns is for the time when the queue was sent: it returns ErrForgotten if one of
// them was dropped since.
func (t *tx) alive() func() error {
	type epoch struct {
		name string
		n    int64
	}
	var found []epoch
	names, began := []string{}, map[string]string{}
	for p, epoch := range store.Epochs(t.ctx, t.id) {
		names = append(names, p.String())
		began[p.String()] = epoch
	}
	if len(names) > 0 && !t.erases {
		list(t, &found, func(e *epoch) []any { return []any{&e.name, &e.n} }, `SELECT name, life FROM @lives WHERE name = ANY($1) AND began > $2`, names, known(t))
	}
	return func() error {
		for _, l := range found {
			if t.epoch(l.n) != began[l.name] {
				return fmt.Errorf("%w: %s was dropped since this began", backends.ErrForgotten, l.name)
			}
		}
		return nil
	}
}

// Fence implements [store.Records]. Every write looks at the epochs of all partitions that its
// operation began in, so it waits only for the writes that have looked before.
func (s *Store) Fence(ctx context.Context, p, of backends.Partition) error {
	_, err := call(ctx, s, &dropping, fmt.Sprintf("fence %s for %s", p, of), p, "", func(*tx) (any, error) { return nil, nil })
	return err
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

// secured are the tables with row security; the others have names of partitions at most.
var secured = []string{"partitions", "records", "tombstones", "events", "batches", "sessions", "messages", "blobs"}

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
	for _, table := range append([]string{"lives"}, secured...) {
		if _, err := s.pool.Exec(ctx, `VACUUM (FULL) `+s.sql("@"+table)); err != nil {
			return describe("compact", err)
		}
	}
	return nil
}
