// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/einomem/einomem/backends"
)

const (
	// nearPage is how many changes are read at once, and nearRead how many of the
	// records with their vectors.
	nearPage, nearRead = 1000, 256
)

// errLost says that the lease, or the index, is not the one that it was.
var errLost = errors.New("somebody else has the index now")

// indexer brings the index of a partition up to date.
type indexer struct {
	*Store
	p      backends.Partition
	keys   keys
	decode func([]byte) ([]float32, error)
	owner  string
	chunk  int // how many changes the next script writes
	// patient repeats each step for as long as Config.Retry, since the whole takes
	// longer than that; else the caller repeats the whole.
	patient bool
}

func (s *Store) newIndexer(p backends.Partition, decode func([]byte) ([]float32, error)) *indexer {
	return &indexer{Store: s, p: p, keys: s.keys(p), decode: decode, owner: newNonce(), chunk: 8}
}

// step does a part of the work.
func (b *indexer) step(ctx context.Context, f func() error) error {
	if !b.patient {
		return f()
	}
	return b.do(ctx, "build the index of "+b.p.String(), f)
}

// build brings the index up to the version that the partition has now.
func (b *indexer) build(ctx context.Context) error {
	b.patient = true
	target := int64(-1)
	for {
		var o *outlook
		err := b.step(ctx, func() (err error) {
			o, err = b.look(ctx, b.p, b.owner, math.MaxInt32)
			return err
		})
		if err != nil {
			return err
		}
		if o.inc == "" {
			return nil
		}
		if target < 0 {
			target = o.version
		}
		if o.mine {
			if o, err = b.catchUp(ctx, o); err != nil && !errors.Is(err, errLost) {
				return err
			}
		}
		if err == nil && o.reaches(target) {
			return nil
		}
		if !sleep(ctx, nearPoll) {
			return describe("build the index of "+b.p.String(), context.Cause(ctx), ctx)
		}
	}
}

// catchUp writes all that the index lacks, under the lease that the look has taken,
// and gives it back.
func (b *indexer) catchUp(ctx context.Context, o *outlook) (*outlook, error) {
	at := *o
	defer func() {
		if at.mine { // with the last page it is back already
			b.release(ctx, b.p, b.owner)
		}
	}()
	for !at.reaches(o.version) {
		if err := b.step(ctx, func() error { return b.page(ctx, &at) }); err != nil {
			return nil, err
		}
	}
	return &at, nil
}

// page takes one page of changes over into the index.
func (b *indexer) page(ctx context.Context, at *outlook) error {
	pg, err := b.next(ctx, at)
	if err != nil {
		return err
	}
	w := &nearWrites{indexer: b, at: at, next: pg.cursor, last: pg.cursor.version >= pg.version}
	if at.cursor == "" && at.card > 0 {
		if pg.removed, err = b.orphans(ctx); err != nil {
			return err
		}
	}
	for _, id := range pg.removed {
		w.list = append(w.list, nearWrite{what: "drop", id: id})
	}
	for start := 0; start < len(pg.ids); start += nearRead {
		end := min(start+nearRead, len(pg.ids))
		if err := w.read(ctx, pg.ids[start:end], pg.versions[start:end]); err != nil {
			return err
		}
		if err := w.send(ctx, false); err != nil {
			return err
		}
	}
	return w.send(ctx, true)
}

// next reads which records the next page of changes has.
func (b *indexer) next(ctx context.Context, at *outlook) (pg page, err error) {
	from, err := parseCursor(at.cursor)
	if err != nil { // somebody else wrote to the state
		return pg, b.startOver(ctx)
	}
	k := b.keys
	reply, err := changesScript.Run(ctx, b.client, []string{k.meta(), k.records(), k.vectors(), k.changed(), k.deleted(), k.tips()},
		from.inc, from.version, from.seen, from.tip, nearPage, 0, "").Slice()
	if err != nil {
		return pg, err
	}
	if len(reply) == 0 { // dropped
		return pg, errLost
	}
	if pg, err = readPage(reply); err != nil || !pg.reset {
		return pg, err
	}
	return pg, b.startOver(ctx) // the past of the index is not that of the partition
}

// startOver erases the index; what follows is a new one.
func (b *indexer) startOver(ctx context.Context) error {
	if err := b.dropNear(ctx, b.p); err != nil {
		return err
	}
	return errLost
}

// orphans returns the memories in the index that the partition has no more. The
// first page of changes does not tell of what was deleted, and an earlier attempt at
// it may have stopped half-way.
func (b *indexer) orphans(ctx context.Context) ([]string, error) {
	var out []string
	for cursor := uint64(0); ; {
		fields, next, err := b.client.HScanNoValues(ctx, b.keys.nearState(), cursor, entry("*"), nearPage).Result()
		if err != nil {
			return nil, err
		}
		for i, field := range fields {
			fields[i] = strings.TrimPrefix(field, entry(""))
		}
		if len(fields) > 0 {
			versions, err := b.client.ZMScore(ctx, b.keys.changed(), fields...).Result()
			if err != nil {
				return nil, err
			}
			for i, v := range versions {
				if v == 0 {
					out = append(out, fields[i])
				}
			}
		}
		if cursor = next; cursor == 0 {
			return out, nil
		}
	}
}
