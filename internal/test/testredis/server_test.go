// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/internal/test/testredis"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onEach runs f on each server there is.
func onEach(t *testing.T, f func(t *testing.T, flavour testredis.Flavour)) {
	testredis.Need(t)
	for _, flavour := range testredis.Flavours() {
		t.Run(flavour.Name, func(t *testing.T) { f(t, flavour) })
	}
}

func TestServerForgetsByDefaultAndKeepsWhenAsked(t *testing.T) {
	onEach(t, func(t *testing.T, flavour testredis.Flavour) {
		for _, c := range []struct {
			name string
			args []string
			end  func(*testredis.Server)
			kept int64
		}{
			{"killed", nil, (*testredis.Server).Kill, 0},
			{"running", nil, func(*testredis.Server) {}, 0},
			{"killed, each write on disk", []string{"--appendonly", "yes", "--appendfsync", "always"}, (*testredis.Server).Kill, 1},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := flavour.Start(t, c.args...)
				client := s.Client(t)
				require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
				c.end(s)
				addr := s.Addr
				s.Restart()
				assert.Equal(t, addr, s.Addr)
				n, err := s.Client(t).Exists(t.Context(), "k").Result()
				require.NoError(t, err)
				assert.Equal(t, c.kept, n)
			})
		}
	})
}

func TestKilledServerRefuses(t *testing.T) {
	s := testredis.Need(t).Start(t)
	s.Kill()
	s.Kill() // twice is no error
	err := s.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }).Ping(t.Context()).Err()
	require.ErrorContains(t, err, "refused")
}

func TestFrozenServerAnswersWhenThawed(t *testing.T) {
	s := testredis.Need(t).Start(t)
	client := s.Client(t, func(o *redis.Options) { o.ContextTimeoutEnabled = true; o.MaxRetries = -1 })
	require.NoError(t, client.Ping(t.Context()).Err())
	s.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, client.Ping(ctx).Err())
	s.Thaw()
	require.NoError(t, client.Ping(t.Context()).Err())
	s.Freeze()
	s.Restart() // a frozen one can be killed too
	require.NoError(t, client.Ping(t.Context()).Err())
}

func TestServersHaveAddressesAndPasswordsOfTheirOwn(t *testing.T) {
	flavour := testredis.Need(t)
	a, b := flavour.Start(t, "--requirepass", "p@ss:wörd/"), flavour.Start(t)
	assert.NotEqual(t, a.Addr, b.Addr)
	for _, s := range []*testredis.Server{a, b} {
		require.NoError(t, s.Client(t).Ping(t.Context()).Err())
		o, err := redis.ParseURL(s.URL())
		require.NoError(t, err)
		assert.Equal(t, s.Addr, o.Addr)
	}
}

func TestHookStandsAroundCommands(t *testing.T) {
	c := testredis.Need(t).Start(t).Client(t)
	require.NoError(t, c.Ping(t.Context()).Err()) // sets up the connection
	var names []string
	fail, lose := error(nil), error(nil)
	c.AddHook(testredis.Hook(func(cmds []redis.Cmder, send func() error) error {
		names = append(names, fmt.Sprint("before ", len(cmds), cmds[0].Name()))
		if fail != nil {
			return fail
		}
		err := send()
		names = append(names, fmt.Sprint("after ", len(cmds), cmds[0].Name()))
		return cmp.Or(lose, err)
	}))
	require.NoError(t, c.Set(t.Context(), "k", "1", 0).Err())
	pipe := func() error {
		_, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Incr(t.Context(), "k")
			p.Get(t.Context(), "k")
			return nil
		})
		return err
	}
	require.NoError(t, pipe())
	assert.Equal(t, []string{"before 1set", "after 1set", "before 2incr", "after 2incr"}, names)
	lose = errors.New("lost")
	require.ErrorIs(t, pipe(), lose)
	require.ErrorIs(t, c.Incr(t.Context(), "k").Err(), lose)
	fail = errors.New("refused")
	require.ErrorIs(t, c.Incr(t.Context(), "k").Err(), fail)
	fail, lose = nil, nil
	assert.Equal(t, "4", c.Get(t.Context(), "k").Val(), "what was lost was carried out, what was refused was not")
}

// failing is a test whose failure is what is tested: it keeps what is reported instead.
type failing struct {
	testing.TB
	failed   bool
	said     []string
	cleanups []func()
}

func (f *failing) Helper()                   {}
func (f *failing) Failed() bool              { return f.failed }
func (f *failing) Cleanup(c func())          { f.cleanups = append(f.cleanups, c) }
func (f *failing) Logf(s string, a ...any)   { f.said = append(f.said, fmt.Sprintf(s, a...)) }
func (f *failing) Errorf(s string, a ...any) { f.Logf(s, a...); f.failed = true }
func (f *failing) FailNow()                  { runtime.Goexit() }

