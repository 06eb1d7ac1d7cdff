// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// kinds are what the keys of keys.all are, in its order.
var kinds = [...]string{"hash", "hash", "hash", "zset", "zset", "hash", "hash", "zset", "list", "vectorset", "hash", "zset", "zset", "zset"}

// types reports whether each key is of the type that it should be. If not, nothing
// else can be said of the partition.
func (i *inspector) types(ctx context.Context) (sound bool, err error) {
	all := i.keys.all()
	types := make([]*redis.StatusCmd, len(all))
	err = i.try(ctx, func() error {
		return i.pipelined(ctx, func(pipe redis.Pipeliner) error {
			for n, key := range all {
				types[n] = pipe.Type(ctx, key)
			}
			return nil
		})
	})
	if err != nil {
		return false, err
	}
	sound = true
	for n, key := range all {
		if got := types[n].Val(); got != "none" && got != kinds[n] {
			sound = false
			i.out.add(Problem{Key: key, What: fmt.Sprintf("it is a %s, not a %s: somebody else uses the prefix; nothing else was looked at: rename the key, then repair", got, kinds[n])})
		}
	}
	return sound, nil
}

// count fills what the report says was there.
func (i *inspector) count(ctx context.Context) error {
	out := &i.out.Looked
	return i.try(ctx, func() error {
		counts := map[*int]*redis.IntCmd{}
		err := i.pipelined(ctx, func(pipe redis.Pipeliner) error {
			counts[&out.Records] = pipe.HLen(ctx, i.keys.records())
			counts[&out.Vectors] = pipe.HLen(ctx, i.keys.vectors())
			counts[&out.Deleted] = pipe.ZCard(ctx, i.keys.deleted())
			counts[&out.Histories] = pipe.HLen(ctx, i.keys.history())
			counts[&out.Keys] = pipe.HLen(ctx, i.keys.known())
			return nil
		})
		for to, n := range counts {
			*to = int(n.Val())
		}
		return err
	})
}

// metaState is T:meta and what bounds it, read at one moment.
type metaState struct {
	exist                                 int64 // how many other keys there are
	inc, ver, space, floor, moved, born   any   // nil: absent
	version                               int64 // ver as a number; -1: it is none
	changed, deleted, lastMoved, lastBorn float64
	tips                                  int64
	tip                                   string
}

func (i *inspector) readMeta(ctx context.Context) (*metaState, error) {
	var out metaState
	var meta *redis.SliceCmd
	var exist, tips *redis.IntCmd
	var tip *redis.StringCmd
	k := i.keys
	last := make([]*redis.ZSliceCmd, 5)
	err := i.atOnce(ctx, func(pipe redis.Pipeliner) error {
		exist = pipe.Exists(ctx, k.all()[1:]...)
		meta = pipe.HMGet(ctx, k.meta(), "inc", "ver", "space", "floor", "moved", "born")
		for n, key := range []string{k.changed(), k.deleted(), k.sessions(), k.pending(), k.born()} {
			last[n] = pipe.ZRevRangeWithScores(ctx, key, 0, 0)
		}
		tips, tip = pipe.LLen(ctx, k.tips()), pipe.LIndex(ctx, k.tips(), -1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for n, to := range []*any{&out.inc, &out.ver, &out.space, &out.floor, &out.moved, &out.born} {
		*to = meta.Val()[n]
	}
	out.exist, out.tips, out.tip = exist.Val(), tips.Val(), tip.Val()
	out.version = counter(out.ver)
	out.changed, out.deleted = highest(last[0]), highest(last[1])
	out.lastMoved, out.lastBorn = max(highest(last[2]), highest(last[3])), highest(last[4])
	return &out, nil
}

func highest(cmd *redis.ZSliceCmd) float64 {
	if all := cmd.Val(); len(all) > 0 {
		return all[0].Score
	}
	return 0
}

// counter reads a number of T:meta: 0 when it is absent, -1 when it is none.
func counter(v any) int64 {
	text, ok := v.(string)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// meta looks at T:meta. Lives, versions and counters are made anew where they are
// lost: readers then start over.
func (i *inspector) meta(ctx context.Context) error {
	return i.settle(ctx, []string{""}, func(ctx context.Context, _ []string) ([]*finding, error) {
		m, err := i.readMeta(ctx)
		if err != nil || m.exist == 0 && m.inc == nil {
			return nil, err
		}
		return []*finding{i.judgeLife(m), i.judgeVersion(m), i.judgeCounters(m)}, nil
	})
}

func (i *inspector) judgeLife(m *metaState) *finding {
	f, key := &finding{}, i.keys.meta()
	if inc, _ := m.inc.(string); !isNonce(inc) {
		f.add(key, "the life of the partition (inc) is missing: readers find nothing", "a new one is made: readers start over")
		f.mend = (&mending{}).expect(m.inc, "HGET", key, "inc").do("HSET", key, "inc", newNonce())
	}
	if text, ok := m.space.(string); ok {
		if _, err := parseSpace(text); err != nil {
			f.add(key, "the embedding (space) cannot be read: write what it was, or remove the field and re-embed: "+err.Error(), "")
		}
	}
	return f
}

func (i *inspector) judgeVersion(m *metaState) *finding {
	f, k := &finding{}, i.keys
	need := int64(max(m.changed, m.deleted))
	floor := counter(m.floor)
	switch {
	case m.version < need:
		f.add(k.meta(), fmt.Sprintf("the version (ver) is %v, but there are changes of version %d", m.ver, need), "it is raised above them: readers start over")
		f.mend = i.raiseTo(m.ver, need+1)
	case m.version > 0 && !isNonce(m.tip), m.tips > m.version:
		f.add(k.tips(), fmt.Sprintf("it has %d nonces for version %d, the last is %q: readers cannot go on", m.tips, m.version, m.tip), "it is begun anew: readers start over")
		f.mend = i.raiseTo(m.ver, m.version+1)
	}
	if floor < 0 || floor > max(m.version, need) {
		f.add(k.meta(), fmt.Sprintf("the version up to which tombstones were cut (floor) is %v, above the version %d: readers always start over", m.floor, m.version), "it becomes the version")
		if f.mend == nil {
			f.mend = i.raiseTo(m.ver, m.version+1)
		}
		f.mend.expect(m.floor, "HGET", k.meta(), "floor").do("HSET", k.meta(), "floor", max(m.version, need))
	}
	return f
}

// raiseTo sets the version, and begins the list of nonces anew, so that no cursor
// of before is taken for one of after.
func (i *inspector) raiseTo(seen any, version int64) *mending {
	k := i.keys
	return (&mending{}).expect(seen, "HGET", k.meta(), "ver").
		do("HSET", k.meta(), "ver", version).do("DEL", k.tips()).do("RPUSH", k.tips(), newNonce())
}

func (i *inspector) judgeCounters(m *metaState) *finding {
	f, key := &finding{mend: &mending{}}, i.keys.meta()
	for _, c := range []struct {
		field, of string
		have      any
		need      float64
	}{{"moved", "change", m.moved, m.lastMoved}, {"born", "creation", m.born, m.lastBorn}} {
		if n := counter(c.have); float64(n) < c.need {
			f.add(key, fmt.Sprintf("the counter %s is %v, but there are sessions of %s %.0f", c.field, c.have, c.of, c.need), "it is set to that")
			f.mend.expect(c.have, "HGET", key, c.field).do("HSET", key, c.field, int64(c.need))
		}
	}
	if len(f.problems) == 0 {
		f.mend = nil
	}
	return f
}
