// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

const (
	// changesPage is how many records, and how many tombstones, a page of changes has
	// before it is rounded up to a whole batch.
	changesPage = 1000
	// changesAlong is the most records that the script itself returns. Commands of their
	// own read more, which the server answers faster than a script.
	changesAlong = 64
)

// Changes implements [store.Records]. It takes one round trip, and a second one
// for a page of many records.
func (s *Store) Changes(ctx context.Context, p backends.Partition, since string) (*store.ChangeSet, error) {
	from, err := decodeCursor("changes", since, cursor.legal)
	if err != nil {
		return nil, err
	}
	return on(ctx, s, p, "", "changes of "+p.String(), func() (*store.ChangeSet, error) {
		for { // until a read is free of a drop
			out, err := s.changesPage(ctx, p, from)
			if out != nil || err != nil {
				return out, err
			}
		}
	})
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
	records  rawRecords // empty if they have to be read
}

// changesPage returns nil if the partition was dropped between the script and the reading
// of its records.
func (s *Store) changesPage(ctx context.Context, p backends.Partition, from cursor) (*store.ChangeSet, error) {
	k := s.keys(p)
	reply, err := changesScript.Run(ctx, s.client, k.all()[:10],
		from.Inc, from.Version, from.Seen, from.Tip, changesPage, changesAlong).Slice()
	if err != nil {
		return nil, err
	}
	if len(reply) == 0 {
		return &store.ChangeSet{Reset: from.Inc != ""}, s.vanished(ctx, p)
	}
	pg, err := readPage(reply)
	if err != nil {
		return nil, err
	}
	out := &store.ChangeSet{Version: pg.cursor.Version, Reset: pg.reset, Removed: pg.removed, Cursor: encodeCursor(pg.cursor),
		More: pg.cursor.Version < pg.version, Embedding: pg.space}
	if len(pg.ids) == 0 {
		return out, nil
	}
	if len(pg.records.texts) == 0 {
		if pg.records, err = s.rawRecords(ctx, p, pg.ids); err != nil {
			return nil, err
		}
		if pg.records.inc != pg.cursor.Inc {
			return nil, nil
		}
		if pg.records.keep(pg.versions) {
			out.More = true // the others come with the versions that they have now
		}
	}
	out.Records, err = pg.records.decode()
	return out, err
}

func readPage(reply []any) (pg page, err error) {
	if len(reply) != 11 {
		return pg, badAnswer(reply)
	}
	head := texts(reply[:4])
	pg.cursor.Inc, pg.cursor.Tip = head[0], head[3]
	if pg.space, err = parseSpace(head[2]); err != nil {
		return pg, err
	}
	if pg.version, err = number(reply[1]); err != nil {
		return pg, err
	}
	if pg.cursor.Version, err = number(reply[5]); err != nil {
		return pg, err
	}
	pg.cursor.Seen = pg.version
	pg.reset = reply[4] == int64(1)
	pg.removed, pg.ids = texts(reply[6]), texts(reply[7])
	pg.records.texts, _ = reply[9].([]any)
	pg.records.vectors, _ = reply[10].([]any)
	pg.versions, err = numbers(reply[8])
	return pg, err
}

func parseSpace(text string) (*store.Embedding, error) {
	if text == "" {
		return nil, nil
	}
	space := &store.Embedding{}
	return space, plan.Decode("embedding", text, space)
}

// cursor is a reader's position in a partition's changes. Its nonce shows whether the
// server lost changes that the reader has read.
type cursor struct {
	Inc     string // the epoch of the partition
	Version int64  // the version up to which it has read
	Seen    int64  // the partition's version when it read
	Tip     string // the nonce of that version; empty for version 0
}

func (c cursor) legal() bool { return c.Inc != "" && 0 <= c.Version && c.Version <= c.Seen }

// newNonce returns a random number of 64 bits as 11 characters. It distinguishes two
// commits, or two epochs of a partition; it needs no secrecy.
func newNonce() string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, rand.Uint64()))
}
