// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// serverInfo is what New learns of the server. What it does not tell is zero.
type serverInfo struct {
	name    string // redis or valkey
	version [3]int
	policy  string // maxmemory-policy
	cluster bool
	replica bool
}

func (i *serverInfo) String() string {
	return fmt.Sprintf("%s %d.%d.%d", i.name, i.version[0], i.version[1], i.version[2])
}

// atLeast compares the version, which is unknown as zero, with another.
func (i *serverInfo) atLeast(version ...int) bool {
	for n, v := range version {
		if i.version[n] != v {
			return i.version[n] > v
		}
	}
	return true
}

// check looks at the server, and returns all that is missing in one error.
func (s *Store) check(ctx context.Context) error {
	if _, ok := s.client.(*redis.Ring); ok {
		return fmt.Errorf("%w: a Ring spreads keys without moving them: use a Cluster", backends.ErrInvalid)
	}
	if err := s.client.Ping(ctx).Err(); err != nil {
		return describe("ping", err, ctx)
	}
	var problems []error
	if err := s.readInfo(ctx); err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, s.judge()...)
	if err := s.tryScript(ctx); err != nil {
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	s.warn(ctx)
	return nil
}

// readInfo asks the server for its version and role. One that does not tell, as
// some managed ones, is taken as it is.
func (s *Store) readInfo(ctx context.Context) error {
	text, err := s.client.Info(ctx).Result()
	if err != nil {
		if _, ok := reasonOf(err); !errors.As(err, new(redis.Error)) || ok && !redis.IsPermissionError(err) {
			return describe("info", err, ctx)
		}
	}
	fields := parseInfo(text)
	version := fields["redis_version"]
	s.server = serverInfo{name: "redis", policy: fields["maxmemory_policy"], cluster: fields["cluster_enabled"] == "1", replica: fields["role"] == "slave"}
	if v := fields["valkey_version"]; v != "" {
		s.server.name, version = "valkey", v
	}
	for i, part := range strings.SplitN(version, ".", 3) {
		s.server.version[i], _ = strconv.Atoi(part) // a suffix, as in 8.0-rc1, counts as 0
	}
	if s.server.policy == "" {
		if got, err := s.client.ConfigGet(ctx, "maxmemory-policy").Result(); err == nil {
			s.server.policy = got["maxmemory-policy"]
		}
	}
	return nil
}

func parseInfo(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[k] = v
		}
	}
	return out
}

// judge says what of the server's state makes it unusable.
func (s *Store) judge() []error {
	var out []error
	if s.server.version != [3]int{} && s.server.name == "redis" && !s.server.atLeast(6, 2) {
		out = append(out, fmt.Errorf("%w: it is %s: Redis 6.2 or later, or Valkey, is needed", backends.ErrInvalid, &s.server))
	}
	_, single := s.client.(*redis.Client)
	if s.server.cluster && single {
		out = append(out, fmt.Errorf("%w: it is a node of a cluster: use redis.NewClusterClient, or a URL with cluster=true", backends.ErrInvalid))
	}
	if s.server.replica && single {
		out = append(out, fmt.Errorf("%w: it is a read-only replica: give the address of the master, or those of the Sentinels", backends.ErrUnavailable))
	}
	return out
}

// tryScript makes sure that scripts may be run, with all commands that they call.
func (s *Store) tryScript(ctx context.Context) error {
	forbidden, err := s.client.Eval(ctx, probeSource, []string{"{" + s.config.Prefix + ":probe}"}).StringSlice()
	switch {
	case len(forbidden) > 0:
		return fmt.Errorf("%w: the user may not run %s, which scripts call: see \"Permissions\" in the package comment",
			backends.ErrUnavailable, strings.Join(forbidden, ", "))
	case err == nil, errors.Is(err, redis.Nil):
		return nil
	case redis.HasErrorPrefix(err, "NOPERM"), strings.Contains(err.Error(), "unknown command"):
		return fmt.Errorf("%w: scripts are needed and not allowed: let the user run EVAL, EVALSHA and SCRIPT LOAD (ACL: +@scripting), on keys that begin with %s or {%s: %w",
			backends.ErrUnavailable, s.config.Prefix, s.config.Prefix, err)
	}
	return describe("try a script", err, ctx)
}

// maxSkew is how far the clocks of process and server may be apart without a
// warning.
const maxSkew = 2 * time.Second

// warn logs what is dangerous and not wrong.
func (s *Store) warn(ctx context.Context) {
	s.warnNear(ctx)
	log := s.config.Logger.With("server", s.server.String())
	switch policy := s.server.policy; {
	case strings.HasPrefix(policy, "allkeys-"):
		log.WarnContext(ctx, "redisstore: the server throws memories away when its memory is full: set maxmemory-policy to noeviction", "maxmemory-policy", policy)
	case strings.HasPrefix(policy, "volatile-"):
		log.WarnContext(ctx, "redisstore: the server throws away sessions that have a time to live when its memory is full: set maxmemory-policy to noeviction", "maxmemory-policy", policy)
	}
	if !heedsDeadlines(s.client) {
		log.WarnContext(ctx, "redisstore: while the server does not answer, a call outlasts the deadline of its context: set ContextTimeoutEnabled in the client's options, as Open does")
	}
	if t, err := s.client.Time(ctx).Result(); err == nil {
		if skew := backends.SystemClock().Sub(t); skew.Abs() > maxSkew {
			log.WarnContext(ctx, "redisstore: the clocks of this process and of the server differ: leases end too early or too late", "by", skew)
		}
	}
}

// heedsDeadlines reports whether the client ends a command with its context.
func heedsDeadlines(client redis.UniversalClient) bool {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	}
	return true // who knows
}
