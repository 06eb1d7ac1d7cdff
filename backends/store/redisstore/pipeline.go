// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// pipelined sends commands with one round trip. What does not exist is no error.
func (s *Store) pipelined(ctx context.Context, fill func(redis.Pipeliner) error) error {
	return firstError(s.client.Pipelined(ctx, fill))
}

// atOnce does the same, and nothing of others happens between the commands, which
// must be of one partition.
//
// On a Cluster it asks the partition's node itself: the client of the cluster sends
// the MULTI of a transaction that a dead node missed to other nodes, and waits there
// for answers that never come. What a moved slot answers, [Store.do] repeats.
func (s *Store) atOnce(ctx context.Context, fill func(redis.Pipeliner) error) error {
	pipe := s.client.Pipeline()
	if err := fill(pipe); err != nil || pipe.Len() == 0 {
		return err
	}
	all := pipe.Cmds()
	key, _ := all[0].Args()[1].(string)
	node, err := s.master(ctx, key)
	if err != nil {
		return err
	}
	again := func(pipe redis.Pipeliner) error {
		for _, cmd := range all {
			_ = pipe.Process(ctx, cmd) // which puts it there
		}
		return nil
	}
	err = firstError(node.TxPipelined(ctx, again))
	if redis.IsOOMError(err) { // Redis 7.0 refuses every transaction then: but for removals, nothing happens between
		err = firstError(node.Pipelined(ctx, again))
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
