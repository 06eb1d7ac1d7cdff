// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// stateKey names the state of a partition's index, and setKey the index.
func stateKey(p backends.Partition) string { return fmt.Sprintf("{em:near:user:%s}:nearst", p.ID) }
func setKey(p backends.Partition) string   { return fmt.Sprintf("{em:near:user:%s}:near", p.ID) }

// watch is a hook that counts the scripts that a client runs with their number of keys.
type watch struct{ ran func(keys int) }

func (w watch) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}
func (w watch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (w watch) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); cmd.Name() == "evalsha" && err == nil {
			n, _ := strconv.Atoi(fmt.Sprint(args[2]))
			w.ran(n)
		}
		return err
	}
}

const keysOfWrite = 4 // how many keys the script has that writes to the index

func vadds(t testing.TB, client *redis.Client) (n int) {
	t.Helper()
	text, err := client.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	if _, rest, ok := strings.Cut(text, "cmdstat_VADD:calls="); ok {
		_, err = fmt.Sscanf(rest, "%d", &n)
		require.NoError(t, err)
	}
	return n
}

func TestBuildGoesOnWhereItStopped(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	p, r := user("stopped"), rand.New(rand.NewPCG(1, 3))
	const n, dim = 400, 16
	for _, at := range []int{1, 3, 7} {
		t.Run(fmt.Sprint("after script ", at), func(t *testing.T) {
			srv.Client(t).FlushAll(t.Context())
			srv.Client(t).ConfigResetStat(t.Context())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			client, writes := srv.Client(t), 0
			client.AddHook(watch{func(keys int) {
				if keys == keysOfWrite {
					if writes++; writes == at {
						cancel()
					}
				}
			}})
			dying, next := newStore(t, client, nearConfig()), newStore(t, srv.Client(t), nearConfig())
			fill(t, next, p, r, n, dim)
			require.ErrorIs(t, dying.BuildNear(ctx, p, decoder('a')), context.Canceled)
			name := client.HGet(t.Context(), stateKey(p), "name").Val()
			require.NotEmpty(t, name)
			half := client.VCard(t.Context(), setKey(p)).Val()
			require.Positive(t, half)
			require.Less(t, half, int64(n))
			applyTo(t, next, p, dim, store.Delete("id-0"), store.Delete("id-1"), store.Retract("id-2", backends.SystemClock()), store.Delete("id-399"))
			require.NoError(t, next.BuildNear(t.Context(), p, decoder('a')))
			assert.Equal(t, name, client.HGet(t.Context(), stateKey(p), "name").Val(), "not anew")
			assert.Less(t, vadds(t, client), n, "nothing twice, and not what was deleted before")
			requireExact(t, next, next, p, randomVector(r, dim))
		})
	}
}

func TestBuildOutlivesBrokenConnections(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	p, r := user("broken"), rand.New(rand.NewPCG(1, 3))
	const n, dim = 400, 16
	admin, writes := srv.Client(t), 0
	client := srv.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
	client.AddHook(watch{func(keys int) {
		if keys == keysOfWrite {
			if writes++; writes%3 == 0 {
				admin.Do(t.Context(), "client", "kill", "type", "normal", "skipme", "yes")
			}
		}
	}})
	s := newStore(t, client, nearConfig())
	fill(t, newStore(t, admin, nil), p, r, n, dim)
	require.NoError(t, s.BuildNear(t.Context(), p, decoder('a')))
	assert.Equal(t, n, vadds(t, admin), "nothing twice")
	requireExact(t, s, s, p, randomVector(r, dim))
}

func TestStoresCatchUpTogether(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	p := user("together")
	const n, dim, rounds = 300, 8, 25
	stores := []*redisstore.Store{newStore(t, srv.Client(t), nearConfig()), newStore(t, srv.Client(t), nearConfig()), newStore(t, srv.Client(t), nearConfig())}
	fill(t, stores[0], p, rand.New(rand.NewPCG(2, 2)), n, dim)
	require.NoError(t, stores[0].BuildNear(t.Context(), p, decoder('a')))
	var all sync.WaitGroup
	for i, s := range stores {
		all.Go(func() { // each writes, and finds what it wrote at once
			r := rand.New(rand.NewPCG(3, uint64(i)))
			for range rounds {
				id, v := fmt.Sprint("id-", r.IntN(n)), randomVector(r, dim)
				mine := fmt.Sprintf("of-%d-%d", i, r.IntN(5))
				if _, err := s.Apply(t.Context(), p, &store.Batch{Mutations: []store.Mutation{putVector(mine, v), putVector(id, randomVector(r, dim))}}); !assert.NoError(t, err) {
					return
				}
				got, err := s.Nearest(t.Context(), p, query(v, 3))
				if assert.NoError(t, err) && assert.NotEmpty(t, got.IDs) {
					assert.Equal(t, mine, got.IDs[0])
					assert.InDelta(t, 1, got.Cosines[0], 1e-4)
				}
			}
		})
	}
	all.Wait()
	r := rand.New(rand.NewPCG(4, 4))
	for _, s := range stores {
		requireExact(t, s, s, p, randomVector(r, dim))
	}
}

