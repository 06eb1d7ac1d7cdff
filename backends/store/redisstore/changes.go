// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

const (
	// changesPage is how many records, and how many tombstones, a page of changes
	// has before it is rounded up to a whole batch.
	changesPage = 1000
	// firstPage is the same for a reader that knows nothing: it can begin to work on
	// a small page while it reads the next.
	firstPage = 250
	// changesAlong is up to how many records the script sends along. More are read
	// by commands of their own, which the server answers faster than a script.
	changesAlong = 64
)

// Changes implements [store.Records]. It takes one round trip, and a second one
// for a page of many records.
func (s *Store) Changes(ctx context.Context, p backends.Partition, since string) (*store.ChangeSet, error) {
	return s.changes(ctx, p, since, true)
}

func (s *Store) changes(ctx context.Context, p backends.Partition, since string, vectors bool) (*store.ChangeSet, error) {
	if err := checkNames(p, ""); err != nil {
		return nil, err
	}
	from, err := parseCursor(since)
	if err != nil {
		return nil, err
	}
	var out *store.ChangeSet
	err = s.do(ctx, "changes of "+p.String(), func() error {
		for out = nil; out == nil; { // nil: dropped while it was read
			if out, err = s.changesPage(ctx, p, from, vectors); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// page is the answer of the changes script.
type page struct {
	cursor   cursor // after the page
	version  int64  // of the partition
	reset    bool
	space    *store.Embedding
	removed  []string
	ids      []string
	versions []int64
	along    rawRecords // what was sent along
}

func (s *Store) changesPage(ctx context.Context, p backends.Partition, from cursor, vectors bool) (*store.ChangeSet, error) {
	k := s.keys(p)
	with, size := "", changesPage
	if from.inc == "" {
		size = firstPage
	}
	if vectors {
		with = "vectors"
	}
	reply, err := changesScript.Run(ctx, s.client, []string{k.meta(), k.records(), k.vectors(), k.changed(), k.deleted(), k.tips()},
		from.inc, from.version, from.seen, from.tip, size, changesAlong, with).Slice()
	if err != nil {
		return nil, err
	}
	if len(reply) == 0 {
		return &store.ChangeSet{Reset: from.inc != ""}, nil
	}
	pg, err := readPage(reply)
	if err != nil {
		return nil, err
	}
	out := &store.ChangeSet{Version: pg.cursor.version, Reset: pg.reset, Removed: pg.removed, Cursor: pg.cursor.String(),
		More: pg.cursor.version < pg.version, Embedding: pg.space}
	if len(pg.ids) == 0 {
		return out, nil
	}
	raw := pg.along
	if len(raw.texts) == 0 {
		if raw, err = s.rawRecords(ctx, p, pg.ids, vectors); err != nil {
			return nil, err
		}
		if raw.inc != pg.cursor.inc {
			return nil, nil
		}
		if raw.keep(pg.versions) {
			out.More = true // they come with the version that they have now
		}
	}
	out.Records, err = raw.decode()
	return out, err
}

func readPage(reply []any) (pg page, err error) {
	if len(reply) != 11 {
		return pg, fmt.Errorf("%w: unexpected answer of a script: %d values", backends.ErrUnavailable, len(reply))
	}
	head := texts([]any{reply[0], reply[2], reply[3]})
	pg.cursor.inc, pg.cursor.tip = head[0], head[2]
	if pg.space, err = parseSpace(head[1]); err != nil {
		return pg, err
	}
	if pg.version, err = number(reply[1]); err != nil {
		return pg, err
	}
	if pg.cursor.version, err = number(reply[5]); err != nil {
		return pg, err
	}
	pg.cursor.seen = pg.version
	pg.reset = reply[4] == int64(1)
	pg.removed, pg.ids = texts(reply[6]), texts(reply[7])
	for _, v := range texts(reply[8]) {
		n, err := number(v)
		if err != nil {
			return pg, err
		}
		pg.versions = append(pg.versions, n)
	}
	pg.along.ids = pg.ids
	pg.along.texts, _ = reply[9].([]any)
	pg.along.vectors, _ = reply[10].([]any)
	return pg, nil
}
