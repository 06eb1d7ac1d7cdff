// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/faultproxy"
	"github.com/einomem/einomem/internal/testredis"
)

// weather is a server behind a proxy that cuts connections at random and loses
// replies.
type weather struct {
	server *testredis.Server
	proxy  *faultproxy.Proxy
}

func newWeather(t *testing.T) *weather {
	t.Helper()
	w := &weather{server: testredis.Need(t).Start(t)}
	w.proxy = faultproxy.Start(t, w.server.Addr)
	return w
}

// store returns a store behind the proxy, which repeats for long enough.
func (w *weather) store(t *testing.T) *redisstore.Store {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: w.proxy.Addr()})
	t.Cleanup(func() { _ = c.Close() })
	return newStore(t, c, &redisstore.Config{Retry: 30 * time.Second})
}

// direct returns a store that does not go through the proxy.
func (w *weather) direct(t *testing.T) *redisstore.Store {
	t.Helper()
	return newStore(t, w.server.Client(t), nil)
}

// storm breaks what it can until stop is called: connections at random, and the reply
// to a write every so often.
func (w *weather) storm(t *testing.T, seed uint64, loss time.Duration) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w.proxy.CutRandomly(seed, 96<<10)
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(loss)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.proxy.LoseReplies(1, "evalsha")
			}
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
		w.proxy.CutRandomly(0, 0)
		w.proxy.LoseReplies(0)
	})
	t.Cleanup(stop)
	return stop
}

func TestWritersBehindAProxyThatBreaksConnections(t *testing.T) {
	w := newWeather(t)
	all := &writers{writers: 64, count: several(150, 1000), repeat: true}
	for range 8 {
		all.stores = append(all.stores, w.store(t))
	}
	stop := w.storm(t, 1, 20*time.Millisecond)
	repeats := all.run(t, ann, "talk")
	stop()
	all.check(t, w.direct(t), ann, "talk")
	t.Logf("%d messages, %d connections cut, %d calls repeated by their callers", 64*all.count, w.proxy.Cuts(), repeats)
	require.Greater(t, w.proxy.Cuts(), 50)
}

// counter reads a number that Increment keeps.
func counter(t *testing.T, s *redisstore.Store, id string) int {
	t.Helper()
	got, err := s.Get(t.Context(), ann, id)
	require.NoError(t, err)
	require.Len(t, got, 1)
	n, _ := got[0].Metadata["n"].(float64)
	return int(n)
}

func put(id, text string) store.Mutation {
	return store.Put(&store.Record{Memory: backends.Memory{ID: id, Text: text}})
}

// An increment adds once, whatever became of its replies: with a key it may be
// repeated by its caller too, without one the store alone repeats it.
func TestIncrementsAddOnceWhenRepliesAreLost(t *testing.T) {
	w := newWeather(t)
	direct := w.direct(t)
	_, err := direct.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{put("keyed", ""), put("bare", "")}})
	require.NoError(t, err)
	const adders = 8
	each := several(60, 500)
	var all errgroup.Group
	stores := make([]*redisstore.Store, adders)
	for n := range stores {
		stores[n] = w.store(t)
	}
	stop := w.storm(t, 2, 3*time.Millisecond)
	for n, s := range stores {
		all.Go(func() error {
			for i := range each {
				keyed := &store.Batch{Key: fmt.Sprint(n, "-", i), Mutations: []store.Mutation{store.Increment("keyed", "n", 1)}}
				for range 2 { // the second one is a replay
					if _, err := s.Apply(t.Context(), ann, keyed); err != nil && !errors.Is(err, backends.ErrUnavailable) {
						return err
					}
				}
				if _, err := s.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{store.Increment("bare", "n", 1)}}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	stop()
	require.Equal(t, adders*each, counter(t, direct, "keyed"))
	require.Equal(t, adders*each, counter(t, direct, "bare"))
	t.Logf("%d increments, %d connections cut", 2*adders*each, w.proxy.Cuts())
	require.Greater(t, w.proxy.Cuts(), 20)
}

// Every update that was carried out is reported so: a conflict means that nothing
// was written, even if the answer to the first try was lost and others came after.
func TestUpdatesReportNoFalseConflict(t *testing.T) {
	w := newWeather(t)
	direct := w.direct(t)
	_, err := direct.Append(t.Context(), ann, "talk", &store.Append{})
	require.NoError(t, err)
	const updaters = 8
	each := several(100, 500)
	var all errgroup.Group
	var conflicts atomic.Int64
	stores := make([]*redisstore.Store, updaters)
	for n := range stores {
		stores[n] = w.store(t)
	}
	stop := w.storm(t, 3, 3*time.Millisecond)
	for _, s := range stores {
		all.Go(func() error {
			for done := 0; done < each; {
				st, err := s.Session(t.Context(), ann, "talk")
				if err != nil {
					return err
				}
				n, _ := strconv.Atoi(st.Summary)
				next := strconv.Itoa(n + 1)
				switch _, err = s.Update(t.Context(), ann, &store.SessionUpdate{Session: "talk", Version: st.Version, Summary: &next}); {
				case err == nil:
					done++
				case errors.Is(err, backends.ErrConflict):
					conflicts.Add(1)
				default:
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	stop()
	st, err := direct.Session(t.Context(), ann, "talk")
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(updaters*each), st.Summary)
	require.Equal(t, int64(1+updaters*each), st.Version)
	t.Logf("%d updates, %d conflicts, %d connections cut", updaters*each, conflicts.Load(), w.proxy.Cuts())
	require.Greater(t, w.proxy.Cuts(), 20)
}
