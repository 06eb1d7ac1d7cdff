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

// firstPause and longestPause bound the time between two tries of a call.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// retry calls f, again for as long as Config.Retry if it fails for a transient reason.
// All that f does may be done twice. The result is zero if there is an error.
func retry[T any](ctx context.Context, s *Store, doing string, f func() (T, error)) (T, error) {
	var none T
	if s.closed.Load() {
		return none, fmt.Errorf("redisstore: %s: %w: the store is closed", doing, backends.ErrUnavailable)
	}
	limit := time.NewTimer(s.config.Retry) // of the tries too: each may wait long for an answer
	defer limit.Stop()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		out, err := f()
		if err == nil {
			return out, nil
		}
		if !transient(err) || s.config.Retry < 0 || fired(limit) || ctx.Err() != nil {
			return none, describe(doing, err, ctx)
		}
		s.refreshTopology(ctx, err)
		if !sleep(ctx, pause) {
			return none, describe(doing, err, ctx)
		}
	}
}

// on is retry for a call on a partition and, perhaps, a session, after a check of their names.
func on[T any](ctx context.Context, s *Store, p backends.Partition, session, doing string, f func() (T, error)) (T, error) {
	var none T
	for _, err := range []error{p.Validate(), store.ValidateSession(session)} {
		if err != nil {
			return none, fmt.Errorf("redisstore: %s: %w", doing, err)
		}
	}
	return retry(ctx, s, doing, f)
}

func fired(t *time.Timer) bool {
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}

// sleep waits, and reports whether the context let it.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// master returns the client of the node that the key's slot is written on.
func (s *Store) master(ctx context.Context, key string) (redis.Cmdable, error) {
	if c, ok := s.client.(*redis.ClusterClient); ok {
		return c.MasterForKey(ctx, key)
	}
	return s.client, nil
}

// refreshTopology makes a client of a cluster look again at who has which slot.
func (s *Store) refreshTopology(ctx context.Context, err error) {
	c, ok := s.client.(*redis.ClusterClient)
	if ok && (redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "READONLY") || isNetwork(err)) {
		c.ReloadState(ctx)
	}
}

// pipelined sends commands with one round trip. What does not exist is no error.
func (s *Store) pipelined(ctx context.Context, fill func(redis.Pipeliner)) error {
	return firstError(s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		fill(pipe)
		return nil
	}))
}

// atOnce does the same, and no other client's commands run between these, which
// must be of one partition.
//
// On a Cluster it asks the partition's node itself: the client of the cluster sends
// the MULTI of a transaction that a dead node missed to other nodes, and waits there
// for answers that never come. What a moved slot answers, retry repeats.
func (s *Store) atOnce(ctx context.Context, fill func(redis.Pipeliner)) error {
	pipe := s.client.Pipeline()
	fill(pipe)
	all := pipe.Cmds()
	key, _ := all[0].Args()[1].(string)
	node, err := s.master(ctx, key)
	if err != nil {
		return err
	}
	send := func(pipe redis.Pipeliner) error {
		for _, cmd := range all {
			_ = pipe.Process(ctx, cmd) // which only queues it
		}
		return nil
	}
	err = firstError(node.TxPipelined(ctx, send))
	if redis.IsOOMError(err) { // Redis 7.0 refuses every transaction then: but for removals, nothing happens between
		err = firstError(node.Pipelined(ctx, send))
	}
	return err
}

// firstError looks at every command: go-redis reports the first error alone, which
// may be that a field does not exist. Of a transaction that was refused as a whole it
// returns the reason.
func firstError(cmds []redis.Cmder, err error) error {
	var aborted error
	for _, cmd := range cmds {
		switch e := cmd.Err(); {
		case e == nil || isNil(e):
		case redis.IsExecAbortError(e):
			aborted = e
		default:
			return e
		}
	}
	if isNil(err) {
		return aborted
	}
	return err
}
