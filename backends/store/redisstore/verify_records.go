// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// recordState is a record with its entries in the indexes, read at one moment.
type recordState struct {
	text             any // nil: there is none
	changed, deleted any // scores; nil: not there
	history          bool
}

// read reads what belongs to some ids, and the version of the partition.
func (i *inspector) read(ctx context.Context, ids []string) ([]recordState, int64, error) {
	k := i.keys
	var version *redis.StringCmd
	var recs *redis.SliceCmd
	chg, del, his := make([]*redis.FloatCmd, len(ids)), make([]*redis.FloatCmd, len(ids)), make([]*redis.BoolCmd, len(ids))
	err := i.atOnce(ctx, func(pipe redis.Pipeliner) error {
		version = pipe.HGet(ctx, k.meta(), "ver")
		recs = pipe.HMGet(ctx, k.records(), ids...)
		for n, id := range ids {
			chg[n], del[n], his[n] = pipe.ZScore(ctx, k.changed(), id), pipe.ZScore(ctx, k.deleted(), id), pipe.HExists(ctx, k.history(), id)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	out := make([]recordState, len(ids))
	for n := range ids {
		out[n] = recordState{text: recs.Val()[n], changed: score(chg[n]), deleted: score(del[n]), history: his[n].Val()}
	}
	return out, counter(version.Val()), nil
}

// score is what ZSCORE answered: nil for nothing.
func score(cmd *redis.FloatCmd) any {
	if cmd.Err() != nil {
		return nil
	}
	return scoreText(cmd.Val())
}

func scoreText(f float64) string { return fmt.Sprintf("%.17g", f) }

// records looks at every record: its text, its entries in the indexes, its chain.
func (i *inspector) records(ctx context.Context) error {
	return i.eachField(ctx, i.keys.records(), func(ctx context.Context, ids []string) ([]*finding, error) {
		states, version, err := i.read(ctx, ids)
		if err != nil {
			return nil, err
		}
		out := make([]*finding, 0, len(ids))
		var chained []backends.Memory
		for n, id := range ids {
			f := &finding{id: id}
			out = append(out, f)
			if m := i.judgeRecord(f, &states[n], version); m != nil && (m.Supersedes != "" || m.SupersededBy != "") {
				chained = append(chained, *m)
			}
		}
		broken, err := i.chains(ctx, chained)
		return append(out, broken...), err
	})
}

// judgeRecord returns the memory if it can be read.
func (i *inspector) judgeRecord(f *finding, r *recordState, version int64) *backends.Memory {
	text, ok := r.text.(string)
	if !ok { // removed meanwhile
		return nil
	}
	k := i.keys
	stamp, rest, err := unstamp("record", text)
	var m backends.Memory
	if err == nil {
		err = decode("record", rest, &m)
	}
	switch {
	case err != nil:
		f.add(k.records(), "it cannot be read: write what it was (from an export), or remove the field, then repair: "+err.Error(), "")
		return nil
	case m.ID != f.id:
		f.add(k.records(), fmt.Sprintf("it is the memory %q: write what it was (from an export), or remove the field, then repair", m.ID), "")
	}
	if !r.history {
		f.add(k.history(), "the record has no history, not even of its beginning: it is lost", "")
	}
	i.judgeStamp(f, r, stamp, version, rest)
	return &m
}

// judgeStamp compares the version of a record with the indexes. A record that they
// do not tell of as they should is written anew, so that every reader gets it.
func (i *inspector) judgeStamp(f *finding, r *recordState, stamp, version int64, rest string) {
	k, fix := i.keys, "it is written again with a new version"
	before := len(f.problems)
	switch {
	case r.changed == nil:
		f.add(k.changed(), "the record is missing: no reader gets it", fix)
	case r.changed != scoreText(float64(stamp)):
		f.add(k.changed(), fmt.Sprintf("the record has version %d, here %v", stamp, r.changed), fix)
	}
	if stamp > version || stamp < 1 {
		f.add(k.records(), fmt.Sprintf("the record has version %d, the partition %d", stamp, version), fix)
	}
	if r.deleted != nil {
		f.add(k.deleted(), fmt.Sprintf("the record exists, here it is deleted at version %v: readers drop it", r.deleted), fix)
	}
	if len(f.problems) == before {
		return
	}
	f.mend = (&mending{raise: true}).expect(r.text, "HGET", k.records(), f.id).
		expect(r.changed, "ZSCORE", k.changed(), f.id).expect(r.deleted, "ZSCORE", k.deleted(), f.id).
		do("HSET", k.records(), f.id, stamped(rest)).do("ZADD", k.changed(), theVersion, f.id).do("ZREM", k.deleted(), f.id)
}

// changed looks for entries of T:chg without a record.
func (i *inspector) changed(ctx context.Context) error {
	k := i.keys
	return i.eachMember(ctx, k.changed(), func(ctx context.Context, ids []string) ([]*finding, error) {
		states, _, err := i.read(ctx, ids)
		var out []*finding
		for n, r := range states {
			if r.text != nil || r.changed == nil {
				continue
			}
			f := &finding{id: ids[n]}
			f.add(k.changed(), fmt.Sprintf("the record of version %v does not exist: it is lost; import it from an export if there is one", r.changed), "it counts as deleted, so that readers drop it")
			f.mend = (&mending{raise: true}).expect(0, "HEXISTS", k.records(), f.id).expect(r.changed, "ZSCORE", k.changed(), f.id).
				do("ZREM", k.changed(), f.id).do("ZADD", k.deleted(), theVersion, f.id)
			out = append(out, f)
		}
		return out, err
	})
}

// vectors looks for vectors without a record.
func (i *inspector) vectors(ctx context.Context) error {
	k := i.keys
	return i.eachField(ctx, k.vectors(), func(ctx context.Context, ids []string) ([]*finding, error) {
		recs, vecs := make([]*redis.BoolCmd, len(ids)), make([]*redis.BoolCmd, len(ids))
		err := i.atOnce(ctx, func(pipe redis.Pipeliner) error {
			for n, id := range ids {
				recs[n], vecs[n] = pipe.HExists(ctx, k.records(), id), pipe.HExists(ctx, k.vectors(), id)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		var out []*finding
		for n, id := range ids {
			if recs[n].Val() || !vecs[n].Val() {
				continue
			}
			f := &finding{id: id}
			f.add(k.vectors(), "it is the vector of a record that does not exist", "it is removed")
			f.mend = (&mending{}).expect(0, "HEXISTS", k.records(), id).do("HDEL", k.vectors(), id)
			out = append(out, f)
		}
		return out, nil
	})
}

// chains looks at what records say of those before and after them. A record that
// was deleted leaves its history; so does one that had another predecessor once.
func (i *inspector) chains(ctx context.Context, all []backends.Memory) ([]*finding, error) {
	var out []*finding
	for n := range all {
		m := &all[n]
		for _, link := range []chain{
			{m.ID, m.SupersededBy, "superseded by", func(o *backends.Memory) string { return o.Supersedes }, func(e *backends.Event) string { return e.Supersedes }},
			{m.ID, m.Supersedes, "the successor of", func(o *backends.Memory) string { return o.SupersededBy }, func(e *backends.Event) string { return e.By }},
		} {
			if link.to == "" {
				continue
			}
			what, err := i.follow(ctx, &link)
			if err != nil {
				return nil, err
			}
			if what != "" {
				f := &finding{id: m.ID}
				f.add(i.keys.records(), what, "")
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// chain is one end of a supersession.
type chain struct {
	from, to string
	word     string
	back     func(*backends.Memory) string // what the other end says
	told     func(*backends.Event) string  // what its history says
}

// follow says what is wrong with the other end of a chain; empty if nothing is.
func (i *inspector) follow(ctx context.Context, c *chain) (string, error) {
	k := i.keys
	var own, text, history *redis.StringCmd
	err := i.atOnce(ctx, func(pipe redis.Pipeliner) error {
		own, text, history = pipe.HGet(ctx, k.records(), c.from), pipe.HGet(ctx, k.records(), c.to), pipe.HGet(ctx, k.history(), c.to)
		return nil
	})
	if err != nil {
		return "", err
	}
	self, ok := memoryOf(own)
	if !ok || self.SupersededBy != c.to && self.Supersedes != c.to {
		return "", nil // changed meanwhile
	}
	if !exists(text) {
		if !exists(history) {
			return fmt.Sprintf("it is %s %q, which neither exists nor ever did", c.word, c.to), nil
		}
		return "", nil
	}
	other, ok := memoryOf(text)
	if !ok || c.back(other) == c.from || c.isTold(history.Val()) {
		return "", nil // what cannot be read is a problem of its own
	}
	return fmt.Sprintf("it is %s %q, which knows nothing of it: put the record with the link that is right", c.word, c.to), nil
}

func exists(cmd *redis.StringCmd) bool { return cmd.Err() == nil }

// memoryOf reads an entry of T:rec, if it is there and can be read.
func memoryOf(cmd *redis.StringCmd) (*backends.Memory, bool) {
	var m backends.Memory
	return &m, exists(cmd) && readMemory(cmd.Val(), &m) == nil
}

// isTold reports whether a history tells of the other end, or cannot be read.
func (c *chain) isTold(history string) bool {
	events, err := readEvents(history)
	return err != nil || len(events) == 0 || slices.ContainsFunc(events, func(e backends.Event) bool { return c.told(&e) == c.from })
}
