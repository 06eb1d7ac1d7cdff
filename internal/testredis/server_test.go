// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/internal/testredis"
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
			{"stopped", nil, (*testredis.Server).Stop, 0},
			{"running", nil, func(*testredis.Server) {}, 0},
			{"killed, each write on disk", []string{"--appendonly", "yes", "--appendfsync", "always"}, (*testredis.Server).Kill, 1},
			{"stopped, saving", []string{"--save", "3600 1"}, (*testredis.Server).Stop, 1},
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
	s.Stop() // a frozen one can be stopped too
	s.Restart()
	require.NoError(t, client.Ping(t.Context()).Err())
}

func TestPasswordIsUsed(t *testing.T) {
	s := testredis.Need(t).Start(t, "--requirepass", "p@ss:wörd/")
	require.NoError(t, s.Client(t).Ping(t.Context()).Err())
	o, err := redis.ParseURL(s.URL())
	require.NoError(t, err)
	assert.Equal(t, "p@ss:wörd/", o.Password)
	assert.Equal(t, s.Addr, o.Addr)
	u, err := url.Parse(s.URL())
	require.NoError(t, err)
	assert.Empty(t, u.User.Username())

	replica := testredis.Need(t).StartReplica(t, s, "--requirepass", "other")
	require.NoError(t, replica.Client(t).Ping(t.Context()).Err())
}

func TestServersHaveFoldersAndPortsOfTheirOwn(t *testing.T) {
	flavour := testredis.Need(t)
	a, b := flavour.Start(t), flavour.Start(t)
	assert.NotEqual(t, a.Addr, b.Addr)
	for _, s := range []*testredis.Server{a, b} {
		assert.DirExists(t, s.Dir)
		assert.NotEmpty(t, s.Log())
		got, err := s.Client(t).ConfigGet(t.Context(), "dir").Result()
		require.NoError(t, err)
		assert.True(t, sameFile(t, s.Dir, got["dir"]))
	}
}

func sameFile(t *testing.T, a, b string) bool {
	x, err := os.Stat(a)
	require.NoError(t, err)
	y, err := os.Stat(b)
	require.NoError(t, err)
	return os.SameFile(x, y)
}

func TestReplicaIsPromoted(t *testing.T) {
	onEach(t, func(t *testing.T, flavour testredis.Flavour) {
		ctx := t.Context()
		master := flavour.Start(t)
		require.NoError(t, master.Client(t).Set(ctx, "before", "v", 0).Err())
		replica := flavour.StartReplica(t, master)
		client := replica.Client(t)
		require.Equal(t, "v", client.Get(ctx, "before").Val())
		require.ErrorContains(t, client.Set(ctx, "k", "v", 0).Err(), "READONLY")

		require.NoError(t, master.Client(t).Set(ctx, "awaited", "v", 0).Err())
		master.AwaitReplica(t)
		master.Kill()
		replica.Promote(t)
		require.NoError(t, client.Set(ctx, "after", "v", 0).Err())
		assert.EqualValues(t, 3, client.Exists(ctx, "before", "awaited", "after").Val())
	})
}

func TestHookStandsBeforeAndAfterCommands(t *testing.T) {
	c := testredis.Need(t).Start(t).Client(t)
	require.NoError(t, c.Ping(t.Context()).Err()) // sets up the connection
	var names []string
	fail, lose := error(nil), error(nil)
	c.AddHook(&testredis.Hook{
		Before: func(name string) error { names = append(names, "before "+name); return fail },
		After:  func(name string) error { names = append(names, "after "+name); return lose },
	})
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
	assert.Equal(t, []string{"before set", "after set", "before incr get", "after incr get"}, names)
	lose = errors.New("lost")
	require.ErrorIs(t, pipe(), lose)
	require.ErrorIs(t, c.Incr(t.Context(), "k").Err(), lose)
	fail = errors.New("refused")
	require.ErrorIs(t, c.Incr(t.Context(), "k").Err(), fail)
	fail, lose = nil, nil
	assert.Equal(t, "4", c.Get(t.Context(), "k").Val(), "what was lost was carried out, what was refused was not")
}

func TestMonitorSeesCommandsAndTheirKeys(t *testing.T) {
	onEach(t, func(t *testing.T, flavour testredis.Flavour) {
		s, ctx := flavour.Start(t), t.Context()
		c := s.Client(t)
		var keys [][]string
		done := s.Monitor(t, func(command []string) bool {
			if of := testredis.KeysOf(command); len(of) > 0 {
				keys = append(keys, of)
			}
			return command[0] != "echo"
		})
		hostile := "a\x00\n é\xff"
		if flavour.Release(t).Product == testredis.Redis {
			hostile += "\"\\"
		}
		require.NoError(t, c.Set(ctx, hostile, "v", 0).Err())
		require.NoError(t, c.Eval(ctx, "redis.call('get', KEYS[1]) return redis.call('del', KEYS[1], KEYS[2])", []string{hostile, "b"}, "c").Err())
		require.NoError(t, c.Set(ctx, "kept", "v", 0).Err())
		require.NoError(t, c.Echo(ctx, "end").Err())
		<-done
		assert.Equal(t, [][]string{{hostile}, {hostile, "b"}, {hostile}, {hostile, "b"}, {"kept"}}, keys)
		dump := s.Dump(t)
		require.Len(t, dump, 1)
		assert.NotEmpty(t, dump["kept"])
	})
}
