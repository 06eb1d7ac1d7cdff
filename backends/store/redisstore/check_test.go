// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"bytes"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// logged returns a configuration that logs to a text.
func logged() (*redisstore.Config, *bytes.Buffer) {
	var b bytes.Buffer
	return &redisstore.Config{Logger: slog.New(slog.NewTextHandler(&b, nil))}, &b
}

func TestNewLooksAtTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		info  []string
		is    error
		says  []string // in one error
		warns string
	}{
		"the oldest":             {info: []string{"redis_version:6.2.0", "role:master"}},
		"a release candidate":    {info: []string{"redis_version:8.0-rc1", "role:master"}},
		"a Valkey":               {info: []string{"redis_version:7.2.4", "valkey_version:8.1.1", "role:master"}},
		"the first Valkey":       {info: []string{"redis_version:7.2.4", "valkey_version:7.2.5"}},
		"one that does not tell": {info: []string{"os:Linux"}},
		"too old":                {info: []string{"redis_version:6.0.16", "role:master"}, is: backends.ErrInvalid, says: []string{"redis 6.0.16", "6.2 or later"}},
		"much too old":           {info: []string{"redis_version:5.0.7"}, is: backends.ErrInvalid, says: []string{"redis 5.0.7"}},
		"a replica":              {info: []string{"redis_version:7.2.0", "role:slave"}, is: backends.ErrUnavailable, says: []string{"read-only replica", "the address of the master"}},
		"a cluster's node":       {info: []string{"redis_version:7.2.0", "cluster_enabled:1"}, is: backends.ErrInvalid, says: []string{"node of a cluster", "NewClusterClient"}},
		"all of it": {info: []string{"redis_version:6.0.1", "cluster_enabled:1", "role:slave"}, is: backends.ErrInvalid,
			says: []string{"6.2 or later", "node of a cluster", "read-only replica"}},
		"one that evicts":           {info: []string{"redis_version:7.2.0", "maxmemory_policy:allkeys-lru"}, warns: "maxmemory-policy=allkeys-lru"},
		"one that evicts sessions":  {info: []string{"redis_version:7.2.0", "maxmemory_policy:volatile-ttl"}, warns: "sessions that have a time to live"},
		"one that evicts nothing":   {info: []string{"redis_version:7.2.0", "maxmemory_policy:noeviction"}},
		"one of vectors, not ready": {info: []string{"redis_version:8.0.2", "maxmemory_policy:allkeys-lfu"}, warns: "allkeys-lfu"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newImpostor(t, c.info...)
			cfg, log := logged()
			s, err := redisstore.New(t.Context(), clientOf(t, f.addr), cfg)
			if c.is == nil {
				require.NoError(t, err)
				require.NoError(t, s.Close())
			} else {
				require.ErrorIs(t, err, c.is)
				for _, says := range c.says {
					require.ErrorContains(t, err, says)
				}
			}
			if c.warns != "" {
				assert.Contains(t, log.String(), c.warns)
				assert.Contains(t, log.String(), "noeviction")
			} else {
				assert.NotContains(t, log.String(), "maxmemory")
			}
		})
	}
}

func TestNewOnWhatItCannotUse(t *testing.T) {
	_, err := redisstore.New(t.Context(), nil, nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "no client: pass one, or use Open")

	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": miniredis.RunT(t).Addr()}})
	t.Cleanup(func() { _ = ring.Close() })
	_, err = redisstore.New(t.Context(), ring, nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "Ring")

	closed := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	require.NoError(t, closed.Close())
	_, err = redisstore.New(t.Context(), closed, nil)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "the client is closed")
}

// A client that outlasts the deadline of a context is the caller's choice, of which
// the log tells.
func TestNewWarnsOfAClientWithoutDeadlines(t *testing.T) {
	addr := miniredis.RunT(t).Addr()
	for heeds, warning := range map[bool]int{true: 0, false: 1} {
		cfg, log := logged()
		newStore(t, clientOf(t, addr, func(o *redis.Options) { o.ContextTimeoutEnabled = heeds }), cfg)
		assert.Equal(t, warning, strings.Count(log.String(), "ContextTimeoutEnabled"), log.String())
	}
}

func TestNewOnRealServers(t *testing.T) {
	for _, f := range testredis.Flavours() {
		t.Run(f.Name, func(t *testing.T) {
			server := f.Start(t, "--requirepass", "secret word", "--maxmemory-policy", "allkeys-random")
			cfg, log := logged()
			newStore(t, server.Client(t), cfg)
			assert.Contains(t, log.String(), "allkeys-random")
			for password, says := range map[string]string{"": "put it into the client's options or the URL", "wrong": "the user name or the password is wrong"} {
				_, err := redisstore.New(t.Context(), clientOf(t, server.Addr, func(o *redis.Options) { o.Password = password }), nil)
				require.ErrorIs(t, err, backends.ErrUnavailable)
				require.ErrorContains(t, err, says)
			}
			replica := f.StartReplica(t, server)
			_, err := redisstore.New(t.Context(), clientOf(t, replica.Addr, func(o *redis.Options) { o.Password = "secret word" }), nil)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, "read-only replica")
		})
	}
}