// run runs body as a test of its own, and returns what it said.
func (f *failing) run(body func()) string {
	done := make(chan struct{})
	go func() { defer close(done); body() }()
	<-done
	for _, c := range f.cleanups {
		c()
	}
	return strings.Join(f.said, "\n")
}

func TestStartReportsWhyItFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		flavour testredis.Flavour
		want    []string
	}{
		{"no such program", testredis.Flavour{Name: "none", Program: "/no/such/program"}, []string{"start none", "/no/such/program"}},
		{"it ends", testredis.Flavour{Name: "broken", Program: imitate(t, "broken", "out of order")}, []string{"ended at once", "out of order"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &failing{TB: t}
			said := f.run(func() { c.flavour.Start(f) })
			assert.True(t, f.failed)
			for _, want := range c.want {
				assert.Contains(t, said, want)
			}
		})
	}
}

func TestLogIsPrintedWhenTheTestFails(t *testing.T) {
	flavour := testredis.Need(t)
	for _, fails := range []bool{false, true} {
		f := &failing{TB: t}
		said := f.run(func() {
			flavour.Start(f)
			f.failed = fails
		})
		assert.Equal(t, fails, strings.Contains(said, "Ready to accept connections"), said)
	}
}

func TestEachNodeOfAClusterHasAShare(t *testing.T) {
	onEach(t, func(t *testing.T, flavour testredis.Flavour) {
		t.Parallel() // it mostly waits
		c := flavour.StartCluster(t, 3)
		client := c.Client(t)
		for i := range 100 {
			require.NoError(t, client.Set(t.Context(), fmt.Sprint("k", i), i, 0).Err())
		}
		for _, s := range c.Servers {
			assert.Positive(t, s.Client(t).DBSize(t.Context()).Val())
		}
	})
}

func TestClusterNodeComesBack(t *testing.T) {
	t.Parallel()
	c := testredis.Need(t).StartCluster(t, 3)
	c.Servers[1].Kill()
	c.Servers[1].Restart()
	c.AwaitOK(t)
	for _, replica := range c.AddReplicas(t) {
		assert.Contains(t, replica.Client(t).Info(t.Context(), "replication").Val(), "role:slave")
	}
}

const envServers = "EINOMEM_REDIS_SERVERS"

// imitate writes a program that prints a line, and returns its path.
func imitate(t *testing.T, name, prints string) string {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho '"+prints+"'\n"), 0o700))
	return path
}

func TestFlavoursAreThoseNamedElseThoseOnThePath(t *testing.T) {
	one, two := imitate(t, "redis-server", ""), imitate(t, "valkey-server", "")
	t.Setenv("PATH", filepath.Dir(two))
	t.Setenv(envServers, "  one="+one+"\n two=/no/such/program ")
	assert.Equal(t, []testredis.Flavour{{Name: "one", Program: one}, {Name: "two", Program: "/no/such/program"}}, testredis.Flavours())
	assert.Equal(t, "one", testredis.Need(t).Name)
	t.Setenv(envServers, "")
	assert.Empty(t, testredis.Flavours())
	t.Run("skipped", func(t *testing.T) {
		defer func() { assert.True(t, t.Skipped()) }()
		testredis.Need(t)
	})
	ran := 0
	testredis.Each(t, func(*testing.T, func(testing.TB) redis.UniversalClient) { ran++ })
	assert.Equal(t, 1, ran, "the imitation")

	require.NoError(t, os.Unsetenv(envServers)) // t.Setenv restores it
	assert.Equal(t, []testredis.Flavour{{Name: "valkey", Program: two}}, testredis.Flavours())
	t.Setenv("PATH", filepath.Dir(two)+string(os.PathListSeparator)+filepath.Dir(one))
	assert.Equal(t, []testredis.Flavour{{Name: "redis", Program: one}, {Name: "valkey", Program: two}}, testredis.Flavours())
}

func TestEachRunsOnAllAndSharesAServer(t *testing.T) {
	var ran []string
	testredis.Each(t, func(t *testing.T, open func(t testing.TB) redis.UniversalClient) {
		ran = append(ran, t.Name()[strings.LastIndex(t.Name(), "/")+1:])
		a, b := open(t), open(t)
		require.NotSame(t, a, b)
		require.NoError(t, a.Set(t.Context(), "k", "v", 0).Err())
		require.Equal(t, "v", b.Get(t.Context(), "k").Val())
		t.Run("closed with its test", func(t *testing.T) { a = open(t) })
		require.ErrorIs(t, a.Ping(t.Context()).Err(), redis.ErrClosed)
	})
	want := []string{"miniredis"}
	all := testredis.Flavours()
	if testing.Short() && len(all) > 0 {
		all = all[:1]
	}
	for _, f := range all {
		want = append(want, f.Name)
	}
	if len(all) > 0 && !testing.Short() {
		want = append(want, "cluster")
	}
	assert.Equal(t, want, ran)
}
