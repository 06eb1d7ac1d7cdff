// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	_ "embed" // the scripts are files

	"github.com/redis/go-redis/v9"
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
	//go:embed lua/probe.lua
	probeSource string
	//go:embed lua/gone.lua
	goneSource string
	//go:embed lua/rest.lua
	restSource string
	//go:embed lua/sizes.lua
	sizesSource string

	appendScript  = redis.NewScript(appendSource)
	blobScript    = redis.NewScript(blobSource)
	changesScript = redis.NewScript(changesSource)
	commitScript  = redis.NewScript(commitSource)
	deleteScript  = redis.NewScript(deleteSource)
	dropScript    = redis.NewScript(dropSource)
	goneScript    = redis.NewScript(goneSource)
	restScript    = redis.NewScript(restSource)
	sizesScript   = redis.NewScript(sizesSource)
)

// write runs a script that writes, and waits for replicas if so configured.
func (s *Store) write(ctx context.Context, script *redis.Script, keys []string, args ...any) (any, error) {
	if s.config.Replicas == 0 {
		return script.Run(ctx, s.client, keys, args...).Result()
	}
	out, err := s.writeAndWait(ctx, script, keys, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		node, merr := s.master(ctx, keys[0])
		if merr != nil {
			return nil, merr
		}
		if err := script.Load(ctx, node).Err(); err != nil {
			return nil, err
		}
		out, err = s.writeAndWait(ctx, script, keys, args)
	}
	return out, err
}

func (s *Store) writeAndWait(ctx context.Context, script *redis.Script, keys []string, args []any) (any, error) {
	var written *redis.Cmd
	err := s.confirmed(ctx, keys[0], func(pipe redis.Pipeliner) redis.Cmder {
		written = script.EvalSha(ctx, pipe, keys, args...)
		return written
	})
	if err != nil {
		return nil, err
	}
	return written.Result()
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