func TestStoresBuildTogether(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	p, r := user("builders"), rand.New(rand.NewPCG(2, 9))
	const n, dim = 500, 8
	writer := newStore(t, srv.Client(t), nearConfig())
	fill(t, writer, p, r, n, dim)
	var all sync.WaitGroup
	for range 3 {
		s := newStore(t, srv.Client(t), nearConfig())
		all.Go(func() { assert.NoError(t, s.BuildNear(t.Context(), p, decoder('a'))) })
	}
	all.Wait()
	assert.Equal(t, n, vadds(t, srv.Client(t)), "one builds")
	requireExact(t, writer, writer, p, randomVector(r, dim))
}

func TestFarBehindIsBuiltInTheBackground(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	p, r := user("background"), rand.New(rand.NewPCG(5, 5))
	cfg := nearConfig()
	cfg.Near.Ahead = 10
	s := newStore(t, srv.Client(t), cfg)
	fill(t, s, p, r, 200, 8)
	q := query(randomVector(r, 8), 5)
	_, err := s.Nearest(t.Context(), p, q)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.NotErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "being built")
	require.Eventually(t, func() bool { _, err := s.Nearest(t.Context(), p, q); return err == nil }, 20*time.Second, 5*time.Millisecond)
	requireExact(t, s, s, p, randomVector(r, 8))
	applyTo(t, s, p, 8, putVector("one-more", randomVector(r, 8)))
	requireExact(t, s, s, p, randomVector(r, 8)) // a few are indexed at once
}

func TestCloseEndsTheBackground(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	p, r := user("closed"), rand.New(rand.NewPCG(5, 5))
	cfg := nearConfig()
	cfg.Near.Ahead = -1
	client := srv.Client(t)
	started, once := make(chan struct{}), sync.Once{}
	client.AddHook(watch{func(keys int) {
		if keys == keysOfWrite {
			once.Do(func() { close(started) })
		}
	}})
	s := newStore(t, client, cfg)
	fill(t, s, p, r, 2000, 64)
	_, err := s.Nearest(t.Context(), p, query(randomVector(r, 64), 5))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	<-started
	require.NoError(t, s.Close())
	card := client.VCard(t.Context(), setKey(p)).Val()
	assert.Less(t, card, int64(2000))
	assert.Equal(t, card, client.VCard(t.Context(), setKey(p)).Val())
	_, err = s.Nearest(t.Context(), p, query(randomVector(r, 64), 5))
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

func TestLeaseOfTheDead(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	client := srv.Client(t)
	p, r := user("dead"), rand.New(rand.NewPCG(6, 6))
	s := newStore(t, client, nearConfig())
	fill(t, s, p, r, 20, 8)
	requireExact(t, s, s, p, randomVector(r, 8))
	applyTo(t, s, p, 8, putVector("more", randomVector(r, 8)))
	client.HSet(t.Context(), stateKey(p), "owner", "somebody", "ends", time.Now().Add(time.Hour).UnixMilli())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Nearest(ctx, p, query(randomVector(r, 8), 5))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	client.HSet(t.Context(), stateKey(p), "ends", time.Now().Add(-time.Hour).UnixMilli())
	requireExact(t, s, s, p, randomVector(r, 8))
	assert.False(t, client.HExists(t.Context(), stateKey(p), "owner").Val(), "the lease is given back")
}

func TestIndexOfAnotherPastIsBuiltAnew(t *testing.T) {
	client := testredis.NeedRedis(t, 8).Start(t).Client(t)
	s := newStore(t, client, nearConfig())
	r := rand.New(rand.NewPCG(6, 6))
	for name, spoil := range map[string]func(cursor string) (field, value string){
		"a nonce that is not known": func(c string) (string, string) { return "cursor", c[:len(c)-8] + "AAAAAAAA" },
		"no cursor at all":          func(string) (string, string) { return "cursor", "nonsense" },
		"a version to come":         func(string) (string, string) { return "ver", "1000" },
		"another format":            func(string) (string, string) { return "format", "0" },
		"another partition":         func(string) (string, string) { return "inc", "x" },
		"another space":             func(string) (string, string) { return "space", "{}" },
	} {
		t.Run(name, func(t *testing.T) {
			p := user("past")
			_, err := s.Drop(t.Context(), p)
			require.NoError(t, err)
			fill(t, s, p, r, 20, 8)
			requireExact(t, s, s, p, randomVector(r, 8))
			before := client.HGetAll(t.Context(), stateKey(p)).Val()
			field, value := spoil(before["cursor"])
			client.HSet(t.Context(), stateKey(p), field, value)
			applyTo(t, s, p, 8, putVector("id-1", randomVector(r, 8)), store.Delete("id-2"))
			requireExact(t, s, s, p, randomVector(r, 8))
			assert.NotEqual(t, before["name"], client.HGet(t.Context(), stateKey(p), "name").Val())
		})
	}
}

func TestLeaseIsGivenBackWhileOthersWrite(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	p, r := user("giveback"), rand.New(rand.NewPCG(6, 6))
	const dim = 4
	client, writer := srv.Client(t), newStore(t, srv.Client(t), nearConfig())
	_, err := writer.Nearest(t.Context(), p, query(randomVector(r, dim), 5)) // loads the script
	require.NoError(t, err)
	looked, grown := sync.Once{}, false
	client.AddHook(watch{func(keys int) {
		if keys == 5 { // the index was looked at: now the partition grows by more than a page
			looked.Do(func() {
				grown = true
				for i := range 3 {
					var all []store.Mutation
					for j := range 900 {
						all = append(all, putVector(fmt.Sprintf("more-%d-%d", i, j), randomVector(r, dim)))
					}
					applyTo(t, writer, p, dim, all...)
				}
			})
		}
	}})
	fill(t, writer, p, r, 10, dim)
	s := newStore(t, client, nearConfig())
	_, err = s.Nearest(t.Context(), p, query(randomVector(r, dim), 5))
	require.NoError(t, err)
	require.True(t, grown)
	assert.False(t, client.HExists(t.Context(), stateKey(p), "owner").Val())
	require.NoError(t, writer.BuildNear(t.Context(), p, decoder('a')))
	requireExact(t, writer, writer, p, randomVector(r, dim))
}

func TestForbiddenVectorSets(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	admin := srv.Client(t)
	p, r := user("acl"), rand.New(rand.NewPCG(7, 7))
	for _, command := range []string{"vcard", "vadd", "vsim"} {
		t.Run(command, func(t *testing.T) {
			admin.FlushAll(t.Context())
			require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "bob", "on", "nopass", "~*", "+@all", "-"+command).Err())
			s := newStore(t, srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "bob", "x" }), nearConfig())
			fill(t, s, p, r, 5, 4)
			_, err := s.Nearest(t.Context(), p, query(randomVector(r, 4), 3))
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, "forbidden")
			require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "bob", "+"+command).Err())
			requireExact(t, s, s, p, randomVector(r, 4))
		})
	}
}

