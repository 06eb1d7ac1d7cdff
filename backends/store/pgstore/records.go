// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// record is a row of the table records.
type record struct {
	memory string
	vector []byte
}

func (r *record) fields() []any { return []any{&r.memory, &r.vector} }

// records returns the records that a condition selects. It is the last statement of a transaction.
func (t *tx) records(which string, args ...any) ([]store.Record, error) {
	var found []record
	list(t, &found, (*record).fields, `SELECT memory, vector FROM @records WHERE `+which, args...)
	if err := t.finish(); err != nil {
		return nil, err
	}
	out := make([]store.Record, len(found))
	return out, plan.Each(len(out), func(i int) error {
		out[i].Vector = found[i].vector
		return plan.Decode("record", found[i].memory, &out[i].Memory)
	})
}

func byID(all []store.Record) map[string]*store.Record {
	out := make(map[string]*store.Record, len(all))
	for i := range all {
		out[all[i].ID] = &all[i]
	}
	return out
}

// Get implements [store.Records].
func (s *Store) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	doing := fmt.Sprintf("get %d records of %s", len(ids), p)
	return call(ctx, s, &reading, doing, p, "", func(t *tx) ([]store.Record, error) {
		all, err := t.records(`part = `+own+` AND id = ANY($2)`, t.name, bytesOf(ids))
		found, out := byID(all), []store.Record(nil)
		for _, id := range ids {
			if r := found[id]; r != nil {
				out = append(out, *r)
			}
		}
		return out, err
	})
}

// changesPage is how many records (and tombstones) a page of changes has, before it is rounded up
// to a whole batch.
const changesPage = 1000

// Changes implements [store.Records].
func (s *Store) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	doing, since := "changes of "+p.String(), place{}
	news, err := call(ctx, s, &glancing, doing, p, "", func(t *tx) (out *store.ChangeSet, err error) {
		if since, err = parsePlace(cursor); err != nil {
			return nil, err
		}
		part, err := t.partition()
		if at := (place{part.pk, part.version, part.server}); err == nil && at == since {
			out = &store.ChangeSet{Version: part.version, Cursor: cursor, Embedding: part.embedding()}
		}
		return out, err
	})
	if news != nil || err != nil {
		return news, err
	}
	return call(ctx, s, &reading, doing, p, "", func(t *tx) (*store.ChangeSet, error) { return t.changes(since) })
}

// partition sends the queue, and reads the row of the partition.
func (t *tx) partition() (partition, error) {
	var found []partition
	list(t, &found, (*partition).fields, selectPartition, t.name)
	err := t.flush()
	return append(found, partition{})[0], err
}

// lastVersions selects the last version of a page that begins after $2: of records, and of
// tombstones. The page has about changesPage entries and only whole batches.
const lastVersions = `(SELECT version FROM @records WHERE part = $1 AND version > $2 ORDER BY version LIMIT 1 OFFSET $3)
	UNION ALL (SELECT version FROM @tombstones WHERE part = $1 AND version > $2 ORDER BY version LIMIT 1 OFFSET $3)`

// changes reads one page.
func (t *tx) changes(since place) (*store.ChangeSet, error) {
	part, err := t.partition()
	out := &store.ChangeSet{Embedding: part.embedding()}
	// A partition of another key was dropped. A version ahead may be lost, and so may one that
	// a server had before its start.
	if since.part != 0 && (since.part != part.pk || since.at > part.version || since.server != part.server) {
		since, out.Reset = place{}, true
	}
	if err != nil || part.pk == 0 {
		return out, err
	}
	var ends []int64
	column(t, &ends, lastVersions, part.pk, since.at, changesPage-1)
	if err := t.flush(); err != nil {
		return nil, err
	}
	out.Version = part.version
	for _, end := range ends {
		out.Version = min(out.Version, end)
	}
	out.Cursor, out.More = place{part.pk, out.Version, part.server}.String(), out.Version < part.version
	var gone [][]byte
	if since.at > 0 { // a new reader has nothing to remove
		column(t, &gone, `SELECT id FROM @tombstones WHERE part = $1 AND version > $2 AND version <= $3 ORDER BY version, id`, part.pk, since.at, out.Version)
	}
	out.Records, err = t.records(`part = $1 AND version > $2 AND version <= $3 ORDER BY version, id`, part.pk, since.at, out.Version)
	out.Removed = stringsOf(gone)
	return out, err
}

// History implements [store.Records].
func (s *Store) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	return call(ctx, s, &reading, fmt.Sprintf("history of %q", id), p, "", func(t *tx) ([]backends.Event, error) {
		return values[backends.Event](t, "event of "+id, `SELECT event FROM @events WHERE part = `+own+` AND id = $2 ORDER BY pk`, t.name, []byte(id))
	})
}

// Deleted implements [store.Records].
func (s *Store) Deleted(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "deleted memories", p, page, `SELECT DISTINCT id FROM @events e WHERE part = `+own+` AND id >= $2
		AND NOT EXISTS (SELECT 1 FROM @records WHERE part = e.part AND id = e.id) ORDER BY id LIMIT $3`)
}
