// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	_ "embed" // the scripts are files
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// Every write is one of these scripts. Each declares all its keys, which are of
// one partition.
var (
	//go:embed lua/append.lua
	appendSource string
	//go:embed lua/blob.lua
	blobSource string
	//go:embed lua/changes.lua
	changesSource string
	//go:embed lua/commit.lua
	commitSource string
	//go:embed lua/delete.lua
	deleteSource string
	//go:embed lua/drop.lua
	dropSource string
	//go:embed lua/rest.lua
	restSource string

	appendScript  = redis.NewScript(appendSource)
	blobScript    = redis.NewScript(blobSource)
	changesScript = redis.NewScript(changesSource)
	commitScript  = redis.NewScript(commitSource)
	deleteScript  = redis.NewScript(deleteSource)
	dropScript    = redis.NewScript(dropSource)
	restScript    = redis.NewScript(restSource)
)

// write runs a script that writes, and waits for replicas if so configured.
func (s *Store) write(ctx context.Context, script *redis.Script, keys []string, args ...any) (any, error) {
	if s.config.Replicas == 0 {
		return script.Run(ctx, s.client, keys, args...).Result()
	}
	node, err := s.master(ctx, keys[0])
	if err != nil {
		return nil, err
	}
	out, err := s.writeAndWait(ctx, node, script, keys, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err := script.Load(ctx, node).Err(); err != nil {
			return nil, err
		}
		out, err = s.writeAndWait(ctx, node, script, keys, args)
	}
	return out, err
}

// writeAndWait sends script and WAIT over one connection: WAIT answers for what
// its own connection wrote.
func (s *Store) writeAndWait(ctx context.Context, node redis.Cmdable, script *redis.Script, keys []string, args []any) (any, error) {
	pipe := node.Pipeline()
	written := script.EvalSha(ctx, pipe, keys, args...)
	waited := pipe.Do(ctx, "WAIT", s.config.Replicas, s.config.ReplicaTimeout.Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has its own error
	out, err := written.Result()
	if err != nil {
		return nil, err
	}
	n, err := waited.Int()
	if err != nil {
		return nil, err
	}
	if n < s.config.Replicas {
		return nil, fmt.Errorf("%w: written, but %d of %d replicas confirmed it within %s: a failover may lose it: repeat the call",
			backends.ErrUnavailable, n, s.config.Replicas, s.config.ReplicaTimeout)
	}
	return out, nil
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
	if c, ok := s.client.(*redis.ClusterClient); ok && (redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "READONLY") || isNetwork(err)) {
		c.ReloadState(ctx)
	}
}