// permissions are those of the package comment: they suffice, and none is idle.
var permissions = strings.Fields(`~em:* ~{em:*
	+ping +info +time +config|get +multi +exec
	+eval +evalsha +script|load
	+exists +del +unlink +persist +pexpire +pttl
	+hget +hmget +hgetall +hkeys +hstrlen +hset +hsetnx +hdel +hlen +hexists +hincrby
	+zadd +zrem +zcard +zscore +zmscore +zrange +zrangebyscore +zrangebylex +zremrangebyrank
	+sadd +rpush +llen +lindex +lrange +ltrim`)

func TestTheSmallestPermissionsSuffice(t *testing.T) {
	for _, f := range testredis.Flavours() {
		t.Run(f.Name, func(t *testing.T) {
			server := f.Start(t)
			admin := server.Client(t)
			user := func(name string, rules ...string) *redis.Client {
				args := []any{"acl", "setuser", name, "reset", "on", ">pw"}
				for _, rule := range rules {
					args = append(args, rule)
				}
				require.NoError(t, admin.Do(t.Context(), args...).Err())
				return clientOf(t, server.Addr, func(o *redis.Options) { o.Username, o.Password = name, "pw" })
			}
			s := newStore(t, user("small", permissions...), nil)
			beginning(t, s, ann)
			for what, err := range everything(t.Context(), s, ann) {
				require.NoError(t, err, what)
			}
			for what, err := range seldom(t, s) {
				require.NoError(t, err, what)
			}

			for _, missing := range []string{"+eval", "+evalsha"} {
				_, err := redisstore.New(t.Context(), user("no-scripts", without(permissions, missing)...), nil)
				if missing == "+eval" {
					require.ErrorIs(t, err, backends.ErrUnavailable)
					require.ErrorContains(t, err, "scripts are needed and not allowed")
					continue
				}
				require.NoError(t, err)
			}
			_, err := redisstore.New(t.Context(), user("elsewhere", append(without(permissions, "~em:*", "~{em:*"), "~app:*")...), nil)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, "begin with em or {em")

			before := dump(t, server)
			for _, rule := range permissions {
				client := user("less", without(permissions, rule)...)
				less, err := redisstore.New(t.Context(), client, nil)
				if called[strings.ToUpper(rule[1:])] {
					require.ErrorIs(t, err, backends.ErrUnavailable, rule)
					require.ErrorContains(t, err, strings.ToUpper(rule[1:]), "the command is named")
				}
				if err == nil { // else a write that is refused is refused before it begins
					_, err = less.Append(t.Context(), ann, "s", saying("another"))
				}
				if err != nil {
					require.ErrorIs(t, err, backends.ErrUnavailable, rule)
					assert.Equal(t, before, dump(t, server), rule)
				}
				before = dump(t, server)
			}
		})
	}
}

// called are the commands of scripts that write: New tries each.
var called = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range []string{"append", "blob", "commit", "delete", "drop", "rest"} {
		source, err := os.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err)
		}
		for _, m := range regexp.MustCompile(`redis\.call\('([A-Z]+)'`).FindAllSubmatch(source, -1) {
			out[string(m[1])] = true
		}
	}
	return out
}()

func without(rules []string, some ...string) []string {
	var out []string
	for _, rule := range rules {
		keep := true
		for _, s := range some {
			keep = keep && rule != s
		}
		if keep {
			out = append(out, rule)
		}
	}
	return out
}

// seldom does what everything does not.
func seldom(t *testing.T, s *redisstore.Store) map[string]error {
	t.Helper()
	ctx, out, bob := t.Context(), map[string]error{}, someone("bob")
	many := make([]string, 100)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	_, out["apply many"] = s.Apply(ctx, bob, putting(many...))
	_, out["changes of many"] = s.Changes(ctx, bob, "")
	_, out["delete a memory"] = s.Apply(ctx, bob, &store.Batch{Key: "k", Mutations: []store.Mutation{store.Delete("x")}})
	_, out["append for an hour"] = s.Append(ctx, bob, "s", &store.Append{Entries: saying("1").Entries, TTL: 3600e9})
	_, out["append again"] = s.Append(ctx, bob, "s", &store.Append{Entries: saying("2").Entries, TTL: 3600e9})
	out["blob for an hour"] = s.PutBlob(ctx, bob, "s", "b", []byte("x"))
	_, out["update"] = s.Update(ctx, bob, &store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: "w", For: 1e9}})
	_, out["list pending"] = s.List(ctx, store.SessionQuery{Pending: true})
	_, out["list all"] = s.List(ctx, store.SessionQuery{})
	_, out["partitions"] = s.Partitions(ctx, "default", store.Page{})
	out["remove blob"] = s.PutBlob(ctx, bob, "s", "b", nil)
	out["delete a session"] = s.Delete(ctx, bob, "s")
	_, out["drop"] = s.Drop(ctx, bob)
	return out
}
