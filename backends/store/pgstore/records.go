// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// records returns the records that a query selects. It is the last statement of a transaction.
func (t *tx) records(from string, args ...any) []store.Record {
	var texts []string
	var out []store.Record
	list(t, &out, func(row pgx.CollectableRow) (r store.Record, err error) {
		texts = append(texts, "")
		err = row.Scan(&texts[len(texts)-1], &r.Vector)
		return r, err
	}, `SELECT memory, vector FROM `+from, args...)
	t.finish()
	t.check(plan.Each(len(out), func(i int) error { return plan.Decode("record", texts[i], &out[i].Memory) }))
	return out
}

// Get implements [store.Records].
func (s *Store) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	doing := fmt.Sprintf("get %d records of %s", len(ids), p)
	return call(ctx, s, reading, doing, p, "", func(t *tx) []store.Record {
		return t.records(`unnest($2::bytea[]) WITH ORDINALITY AS wanted (id, place) JOIN @records r ON r.id = wanted.id
			WHERE part = `+own+` ORDER BY place`, t.name, bytesOf(ids))
	})
}

// changesPage is how many records (and tombstones) a page of changes has, before it is rounded up
// to a whole batch.
const changesPage = 1000

// Changes implements [store.Records].
func (s *Store) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	doing := "changes of " + p.String()
	since, err := parsePlace(cursor)
	if err != nil {
		return nil, describe(doing, err)
	}
	part, err := call(ctx, s, reading, doing, p, "", (*tx).partition)
	switch {
	case err != nil:
		return nil, err
	case part.at(part.Version) == since:
		return &store.ChangeSet{Version: part.Version, Cursor: cursor, Embedding: part.embedding()}, nil
	}
	return call(ctx, s, paging, doing, p, "", func(t *tx) *store.ChangeSet { return t.changes(since) })
}

// partition reads the row of the partition.
func (t *tx) partition() partition { return first(ask(t, rowTo[partition], selectPartition, t.name)) }

// lastVersion selects the last version of a page that begins after $2, at most $4. The page has
// about $3 records, and tombstones, and only whole batches.
const lastVersion = `SELECT coalesce(min(version), $4) FROM (
	(SELECT version FROM @records WHERE part = $1 AND version > $2 ORDER BY version LIMIT 1 OFFSET $3 - 1)
	UNION ALL (SELECT version FROM @tombstones WHERE part = $1 AND version > $2 ORDER BY version LIMIT 1 OFFSET $3 - 1)) ends`

// changes reads one page.
func (t *tx) changes(since place) *store.ChangeSet {
	part := t.partition()
	out := &store.ChangeSet{Embedding: part.embedding()}
	// A partition of another key was dropped. A version ahead may be lost, and so may one that
	// a server had before its start.
	if since.part != 0 && (since.part != part.PK || since.at > part.Version || since.server != part.Server) {
		since, out.Reset = place{}, true
	}
	if part.PK == 0 {
		return out
	}
	out.Version = first(ask(t, pgx.RowTo[int64], lastVersion, part.PK, since.at, changesPage, part.Version))
	out.Cursor, out.More = part.at(out.Version).String(), out.Version < part.Version
	const within = `part = $1 AND version > $2 AND version <= $3 ORDER BY version, id`
	if since.at > 0 { // a new reader has nothing to remove
		list(t, &out.Removed, rowToID, `SELECT id FROM @tombstones WHERE `+within, part.PK, since.at, out.Version)
	}
	out.Records = t.records(`@records WHERE `+within, part.PK, since.at, out.Version)
	return out
}

// History implements [store.Records].
func (s *Store) History(ctx context.Context, p backends.Partition, id string) ([]backends.Event, error) {
	return call(ctx, s, reading, fmt.Sprintf("history of %q", id), p, "", func(t *tx) []backends.Event {
		return decode[backends.Event](t, "event of "+id, ask(t, pgx.RowTo[string],
			`SELECT event FROM @events WHERE part = `+own+` AND id = $2 ORDER BY pk`, t.name, []byte(id)))
	})
}

// Deleted implements [store.Records].
func (s *Store) Deleted(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "deleted memories", p, page, `SELECT DISTINCT id FROM @events e WHERE part = `+own+` AND id >= $2
		AND NOT EXISTS (SELECT 1 FROM @records WHERE part = e.part AND id = e.id) ORDER BY id LIMIT $3`)
}
