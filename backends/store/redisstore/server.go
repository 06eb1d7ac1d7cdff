// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// serverInfo is New's knowledge of the server. Fields that the server hides are zero.
type serverInfo struct {
	name    string // redis or valkey
	version string
	policy  string // maxmemory-policy
	cluster bool
	replica bool
}

// String returns name and version, or "" for a server that hides them.
func (i *serverInfo) String() string {
	if i.version == "" {
		return ""
	}
	return i.name + " " + i.version
}

// tooOld reports whether it is a Redis before 6.2. A hidden version counts as new enough.
func (i *serverInfo) tooOld() bool {
	var major, minor int
	_, err := fmt.Sscanf(i.version, "%d.%d", &major, &minor)
	return err == nil && i.name == "redis" && (major < 6 || major == 6 && minor < 2)
}

// probe looks at the server, and returns all its problems in one error.
func (s *Store) probe(ctx context.Context) error {
	if _, ok := s.client.(*redis.Ring); ok {
		return fmt.Errorf("%w: a Ring spreads keys without moving them: use a Cluster", backends.ErrInvalid)
	}
	if err := s.client.Ping(ctx).Err(); err != nil {
		if _, encrypts := options(s.client); encrypts && !errors.As(err, new(redis.Error)) && !errors.As(err, new(tls.RecordHeaderError)) {
			err = fmt.Errorf("%w: does it speak TLS? rediss:// is for servers that do, and others may not answer: %w", backends.ErrUnavailable, err)
		}
		return describe("ping", err, ctx)
	}
	err := errors.Join(s.readInfo(ctx), s.judge(), s.tryScript(ctx))
	if err == nil {
		err = s.identify(ctx)
	}
	if err == nil {
		s.warn(ctx)
	}
	return err
}

// identify reads the id of the storage, which the first store on it chooses.
func (s *Store) identify(ctx context.Context) error {
	id, err := s.client.HGet(ctx, s.storeKey(), "id").Result()
	if isNil(err) { // else a full server refuses it
		if err = s.client.HSetNX(ctx, s.storeKey(), "id", newNonce()).Err(); err == nil {
			id, err = s.client.HGet(ctx, s.storeKey(), "id").Result()
		}
	}
	s.id = id
	return describe("name the storage", err, ctx)
}

// readInfo asks the server for its version and role. It accepts a server that hides them,
// as some managed ones do.
func (s *Store) readInfo(ctx context.Context) error {
	text, err := s.client.Info(ctx).Result()
	if err != nil {
		if _, ok := reasonOf(err); !errors.As(err, new(redis.Error)) || ok && !redis.IsPermissionError(err) {
			return describe("info", err, ctx)
		}
	}
	fields := infoFields(text)
	s.server = serverInfo{name: "redis", version: fields["redis_version"], policy: fields["maxmemory_policy"],
		cluster: fields["cluster_enabled"] == "1", replica: fields["role"] == "slave"}
	if v := fields["valkey_version"]; v != "" {
		s.server.name, s.server.version = "valkey", v
	}
	return nil
}

func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[k] = v
		}
	}
	return fields
}

// judge returns the problems that make the server unusable.
func (s *Store) judge() error {
	var problems []error
	if s.server.tooOld() {
		problems = append(problems, fmt.Errorf("%w: it is %s: Redis 6.2 or later, or Valkey, is needed", backends.ErrInvalid, &s.server))
	}
	_, single := s.client.(*redis.Client)
	if s.server.cluster && single {
		problems = append(problems, fmt.Errorf("%w: it is a node of a cluster: "+
			"use redis.NewClusterClient, or a URL with cluster=true", backends.ErrInvalid))
	}
	if s.server.replica && single {
		problems = append(problems, fmt.Errorf("%w: it is a read-only replica: "+
			"give the address of the master, or those of the Sentinels", backends.ErrUnavailable))
	}
	return errors.Join(problems...)
}

// scriptCommands are the commands of the writing scripts. Their arguments write nothing
// to a key that holds a hash, as the probe's key does from the second command on.
var scriptCommands = []any{
	"EXISTS", "HSET x 0", "HGET x", "HMGET x", "HGETALL", "HKEYS", "HEXISTS x", "HLEN", "HDEL y",
	"LINDEX 0", "LLEN", "LRANGE 0 -1", "SCARD", "ZADD 0 x", "ZCARD", "ZCOUNT 0 1", "ZRANGE 0 -1", "ZRANGEBYSCORE 0 1", "ZREM x",
	"ZREMRANGEBYSCORE 0 1", "ZSCORE x", "PTTL", "PERSIST", "PEXPIRE 1000", "DEL", "UNLINK",
}

// tryScript checks that scripts may run, with all commands that they call.
func (s *Store) tryScript(ctx context.Context) error {
	forbidden, err := probeScript.Eval(ctx, s.client, []string{"{" + s.config.Prefix + ":probe}"}, scriptCommands...).StringSlice()
	switch {
	case len(forbidden) > 0:
		return fmt.Errorf("%w: the user may not run %s, which scripts call: see \"Permissions\" in the package comment",
			backends.ErrUnavailable, strings.Join(forbidden, ", "))
	case err == nil, isNil(err):
		return nil
	case redis.HasErrorPrefix(err, "NOPERM"), strings.Contains(err.Error(), "unknown command"):
		return fmt.Errorf("%w: scripts are needed and not allowed: let the user run EVAL, EVALSHA and SCRIPT LOAD "+
			"(ACL: +@scripting), on keys that begin with %s or {%s: %w", backends.ErrUnavailable, s.config.Prefix, s.config.Prefix, err)
	}
	return describe("try a script", err, ctx)
}

// warn logs dangers that leave the server usable.
func (s *Store) warn(ctx context.Context) {
	log := s.config.Logger.With("server", s.server.String())
	switch policy := s.server.policy; {
	case strings.HasPrefix(policy, "allkeys-"):
		log.WarnContext(ctx, "redisstore: the server evicts memories when its memory is full: "+
			"set maxmemory-policy to noeviction", "maxmemory-policy", policy)
	case strings.HasPrefix(policy, "volatile-"):
		log.WarnContext(ctx, "redisstore: the server evicts sessions that have a time to live when its memory is full: "+
			"set maxmemory-policy to noeviction", "maxmemory-policy", policy)
	}
	if heeds, _ := options(s.client); !heeds {
		log.WarnContext(ctx, "redisstore: while the server does not answer, a call outlasts the deadline of its context: "+
			"set ContextTimeoutEnabled in the client's options, as Open does")
	}
}

// options reports whether the client ends a command with its context, and whether it
// speaks TLS. A client of another kind counts as ending its commands.
func options(client redis.UniversalClient) (heedsDeadlines, encrypts bool) {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled, c.Options().TLSConfig != nil
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled, c.Options().TLSConfig != nil
	}
	return true, false
}
