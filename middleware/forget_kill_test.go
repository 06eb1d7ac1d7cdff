// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
	"github.com/einomem/einomem/middleware"
)

// words are what the child's user says.
func (l *life) words() string { return strings.Replace(l.User, "user", "mark", 1) + "end" }

// forget forgets the child's user, or has the user talk and learns it. "whenever" is for a
// child that its parent kills: its store is the one that users have.
func (l *life) forget(t testing.TB) {
	o := newOffice(t, nil, func() store.Store {
		if l.is("whenever") && !strings.HasPrefix(l.Store, "redis:") {
			return testkit.File(t, l.Store)
		}
		return l.open(t)
	})
	fmt.Println("ready")
	if l.is("talk") {
		o.says(0, l.User, l.words(), func() {})
		o.quiet()
		return
	}
	_, err := o.of[0].mem.Forget(t.Context(), middleware.Scope{UserID: l.User})
	require.NoError(t, err)
}

// contents returns all keys of a server, and what they hold.
func contents(t testing.TB, c *redis.Client) string {
	var out strings.Builder
	ctx := t.Context()
	read := map[string]func(key string) redis.Cmder{
		"string": func(key string) redis.Cmder { return c.Get(ctx, key) },
		"hash":   func(key string) redis.Cmder { return c.HGetAll(ctx, key) },
		"list":   func(key string) redis.Cmder { return c.LRange(ctx, key, 0, -1) },
		"set":    func(key string) redis.Cmder { return c.SMembers(ctx, key) },
		"zset":   func(key string) redis.Cmder { return c.ZRange(ctx, key, 0, -1) },
	}
	keys, err := c.Keys(ctx, "*").Result()
	require.NoError(t, err)
	for _, key := range keys {
		kind := c.Type(ctx, key).Val()
		if kind == "none" { // it expired
			continue
		}
		require.Contains(t, read, kind)
		fmt.Fprintln(&out, key, read[kind](key))
	}
	return out.String()
}

// A process is killed while it forgets a user, or while the user talks and it learns, and
// another process forgets them, which may also be learning: nothing of them is left.
func TestForgettingIsKilled(t *testing.T) {
	testkit.Once(t)
	testkit.SlowUnderRace(t)
	t.Parallel() // it mostly waits for other processes
	deaths := 3
	if testkit.Long() {
		deaths = 20
	}
	storages := map[string]func(t *testing.T) (url string, o *office){
		"sqlite": func(t *testing.T) (string, *office) {
			path := filepath.Join(t.TempDir(), "memory.db")
			return path, newOffice(t, bytesOf(t, path), func() store.Store { return testkit.File(t, path) })
		},
		"redis": func(t *testing.T) (string, *office) {
			server := testredis.Need(t).Start(t)
			c := server.Client(t)
			return server.URL(), newOffice(t, func() string { return contents(t, c) }, func() store.Store { return onRedis(t, server.Client(t)) })
		},
	}
	for name, storage := range storages {
		t.Run(name, func(t *testing.T) {
			url, o := storage(t)
			o.says(0, "bob", "bobsword", func() {})
			o.quiet()
			bob, round, dead := o.exported("bob"), 0, 0
			try := func(role string, step int, killed func(l *life) (steps int, died bool)) (steps int) {
				round++
				l := &life{Store: url, User: fmt.Sprintf("user%04d", round), Role: role, Step: step}
				o.says(round%2, l.User, l.words(), func() {})
				if round%3 == 0 {
					o.quiet() // else it is learnt while it is forgotten
				}
				steps, died := killed(l)
				if died {
					dead++
				}
				_, err := o.of[round%2].mem.Forget(o.Context(), middleware.Scope{UserID: l.User})
				require.NoError(t, err)
				o.quiet()
				o.leftNothing(round, l.User, l.words())
				return steps
			}
			atStep := func(l *life) (int, bool) { _, steps, died := l.run(t); return steps, died }
			whenever := func(l *life) (int, bool) {
				c := l.start(t)
				_, ready := c.Line()
				require.True(t, ready)
				time.Sleep(rand.N(30 * time.Millisecond))
				c.Kill()
				c.Rest()
				return 0, c.Wait(t)
			}
			for _, role := range []string{"forget", "forget, talk"} {
				steps := try(role, 0, atStep)
				require.Positive(t, steps)
				for n := range deaths {
					try(role, 1+n*steps/deaths+rand.IntN(max(1, steps/deaths)), atStep)
					try(role+", whenever", 0, whenever)
				}
			}
			require.Equal(t, bob, o.exported("bob"))
			require.GreaterOrEqual(t, 2*dead, round)
			t.Logf("%d rounds, %d killed", round, dead)
		})
	}
}
