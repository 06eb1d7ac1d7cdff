// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis_test

import (
	"context"
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

		n, err := acknowledged(ctx, master.Client(t))
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		master.Kill()
		replica.Promote(t)
		require.NoError(t, client.Set(ctx, "after", "v", 0).Err())
		assert.EqualValues(t, 3, client.Exists(ctx, "before", "waited", "after").Val())
	})
}

// acknowledged writes, and returns how many replicas have it.
func acknowledged(ctx context.Context, c *redis.Client) (int64, error) {
	conn := c.Conn() // WAIT is about the writes of its connection
	defer conn.Close()
	if err := conn.Set(ctx, "waited", "v", 0).Err(); err != nil {
		return 0, err
	}
	return conn.Wait(ctx, 1, 10*time.Second).Result()
}
