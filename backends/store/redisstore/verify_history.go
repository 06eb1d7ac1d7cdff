// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends/store"
)

// hashed reads fields of a hash and the partition's version, at one moment.
func (i *inspector) hashed(ctx context.Context, key string, fields []string) (values []any, version any, err error) {
	var all *redis.SliceCmd
	var ver *redis.StringCmd
	err = i.atOnce(ctx, func(pipe redis.Pipeliner) error {
		all, ver = pipe.HMGet(ctx, key, fields...), pipe.HGet(ctx, i.keys.meta(), "ver")
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if ver.Err() == nil {
		version = ver.Val()
	}
	return all.Val(), version, nil
}

// history looks at the lines of every history.
func (i *inspector) history(ctx context.Context) error {
	return i.eachField(ctx, i.keys.history(), func(ctx context.Context, ids []string) ([]*finding, error) {
		texts, version, err := i.hashed(ctx, i.keys.history(), ids)
		var out []*finding
		for n, v := range texts {
			if text, ok := v.(string); ok {
				f := &finding{id: ids[n]}
				i.judgeHistory(f, text, version)
				out = append(out, f)
			}
		}
		return out, err
	})
}

func (i *inspector) judgeHistory(f *finding, text string, version any) {
	key := i.keys.history()
	events, err := readEvents(text)
	if err != nil || text == "" {
		f.add(key, fmt.Sprintf("it cannot be read after %d events: write what it was, or remove the line: %v", len(events), err), "")
		return
	}
	last := int64(0)
	for n := range events {
		if e := &events[n]; e.MemoryID != f.id {
			f.add(key, fmt.Sprintf("event %d is of the memory %q: remove the line", n+1, e.MemoryID), "")
		}
		last = max(last, events[n].Version)
	}
	i.judgeAhead(f, key, last, version)
}

// judgeAhead compares the version of something with that of the partition.
func (i *inspector) judgeAhead(f *finding, key string, version int64, have any) {
	if version > counter(have) {
		f.add(key, fmt.Sprintf("it has version %d, the partition %v", version, have), "the partition's version is raised above it: readers start over")
		f.mend = i.raiseTo(have, version+1)
	}
}

// known looks at the idempotency keys, and whether each will be forgotten.
func (i *inspector) known(ctx context.Context) error {
	k := i.keys
	return i.eachField(ctx, k.known(), func(ctx context.Context, ids []string) ([]*finding, error) {
		scores := make([]*redis.FloatCmd, len(ids))
		var texts *redis.SliceCmd
		var ver *redis.StringCmd
		err := i.atOnce(ctx, func(pipe redis.Pipeliner) error {
			texts, ver = pipe.HMGet(ctx, k.known(), ids...), pipe.HGet(ctx, k.meta(), "ver")
			for n, id := range ids {
				scores[n] = pipe.ZScore(ctx, k.knownAt(), id)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		var out []*finding
		for n, v := range texts.Val() {
			text, ok := v.(string)
			if !ok {
				continue
			}
			f := &finding{id: ids[n]}
			i.judgeKnown(f, text, ver)
			if scores[n].Err() != nil {
				f.add(k.knownAt(), "it is not said when the key may be forgotten", "it may be in 31 days")
				if f.mend == nil {
					f.mend = &mending{}
				}
				f.mend.expect(1, "HEXISTS", k.known(), f.id).expect(nil, "ZSCORE", k.knownAt(), f.id).
					do("ZADD", k.knownAt(), micros(i.now().Add(keepKeys)), f.id)
			}
			out = append(out, f)
		}
		return out, nil
	})
}

func (i *inspector) judgeKnown(f *finding, text string, ver *redis.StringCmd) {
	version, _, _, err := readKnown(text)
	if err != nil {
		f.add(i.keys.known(), "it cannot be read, a batch with this key fails: remove the field if none will come: "+err.Error(), "")
		return
	}
	var have any
	if ver.Err() == nil {
		have = ver.Val()
	}
	i.judgeAhead(f, i.keys.known(), version, have)
}

// readKnown reads an entry of T:idem.
func readKnown(text string) (version int64, nonce string, results []store.Result, err error) {
	version, rest, err := unstamp("results", text)
	if err != nil {
		return 0, "", nil, err
	}
	nonce, list, _ := strings.Cut(rest, " ")
	err = decode("results", list, &results)
	return version, nonce, results, err
}

// knownAt looks for entries of T:idemt without a key.
func (i *inspector) knownAt(ctx context.Context) error {
	k := i.keys
	return i.eachMember(ctx, k.knownAt(), func(ctx context.Context, ids []string) ([]*finding, error) {
		known, times := make([]*redis.BoolCmd, len(ids)), make([]*redis.FloatCmd, len(ids))
		err := i.atOnce(ctx, func(pipe redis.Pipeliner) error {
			for n, id := range ids {
				known[n], times[n] = pipe.HExists(ctx, k.known(), id), pipe.ZScore(ctx, k.knownAt(), id)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		var out []*finding
		for n, id := range ids {
			if known[n].Val() || times[n].Err() != nil {
				continue
			}
			f := &finding{id: id}
			f.add(k.knownAt(), "the key does not exist", "the entry is removed")
			f.mend = (&mending{}).expect(0, "HEXISTS", k.known(), id).do("ZREM", k.knownAt(), id)
			out = append(out, f)
		}
		return out, nil
	})
}
