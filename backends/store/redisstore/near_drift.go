// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// driftAttempts is how often the comparison starts over because the index moved on.
const driftAttempts = 3

// nearDrift compares the index of a partition with its records, and returns how many
// of them differ: missing, of another vector, or there although they should not be.
// An index that is only behind has no drift, nor has one that does not exist. For
// verify; the repair is dropNear.
func (s *Store) nearDrift(ctx context.Context, p backends.Partition) (int, error) {
	for range driftAttempts {
		n, err := s.drift(ctx, p)
		if !errors.Is(err, errMoved) {
			return n, err
		}
	}
	return 0, fmt.Errorf("%w: searches move the index of %s on all the time", backends.ErrUnavailable, p)
}

// dropNear erases the index of a partition. The next search builds it anew.
func (s *Store) dropNear(ctx context.Context, p backends.Partition) error {
	k := s.keys(p)
	return s.client.Unlink(ctx, k.near(), k.nearState()).Err()
}

func (s *Store) drift(ctx context.Context, p backends.Partition) (int, error) {
	k := s.keys(p)
	had, err := s.client.HMGet(ctx, k.nearState(), "name", "card").Result()
	if err != nil || had[0] == nil {
		return 0, err
	}
	before, err := s.look(ctx, p, "", -1) // it takes no lease
	if err != nil {
		return 0, err
	}
	if before.name == "" { // the next search will see to it
		card, err := number(had[1])
		return int(max(card-int64(before.card), int64(before.card)-card)), err
	}
	d := &driftCount{Store: s, keys: k, at: before.at, entries: map[string]bool{}}
	if err := d.walk(ctx, p, before.cursor); err != nil {
		return 0, err
	}
	after, err := s.look(ctx, p, "", -1)
	if err != nil {
		return 0, err
	}
	if after.name != before.name || after.at != before.at || after.card != before.card {
		return 0, errMoved
	}
	return d.count(ctx)
}

// driftCount compares records with an index that has reached a version.
type driftCount struct {
	*Store
	keys    keys
	at      int64
	wrong   int
	entries map[string]bool // ids that may have an entry in the index, and whether they have
}

// walk compares all records, and notes those that were deleted since.
func (d *driftCount) walk(ctx context.Context, p backends.Partition, since string) error {
	for cursor := ""; ; {
		c, err := d.changes(ctx, p, cursor, true)
		if err != nil {
			return err
		}
		if err := d.records(ctx, c.Records); err != nil {
			return err
		}
		if cursor = c.Cursor; !c.More {
			break
		}
	}
	for {
		c, err := d.changes(ctx, p, since, false)
		if err != nil {
			return err
		}
		has, err := d.stated(ctx, c.Removed)
		if err != nil {
			return err
		}
		for i, id := range c.Removed {
			d.entries[id] = has[i] != ""
		}
		if since = c.Cursor; !c.More {
			return nil
		}
	}
}

// stated returns what the index says of memories: the hash of the vector that counts.
func (d *driftCount) stated(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	fields := make([]string, len(ids))
	for i, id := range ids {
		fields[i] = entry(id)
	}
	got, err := d.client.HMGet(ctx, d.keys.nearState(), fields...).Result()
	return texts(got), err
}

func (d *driftCount) records(ctx context.Context, records []store.Record) error {
	ids := make([]string, len(records))
	for i := range records {
		ids[i] = records[i].ID
	}
	has, err := d.stated(ctx, ids)
	if err != nil {
		return err
	}
	links := make([]*redis.Cmd, len(records)) // nil for what is not in the set
	err = d.pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			links[i] = pipe.Do(ctx, "VLINKS", d.keys.near(), has[i]+":"+id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range records {
		r := &records[i]
		d.entries[r.ID] = has[i] != ""
		if r.Version <= d.at && !agrees(r, has[i], links[i].Val() != nil) {
			d.wrong++
		}
	}
	return nil
}

// agrees reports whether the index has of a record what it should.
func agrees(r *store.Record, has string, element bool) bool {
	switch hash := hashOf(r.Vector); {
	case !r.Active() || len(r.Vector) == 0:
		return has == ""
	case has == hash:
		return element
	default: // left out, since it could not be used
		return has == "-"+hash
	}
}

// nearFields is how many fields the state of an index has, but for its entries and
// the lease.
const nearFields = 9

// count adds the entries that belong to no record.
func (d *driftCount) count(ctx context.Context) (int, error) {
	var all *redis.IntCmd
	var lease *redis.SliceCmd
	err := d.pipelined(ctx, func(pipe redis.Pipeliner) error {
		all = pipe.HLen(ctx, d.keys.nearState())
		lease = pipe.HMGet(ctx, d.keys.nearState(), "owner", "ends")
		return nil
	})
	if err != nil {
		return 0, err
	}
	extra := int(all.Val()) - nearFields
	for _, v := range lease.Val() {
		if v != nil {
			extra--
		}
	}
	for _, has := range d.entries {
		if has {
			extra--
		}
	}
	return d.wrong + max(0, extra), nil
}
