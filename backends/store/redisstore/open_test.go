// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/test/testredis"
)

// logging returns a configuration that logs to a text.
func logging() (*redisstore.Config, *bytes.Buffer) {
	var b bytes.Buffer
	return &redisstore.Config{Logger: slog.New(slog.NewTextHandler(&b, nil))}, &b
}

func TestNewLooksAtTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		info  string
		is    error
		has   []string // in one error
		warns string
	}{
		"the oldest":                  {info: "redis_version:6.2.0\nrole:master"},
		"a release candidate":         {info: "redis_version:8.0-rc1\nrole:master"},
		"a Valkey":                    {info: "redis_version:7.2.4\nvalkey_version:8.1.1\nrole:master"},
		"the first Valkey":            {info: "redis_version:7.2.4\nvalkey_version:7.2.5"},
		"one that reports nothing":    {info: "os:Linux"},
		"too old":                     {info: "redis_version:6.0.16\nrole:master", is: backends.ErrInvalid, has: []string{"redis 6.0.16", "6.2 or later"}},
		"much too old":                {info: "redis_version:5.0.7", is: backends.ErrInvalid, has: []string{"redis 5.0.7"}},
		"a replica":                   {info: "redis_version:7.2.0\nrole:slave", is: backends.ErrUnavailable, has: []string{"read-only replica", "the address of the master"}},
		"a cluster's node":            {info: "redis_version:7.2.0\ncluster_enabled:1", is: backends.ErrInvalid, has: []string{"node of a cluster", "NewClusterClient"}},
		"all of it":                   {info: "redis_version:6.0.1\ncluster_enabled:1\nrole:slave", is: backends.ErrInvalid, has: []string{"6.2 or later", "node of a cluster", "read-only replica"}},
		"one that evicts":             {info: "redis_version:7.2.0\nmaxmemory_policy:allkeys-lru", warns: "maxmemory-policy=allkeys-lru"},
		"one that evicts sessions":    {info: "redis_version:7.2.0\nmaxmemory_policy:volatile-ttl", warns: "sessions that have a time to live"},
		"one that evicts nothing":     {info: "redis_version:7.2.0\nmaxmemory_policy:noeviction"},
		"a newer one that evicts too": {info: "redis_version:8.0.2\nmaxmemory_policy:allkeys-lfu", warns: "allkeys-lfu"},
	} {
		t.Run(name, func(t *testing.T) {
			m := miniredis.RunT(t)
			m.Server().SetPreHook(func(p *server.Peer, command string, _ ...string) bool {
				if command == "INFO" {
					p.WriteBulk(strings.ReplaceAll(c.info, "\n", "\r\n") + "\r\n")
				}
				return command == "INFO"
			})
			cfg, log := logging()
			s, err := redisstore.New(t.Context(), clientOf(t, m.Addr()), cfg)
			if c.is == nil {
				require.NoError(t, err)
				require.NoError(t, s.Close())
			}
			require.ErrorIs(t, err, c.is)
			for _, text := range c.has {
				require.ErrorContains(t, err, text)
			}
			require.Equal(t, c.warns != "", strings.Contains(log.String(), "noeviction"))
			require.Contains(t, log.String(), c.warns)
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

	web := func(tls bool) string {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		if tls {
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	withTLS := func(o *redis.Options) { o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} }
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // which takes no connection
	require.NoError(t, err)
	defer silent.Close()
	var refusing testredis.Network
	refusing.Refuse(true)
	for name, c := range map[string]struct {
		addr   string
		change func(*redis.Options)
		says   string
	}{
		"an HTTP server":       {addr: web(false), says: "is it a Redis?"},
		"a TLS server":         {addr: web(true), says: "rediss://"},
		"a server without TLS": {addr: web(false), change: withTLS, says: "does it speak TLS?"},
		"one that is silent to TLS": {addr: silent.Addr().String(), says: "does it speak TLS?", change: func(o *redis.Options) {
			withTLS(o)
			o.DialTimeout = 20 * time.Millisecond
		}},
		"one that closes at once": {addr: web(false), change: func(o *redis.Options) { o.Dialer = refusing.Dial }, says: "cannot be reached or does not answer"},
		"one that is silent":      {addr: silent.Addr().String(), change: func(o *redis.Options) { o.ReadTimeout = 20 * time.Millisecond }, says: "does not answer"},
		"none":                    {addr: "127.0.0.1:1", says: "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			change := func(o *redis.Options) {
				if c.change != nil {
					c.change(o)
				}
			}
			_, err := redisstore.New(t.Context(), clientOf(t, c.addr, change), nil)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// A client that outlasts the deadline of a context is the caller's choice, and logged.
func TestNewWarnsOfAClientWithoutDeadlines(t *testing.T) {
	addr := miniredis.RunT(t).Addr()
	for heeds, warnings := range map[bool]int{true: 0, false: 1} {
		cfg, log := logging()
		newStore(t, clientOf(t, addr, func(o *redis.Options) { o.ContextTimeoutEnabled = heeds }), cfg)
		require.Equal(t, warnings, strings.Count(log.String(), "ContextTimeoutEnabled"), log.String())
	}
}

func TestNewOnRealServers(t *testing.T) {
	for _, f := range testredis.Flavours() {
		t.Run(f.Name, func(t *testing.T) {
			server := f.Start(t, "--requirepass", "secret word", "--maxmemory-policy", "allkeys-random")
			cfg, log := logging()
			newStore(t, server.Client(t), cfg)
			require.Contains(t, log.String(), "allkeys-random")
			for password, says := range map[string]string{"": "put it into the client's options or the URL", "wrong": "the user name or the password is wrong"} {
				_, err := redisstore.New(t.Context(), clientOf(t, server.Addr, func(o *redis.Options) { o.Password = password }), nil)
				require.ErrorIs(t, err, backends.ErrUnavailable)
				require.ErrorContains(t, err, says)
			}
			replica := startReplica(t, f, server)
			_, err := redisstore.New(t.Context(), clientOf(t, replica.Addr, func(o *redis.Options) { o.Password = "secret word" }), nil)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, "read-only replica")
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	client := clientOf(t, miniredis.RunT(t).Addr())
	for name, c := range map[string]struct {
		cfg  *redisstore.Config
		says string // empty: legal
	}{
		"none":                {nil, ""},
		"zero":                {&redisstore.Config{}, ""},
		"no retries":          {&redisstore.Config{Retry: -1}, ""},
		"every legal byte":    {&redisstore.Config{Prefix: "aZ09_.-"}, ""},
		"the longest prefix":  {&redisstore.Config{Prefix: strings.Repeat("x", 64)}, ""},
		"too long a prefix":   {&redisstore.Config{Prefix: strings.Repeat("x", 65)}, "up to 64 letters"},
		"a brace":             {&redisstore.Config{Prefix: "a{b"}, `prefix "a{b"`},
		"a colon":             {&redisstore.Config{Prefix: "a:b"}, "prefix"},
		"a space":             {&redisstore.Config{Prefix: " "}, "prefix"},
		"a line's end":        {&redisstore.Config{Prefix: "em\n"}, "prefix"},
		"other letters":       {&redisstore.Config{Prefix: "ключ"}, "prefix"},
		"a pattern":           {&redisstore.Config{Prefix: "*"}, "prefix"},
		"replicas below zero": {&redisstore.Config{Replicas: -1}, "not below zero"},
		"a replica":           {&redisstore.Config{Replicas: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := redisstore.New(t.Context(), client, c.cfg)
			if c.says == "" {
				require.NoError(t, err)
				require.NoError(t, s.Close())
				return
			}
			require.ErrorIs(t, err, backends.ErrInvalid)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestConfigIsCopied(t *testing.T) {
	cfg := redisstore.Config{Clock: func() time.Time { return time.Unix(1, 0) }}
	s, err := redisstore.New(t.Context(), clientOf(t, miniredis.RunT(t).Addr()), &cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.Empty(t, cfg.Prefix, "it is the caller's")
	cfg.Clock, cfg.Prefix = func() time.Time { return time.Unix(2, 0) }, "other"
	got, err := s.Append(t.Context(), ann, "s", messages("1"))
	require.NoError(t, err)
	require.Equal(t, int64(1), got.Created.Unix())
}

// Two prefixes on one server have nothing in common.
func TestPrefixesAreSeparate(t *testing.T) {
	server := miniredis.RunT(t)
	client := clientOf(t, server.Addr())
	one := newStore(t, client, &redisstore.Config{Prefix: "one"})
	begin(t, one, ann)
	for _, key := range server.Keys() {
		require.True(t, strings.HasPrefix(key, "one:") || strings.HasPrefix(key, "{one:"), key)
	}
	two := newStore(t, client, &redisstore.Config{Prefix: "two"})
	_, err := two.Session(t.Context(), ann, "s")
	require.ErrorIs(t, err, backends.ErrNotFound)
	page, err := two.Partitions(t.Context(), ann.Namespace, store.Page{})
	require.NoError(t, err)
	require.Empty(t, page.Partitions)
	n, err := two.Drop(t.Context(), ann)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = one.Session(t.Context(), ann, "s")
	require.NoError(t, err)
}

// Close ends the store and not the client of New; it may be called again.
func TestClose(t *testing.T) {
	client := clientOf(t, miniredis.RunT(t).Addr())
	s, err := redisstore.New(t.Context(), client, nil)
	require.NoError(t, err)
	begin(t, s, ann)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	for what, err := range everything(t.Context(), s, ann) {
		require.ErrorIs(t, err, backends.ErrUnavailable, what)
		require.ErrorContains(t, err, "the store is closed", what)
	}
	_, dropped := s.Drop(t.Context(), ann)
	_, listed := s.Partitions(t.Context(), "n", store.Page{})
	_, checked := s.Check(t.Context(), ann)
	for _, err := range []error{dropped, listed, checked, s.Delete(t.Context(), ann, "s")} {
		require.ErrorContains(t, err, "the store is closed")
	}
	require.NoError(t, client.Ping(t.Context()).Err(), "it is the caller's")

	other := newStore(t, client, nil)
	require.NoError(t, client.Close())
	_, err = other.Session(t.Context(), ann, "s")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "the client is closed")
}

// The permissions of the package comment suffice. Where one is missing that a script
// would miss in the middle, New names it; otherwise a refused write leaves no trace.
func TestTheSmallestPermissionsSuffice(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, rules, _ := strings.Cut(string(doc), "\n//\t~em:*")
	rules, _, _ = strings.Cut("~em:*"+rules, "\n//\n")
	permissions := strings.Fields(strings.ReplaceAll(rules, "\n//", " "))
	require.Greater(t, len(permissions), 35)
	called := map[string]bool{} // by scripts that write
	for _, name := range []string{"lives", "registry", "whole", "session", "tips", "append", "blob", "commit", "erase", "erase_messages", "check_sessions"} {
		source, err := os.ReadFile("lua/" + name + ".lua")
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`redis\.call\('([A-Z]+)'`).FindAllSubmatch(source, -1) {
			called[strings.ToLower(string(m[1]))] = true
		}
	}
	without := func(some ...string) []string {
		return slices.DeleteFunc(slices.Clone(permissions), func(rule string) bool { return slices.Contains(some, rule) })
	}
	for _, f := range testredis.Flavours() {
		t.Run(f.Name, func(t *testing.T) {
			server, ctx := f.Start(t), t.Context()
			admin := server.Client(t)
			as := func(rules ...string) *redis.Client {
				args := []any{"acl", "setuser", "small", "reset", "on", ">pw"}
				for _, rule := range rules {
					args = append(args, rule)
				}
				require.NoError(t, admin.Do(ctx, args...).Err())
				return clientOf(t, server.Addr, func(o *redis.Options) { o.Username, o.Password = "small", "pw" })
			}
			s := newStore(t, as(permissions...), nil)
			begin(t, s, ann)
			calls, bob := everything(ctx, s, ann), user("bob")
			var many []store.Mutation
			for i := range 100 {
				many = append(many, put(strings.Repeat("x", i+1), "x"))
			}
			_, calls["apply many"] = s.Apply(ctx, bob, batch(many...))
			_, calls["changes of many"] = s.Changes(ctx, bob, "")
			_, calls["delete a memory"] = s.Apply(ctx, bob, &store.Batch{Key: "k", Mutations: []store.Mutation{store.Delete("x")}})
			_, calls["append for an hour"] = s.Append(ctx, bob, "s", &store.Append{Entries: messages("1", "2").Entries, TTL: time.Hour})
			calls["blob for an hour"] = s.PutBlob(ctx, bob, "s", "b", []byte("x"))
			_, calls["make it stay"] = s.Update(ctx, bob, &store.SessionUpdate{Session: "s", Expires: &time.Time{}})
			_, calls["list pending"] = s.List(ctx, store.SessionQuery{Pending: true})
			_, calls["list all"] = s.List(ctx, store.SessionQuery{})
			_, calls["partitions"] = s.Partitions(ctx, "n", store.Page{})
			calls["remove blob"] = s.PutBlob(ctx, bob, "s", "b", nil)
			calls["delete a session"] = s.Delete(ctx, bob, "s")
			_, calls["drop"] = s.Drop(ctx, bob)
			for what, err := range calls {
				require.NoError(t, err, what)
			}
			_, err := newStore(t, as(append(slices.Clone(permissions), "+scan", "+hscan", "+zscan")...), nil).Reindex(ctx, ann)
			require.NoError(t, err)

			_, err = redisstore.New(ctx, as(without("+eval")...), nil)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, "scripts are needed and not allowed")
			_, err = redisstore.New(ctx, as(append(without("~em:*", "~{em:*"), "~app:*")...), nil)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, "begin with em or {em")

			for _, rule := range permissions {
				before := dump(t, server)
				less, err := redisstore.New(ctx, as(without(rule)...), nil)
				if called[rule[1:]] {
					require.ErrorIs(t, err, backends.ErrUnavailable, rule)
					require.ErrorContains(t, err, strings.ToUpper(rule[1:]), "the command is named")
				}
				if err == nil {
					_, err = less.Append(ctx, ann, "s", messages("another"))
				}
				if err != nil {
					require.ErrorIs(t, err, backends.ErrUnavailable, rule)
					require.Equal(t, before, dump(t, server), rule)
				}
			}
		})
	}
}

// A password of any bytes opens the server, and no error ever shows it.
func TestOpenAndPasswords(t *testing.T) {
	const password = "s3cr3t p@ss/wörd?#%&:[]"
	server := miniredis.RunT(t)
	server.RequireUserAuth("ann", password)
	u := url.URL{Scheme: "redis", User: url.UserPassword("ann", password), Host: server.Addr(), Path: "/0"}
	s, err := redisstore.Open(t.Context(), u.String(), nil)
	require.NoError(t, err)
	begin(t, s, ann)
	require.NoError(t, s.Close())

	escaped := url.QueryEscape(password)
	for _, address := range []string{
		"redis://ann:" + password + "@" + server.Addr(),
		"redis://ann:" + escaped + "@" + server.Addr() + "/%zz",
		"redis://ann:" + escaped + "@" + server.Addr() + ":x",
		"redis://ann:" + escaped + "@" + server.Addr() + "/0?read_timeout=soon",
		"redis://ann:" + escaped + "@" + server.Addr() + "/0?nonsense=1",
		"redis://ann:" + escaped + "@" + server.Addr() + "/0/1",
		"redis://ann:" + escaped + "@" + server.Addr() + "/zero",
		"redis://ann:" + escaped + "x@" + server.Addr(),
		"redis://ann:" + escaped + "@127.0.0.1:1",
		"redis://ann:" + escaped + "@127.0.0.1:1?cluster=true",
		"redis://ann:" + escaped + "@127.0.0.1:1?cluster=true&nonsense=1",
		"redis://ann:" + escaped + "@127.0.0.1:1?master_name=m&nonsense=1",
		"rediss://ann:" + escaped + "@" + server.Addr(),
		"http://ann:" + escaped + "@" + server.Addr(),
		"ann:" + escaped + "@" + server.Addr(),
		"\x7f://ann:" + escaped + "@" + server.Addr(),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := redisstore.Open(ctx, address, nil)
		cancel()
		require.Error(t, err, address)
		for _, secret := range []string{password, escaped, "s3cr3t"} {
			require.NotContains(t, err.Error(), secret)
		}
	}
}

func TestOpenWithAnInvalidURL(t *testing.T) {
	for address, says := range map[string]string{
		"":                                 "want a URL such as redis://localhost:6379/0",
		"localhost:6379":                   "want a URL",
		"http://localhost":                 "invalid URL scheme",
		"redis://localhost/db":             "want a URL",
		"redis://localhost?pool_size=many": "pool_size",
		"redis://localhost?poolsize=1":     "poolsize",
	} {
		_, err := redisstore.Open(t.Context(), address, nil)
		require.ErrorIs(t, err, backends.ErrInvalid, address)
		require.ErrorContains(t, err, says)
	}
	_, err := redisstore.Open(t.Context(), "redis://127.0.0.1:1", &redisstore.Config{Prefix: "{"})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// Options of go-redis go into the URL; databases are separate.
func TestOpenWithOptions(t *testing.T) {
	server := miniredis.RunT(t)
	first, err := redisstore.Open(t.Context(), "redis://"+server.Addr()+"/3?pool_size=1&read_timeout=5s&client_name=einomem", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	begin(t, first, ann)
	require.Empty(t, server.DB(0).Keys())
	require.NotEmpty(t, server.DB(3).Keys())
}

// A store that Open made heeds the deadlines of contexts, which go-redis does not by
// itself.
func TestOpenHeedsDeadlines(t *testing.T) {
	server := testredis.Need(t).Start(t)
	s, err := redisstore.Open(t.Context(), server.URL()+"?read_timeout=1h", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	server.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = s.Session(ctx, ann, "s")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	server.Thaw()
}

// The client that Open made ends with the store, also where there never was a store.
func TestOpenClosesItsClient(t *testing.T) {
	server := miniredis.RunT(t)
	s, err := redisstore.Open(t.Context(), "redis://"+server.Addr(), nil)
	require.NoError(t, err)
	require.Positive(t, server.CurrentConnectionCount())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Eventually(t, func() bool { return server.CurrentConnectionCount() == 0 }, time.Minute, time.Millisecond)
	server.RequireAuth("secret")
	_, err = redisstore.Open(t.Context(), "redis://"+server.Addr(), nil)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.Eventually(t, func() bool { return server.CurrentConnectionCount() == 0 }, time.Minute, time.Millisecond)
}
