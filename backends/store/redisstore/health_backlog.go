// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	_ "embed" // the scripts are files
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

//go:embed lua/counts.lua
var countsSource string

// countAll counts the partitions of a sample, each at one moment. The script is sent
// along, as it is short and a server that was restarted does not know it.
func (s *Store) countAll(ctx context.Context, sample *healthSample) error {
	answers := make([]*redis.Cmd, len(sample.all))
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) error {
		for n, l := range sample.all {
			answers[n] = pipe.Eval(ctx, countsSource, s.named(l.name).all(), healthSessions)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for n, l := range sample.all {
		reply, _ := answers[n].Val().([]any)
		if len(reply) != len(l.counts)+1 {
			return fmt.Errorf("%w: unexpected answer of a script: %v", backends.ErrUnavailable, reply)
		}
		for i := range l.counts {
			if l.counts[i], err = number(reply[i]); err != nil {
				return err
			}
		}
		l.pending = texts(reply[len(l.counts)])
	}
	return nil
}

// waiting is a session with messages not learnt from.
type waiting struct {
	partition *partitionLook
	keys      sessionKeys
	fields    *redis.SliceCmd  // seq, watermark, expires
	message   *redis.StringCmd // the first that was not learnt from
}

// backlog looks at the pending sessions of a sample.
func (s *Store) backlog(ctx context.Context, sample *healthSample) (Backlog, error) {
	out := Backlog{Complete: sample.complete}
	all, err := s.waiting(ctx, sample)
	if err != nil {
		return out, err
	}
	partitions := map[*partitionLook]struct{}{}
	for _, w := range all {
		partitions[w.partition] = struct{}{}
		out.Sessions++
		out.Messages += counter(w.fields.Val()[0]) - counter(w.fields.Val()[1])
		var e store.Entry
		if w.message.Err() != nil || decode("message", w.message.Val(), &e) != nil {
			continue // learnt from meanwhile; what cannot be read is for Verify
		}
		if out.Oldest.IsZero() || e.Time.Before(out.Oldest) {
			out.Oldest = e.Time
		}
	}
	out.Partitions = len(partitions)
	if !out.Oldest.IsZero() {
		out.Age = max(0, s.now().Sub(out.Oldest))
	}
	for _, l := range sample.all[:sample.work] {
		out.Complete = out.Complete && l.counts[6] <= healthSessions
	}
	return out, nil
}

// waiting reads the states of the pending sessions, and the message that each of
// those that exist waits with.
func (s *Store) waiting(ctx context.Context, sample *healthSample) ([]*waiting, error) {
	var all, out []*waiting
	err := s.pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, l := range sample.all[:sample.work] {
			for _, id := range l.pending {
				w := &waiting{partition: l, keys: s.named(l.name).session(id)}
				w.fields = pipe.HMGet(ctx, w.keys.state(), "seq", "watermark", "expires")
				all = append(all, w)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	now := s.now()
	err = s.pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, w := range all {
			f := w.fields.Val()
			expires, _ := f[2].(string)
			gone, err := past(expires, now)
			if err == nil && !gone && counter(f[0]) > counter(f[1]) {
				w.message = pipe.LIndex(ctx, w.keys.log(), counter(f[1]))
				out = append(out, w)
			}
		}
		return nil
	})
	return out, err
}
