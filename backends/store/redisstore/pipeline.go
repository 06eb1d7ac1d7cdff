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
func (s *Store) atOnce(ctx context.Context, fill func(redis.Pipeliner) error) error {
	return firstError(s.client.TxPipelined(ctx, fill))
}

// firstError looks at every command: go-redis reports the first error alone, which
// may be that a field does not exist.
func firstError(cmds []redis.Cmder, err error) error {
	for _, cmd := range cmds {
		if e := cmd.Err(); e != nil && !isNil(e) {
			return e
		}
	}
	if isNil(err) {
		return nil
	}
	return err
}
