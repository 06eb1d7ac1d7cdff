// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// Health is how the server and what it holds are.
type Health struct {
	Ping    time.Duration  // one round trip, by Config.Clock
	Servers []ServerHealth // the server, or the masters of a cluster
	Backlog Backlog
	Drift   []Drift // partitions of the sample whose indexes disagree: Repair them

	// Warnings say in words all of the above that wants somebody's attention.
	Warnings []string
}

// Backlog is what was said and not yet learnt from. If it is not Complete there was
// too much to look at all of it, and the numbers are at least so high.
type Backlog struct {
	Partitions int
	Sessions   int
	Messages   int64

	// Oldest is the time of the oldest message not learnt from, Age how long ago
	// that is. Both are zero if there is none.
	Oldest time.Time
	Age    time.Duration

	Complete bool
}

// Drift is a partition whose indexes do not agree.
type Drift struct {
	Partition backends.Partition
	What      string
}

const (
	// healthPartitions is how many partitions with work Health looks at, and how
	// many others.
	healthPartitions = 128
	// healthSessions is how many sessions of each: those that changed the longest ago.
	healthSessions = 16
	// healthNamespaces is how many namespaces the others are taken from.
	healthNamespaces = 8
	// lateAfter is the age of a message not learnt from that is worth a warning.
	lateAfter = time.Hour
)

// Health looks at the server and at a sample of what it holds. It is made for an
// endpoint that is asked every few seconds: it takes seven round trips (one more
// for each further master of a cluster, side by side), whatever the server holds,
// and looks at up to 128 partitions with work, 16 sessions of each, and 128 others,
// all by commands that take no longer for large ones. The sample is another one each
// time. It is not repeated as other calls are: give it a context with a deadline.
//
// A server that cannot be reached is ErrUnavailable, never a Health. What is wrong
// otherwise is in the Warnings: a probe of readiness looks at the error alone.
func (s *Store) Health(ctx context.Context) (*Health, error) {
	if s.closed.Load() {
		return nil, fmt.Errorf("redisstore: health: %w: the store is closed", backends.ErrUnavailable)
	}
	h := &Health{}
	if err := s.health(ctx, h); err != nil {
		return nil, describe("health", err, ctx)
	}
	h.warn(s)
	return h, nil
}

func (s *Store) health(ctx context.Context, h *Health) (err error) {
	start := s.now()
	if err := s.client.Ping(ctx).Err(); err != nil {
		return err
	}
	h.Ping = max(0, s.now().Sub(start))
	if h.Servers, err = s.servers(ctx); err != nil {
		return err
	}
	sample, err := s.sample(ctx)
	if err != nil {
		return err
	}
	if err := s.countAll(ctx, sample); err != nil {
		return err
	}
	for _, l := range sample.all {
		if what := l.drift(); what != "" {
			p, _ := parseMember(l.name) // sample has made sure that it can be
			h.Drift = append(h.Drift, Drift{p, what})
		}
	}
	h.Backlog, err = s.backlog(ctx, sample)
	return err
}

// healthSample is what Health looks at.
type healthSample struct {
	all      []*partitionLook // first those with work
	work     int              // how many of all
	complete bool             // whether these are all with work
}

// partitionLook is what is counted of one partition.
type partitionLook struct {
	name    string // in the registry
	counts  [12]int64
	pending []string
}

// sample chooses partitions at random.
func (s *Store) sample(ctx context.Context) (*healthSample, error) {
	var size *redis.IntCmd
	var work, spaces *redis.StringSliceCmd
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) error {
		size = pipe.ZCard(ctx, s.workKey())
		work = pipe.ZRandMember(ctx, s.workKey(), healthPartitions)
		spaces = pipe.ZRandMember(ctx, s.namespacesKey(), healthNamespaces)
		return nil
	})
	if err != nil {
		return nil, err
	}
	others := make([]*redis.StringSliceCmd, len(spaces.Val()))
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) error {
		for n, space := range spaces.Val() {
			others[n] = pipe.ZRandMember(ctx, s.config.Prefix+":partitions:"+space, healthPartitions/len(others))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &healthSample{}
	seen := map[string]struct{}{}
	out.add(seen, work.Val())
	out.work, out.complete = len(out.all), size.Val() <= healthPartitions
	for n, space := range spaces.Val() {
		for _, name := range others[n].Val() {
			out.add(seen, []string{space + ":" + name})
		}
	}
	return out, nil
}

func (h *healthSample) add(seen map[string]struct{}, names []string) {
	for _, name := range names {
		if _, ok := seen[name]; ok {
			continue
		}
		seen[name] = struct{}{}
		if _, err := parseMember(name); err == nil { // else RepairRegistry says what it is
			h.all = append(h.all, &partitionLook{name: name})
		}
	}
}

// drift says which counters disagree; empty if all agree.
func (l *partitionLook) drift() string {
	c := l.counts
	for _, rule := range []struct {
		wrong bool
		what  string
		a, b  int64
	}{
		{c[0] != c[1], "%d records, %d of them in the order of changes", c[0], c[1]},
		{c[2] > c[0], "%d vectors of %d records", c[2], c[0]},
		{c[3] != c[4], "%d idempotency keys, %d of them to be forgotten", c[3], c[4]},
		{c[6] > c[5], "%d pending sessions of %d", c[6], c[5]},
		{c[5] > c[7], "%d sessions, %d of them ever created", c[5], c[7]},
		{c[9] > c[8], "changes of version %d, the partition has %d", c[9], c[8]},
		{c[8] > 0 && c[10] == 0, "version %d with %d nonces", c[8], c[10]},
		{c[11] == 0 && c[0]+c[7] > 0, "%d records and %d sessions without a life (inc)", c[0], c[7]},
	} {
		if rule.wrong {
			return fmt.Sprintf(rule.what, rule.a, rule.b)
		}
	}
	return ""
}