func TestVersionsThatCrashAreNotUsed(t *testing.T) {
	flavour := testredis.NeedRedis(t, 8)
	s := newStore(t, flavour.Start(t).Client(t), nil)
	p, r := user("auto"), rand.New(rand.NewPCG(7, 7))
	fill(t, s, p, r, 5, 4)
	_, err := s.Nearest(t.Context(), p, query(randomVector(r, 4), 3))
	if flavour.Release(t).Major == 8 && flavour.Release(t).Minor == 0 {
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "beta")
	}
}

func TestFullServerLeavesTheIndexWhole(t *testing.T) {
	srv := testredis.NeedRedis(t, 8).Start(t)
	client := srv.Client(t)
	p, r := user("full"), rand.New(rand.NewPCG(8, 8))
	s := newStore(t, client, nearConfig())
	const n, dim = 400, 256
	fill(t, s, p, r, n, dim)
	info := client.InfoMap(t.Context(), "memory").Val()["Memory"]["used_memory"]
	used, err := strconv.Atoi(info)
	require.NoError(t, err)
	var failed atomic.Int64
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", strconv.Itoa(used+200_000)).Err())
	if err := s.BuildNear(t.Context(), p, decoder('a')); err != nil {
		require.ErrorIs(t, err, backends.ErrUnavailable)
		failed.Add(1)
	}
	require.EqualValues(t, 1, failed.Load(), "it did not fit")
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.NoError(t, s.BuildNear(t.Context(), p, decoder('a')))
	requireExact(t, s, s, p, randomVector(r, dim))
	assert.EqualValues(t, n, client.VCard(t.Context(), setKey(p)).Val())
}

func TestNearestOnACluster(t *testing.T) {
	client := testredis.NeedRedis(t, 8).StartCluster(t, 3).Client(t)
	s := newStore(t, client, nearConfig())
	r := rand.New(rand.NewPCG(9, 9))
	for i := range 6 { // on all of its nodes
		p := user(fmt.Sprint("cluster-", i))
		fill(t, s, p, r, 20, 8)
		requireExact(t, s, s, p, randomVector(r, 8))
		applyTo(t, s, p, 8, putVector("id-1", randomVector(r, 8)), store.Delete("id-2"))
		requireExact(t, s, s, p, randomVector(r, 8))
	}
}
