// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Health is the state of the server and of the backlog.
type Health struct {
	Ping    time.Duration // one round trip, by Config.Clock
	Server  string        // name and version when the store was opened, such as "redis 7.0.15"; empty if it does not report them
	Backlog Backlog
}

// Backlog is what was appended to sessions and not learnt from yet.
type Backlog struct {
	Sessions int
	Messages int64
	Oldest   time.Time // of the oldest message that was not learnt from; zero if there is none

	// Complete is false if there was too much to look at all of it: then the numbers
	// are lower bounds.
	Complete bool
}

const (
	// healthPartitions is how many partitions of the work queue Health looks at.
	healthPartitions = 256
	// healthSessions is how many sessions of each: those that changed the longest ago.
	healthSessions = 16
)

// Health looks at the server, and at the backlog of up to 256 partitions, chosen at
// random if there are more, and of 16 sessions of each. It is made for an endpoint
// that is asked every few seconds: it takes five round trips, and is not retried as
// other calls are, so give it a context with a deadline. A server that cannot be
// reached is ErrUnavailable, never a Health. Read what else there is to know of the
// server, as its memory and its persistence, with INFO.
func (s *Store) Health(ctx context.Context) (*Health, error) {
	if s.closed.Load() {
		return nil, fmt.Errorf("redisstore: health: %w: the store is closed", backends.ErrUnavailable)
	}
	start := s.now()
	err := s.client.Ping(ctx).Err()
	h := &Health{Ping: max(0, s.now().Sub(start)), Server: s.server.String()}
	if err == nil {
		err = s.readBacklog(ctx, &h.Backlog)
	}
	if err != nil {
		return nil, describe("health", err, ctx)
	}
	return h, nil
}

func (s *Store) readBacklog(ctx context.Context, out *Backlog) error {
	sessions, err := s.pendingSessions(ctx, out)
	if err != nil {
		return err
	}
	states, firsts := make([]*redis.SliceCmd, len(sessions)), []*redis.StringCmd{}
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, k := range sessions {
			states[i] = pipe.HMGet(ctx, k.state(), "seq", "watermark", "expires")
		}
	})
	if err != nil {
		return err
	}
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, k := range sessions {
			fields := texts(states[i].Val())
			seq, _ := number(fields[0])
			mark, _ := number(fields[1])
			if gone, err := past(fields[2], s.now()); err == nil && !gone && seq > mark {
				out.Sessions, out.Messages = out.Sessions+1, out.Messages+seq-mark
				firsts = append(firsts, pipe.LIndex(ctx, k.log(), mark))
			}
		}
	})
	for _, first := range firsts {
		var e store.Entry
		if decode("message", first.Val(), &e) != nil {
			continue // learnt from meanwhile; what cannot be read is reported to who reads it
		}
		if out.Oldest.IsZero() || e.Time.Before(out.Oldest) {
			out.Oldest = e.Time
		}
	}
	return err
}

// pendingSessions reads which sessions to look at.
func (s *Store) pendingSessions(ctx context.Context, out *Backlog) (all []sessionKeys, err error) {
	var size *redis.IntCmd
	var names *redis.StringSliceCmd
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
		size, names = pipe.ZCard(ctx, s.workKey()), pipe.ZRandMember(ctx, s.workKey(), healthPartitions)
	})
	if err != nil {
		return nil, err
	}
	out.Complete = size.Val() <= healthPartitions
	pending := make([]*redis.StringSliceCmd, len(names.Val()))
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, name := range names.Val() {
			pending[i] = pipe.ZRange(ctx, s.named(name).pending(), 0, healthSessions)
		}
	})
	for i, name := range names.Val() {
		ids := pending[i].Val()
		out.Complete = out.Complete && len(ids) <= healthSessions
		for _, id := range ids[:min(len(ids), healthSessions)] {
			all = append(all, s.named(name).session(id))
		}
	}
	return all, err
}
