// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

// tagOf returns what the keys of a partition, whose names need no escaping, begin with.
func tagOf(p backends.Partition) string {
	return fmt.Sprintf("{em:%s:%s:%s}", p.Namespace, p.Kind, p.ID)
}

// nodeOf returns the slot of a key, and which server it is on.
func nodeOf(t *testing.T, c *testredis.Cluster, key string) (slot, server int) {
	t.Helper()
	n, err := c.Servers[0].Client(t).ClusterKeySlot(t.Context(), key).Result()
	require.NoError(t, err)
	master, err := c.Client(t).MasterForKey(t.Context(), key)
	require.NoError(t, err)
	return int(n), slices.Index(c.Addrs(), master.Options().Addr)
}

// hasty makes a client of a cluster that does not wait long between its own tries.
func hasty(o *redis.ClusterOptions) {
	o.MinRetryBackoff, o.MaxRetryBackoff = time.Millisecond, 2*time.Millisecond
	o.DialerRetries, o.DialerRetryTimeout = 1, time.Millisecond
}

// What a cluster does that one server does not. The tests share it, since it takes
// seconds to start; each has partitions of its own.
func TestCluster(t *testing.T) {
	flavours := testredis.Flavours()
	if len(flavours) == 0 {
		testredis.Need(t)
	}
	if !long() {
		flavours = flavours[:1]
	}
	for _, f := range flavours {
		t.Run(f.Name, func(t *testing.T) {
			c := f.StartCluster(t, 3)
			t.Run("partitions are on all nodes", func(t *testing.T) { partitionsAreOnAllNodes(t, c) })
			t.Run("a partition is in one slot", func(t *testing.T) { aPartitionIsInOneSlot(t, c) })
			t.Run("a slot moves slowly", func(t *testing.T) { aSlotMovesSlowly(t, c) })
			t.Run("a slot moves unnoticed", func(t *testing.T) { aSlotMovesUnnoticed(t, c) })
			t.Run("a node hangs", func(t *testing.T) { aNodeHangs(t, c) })
			t.Run("a node is killed", func(t *testing.T) { aNodeIsKilled(t, c) })
			t.Run("writes wait for replicas", func(t *testing.T) { writesWait(t, f, c) }) // last: it adds nodes
		})
	}
}

func partitionsAreOnAllNodes(t *testing.T, c *testredis.Cluster) {
	s := newStore(t, c.Client(t), nil)
	const many = 60
	on := map[int]int{}
	for i := range many {
		p := someone(fmt.Sprint("user-", i))
		_, server := nodeOf(t, c, tagOf(p)+":meta")
		on[server]++
		_, err := s.Apply(t.Context(), p, putting("a", "b"))
		require.NoError(t, err)
		_, err = s.Append(t.Context(), p, "s", saying("1"))
		require.NoError(t, err)
	}
	assert.Len(t, on, 3)
	for i, server := range c.Servers {
		keys, err := server.Client(t).Keys(t.Context(), "{em:default:*}:rec").Result()
		require.NoError(t, err)
		assert.Len(t, keys, on[i])
	}
	page, err := s.Partitions(t.Context(), "default", store.Page{Limit: 1000})
	require.NoError(t, err)
	assert.Len(t, page.Partitions, many)
	pending, err := s.List(t.Context(), store.SessionQuery{Pending: true, Page: store.Page{Limit: 1000}})
	require.NoError(t, err)
	assert.Len(t, pending.Sessions, many)
}

// traffic is what several goroutines do to one partition until they are stopped.
// Errors other than ErrUnavailable fail the test.
type traffic struct {
	t      *testing.T
	stores []*redisstore.Store
	p      backends.Partition
	end    atomic.Bool
	all    sync.WaitGroup
	rounds []atomic.Int64 // of each goroutine

	mu          sync.Mutex
	attempted   map[string]bool // message ids; true: acknowledged
	added       [2]int          // increments attempted, acknowledged
	unavailable map[string]int  // how often, by what was done
}

func startTraffic(t *testing.T, p backends.Partition, stores ...*redisstore.Store) *traffic {
	f := &traffic{t: t, stores: stores, p: p, attempted: map[string]bool{}, unavailable: map[string]int{}}
	work := []func(s *redisstore.Store, name string){f.append, f.append, f.increment, f.increment, f.read}
	f.rounds = make([]atomic.Int64, len(work))
	for i, do := range work {
		s := stores[i%len(stores)]
		f.all.Go(func() {
			for n := 0; !f.end.Load(); n++ {
				do(s, fmt.Sprintf("%d-%d", i, n))
				f.rounds[i].Add(1)
			}
		})
	}
	return f
}

// advance waits until every goroutine has done all it does once more, well or not.
func (f *traffic) advance() {
	for i := range f.rounds {
		before := f.rounds[i].Load()
		require.Eventually(f.t, func() bool { return f.rounds[i].Load() >= before+2 }, time.Minute, time.Millisecond)
	}
}

func (f *traffic) stop() { f.end.Store(true); f.all.Wait() }

// went notes an outcome, and reports whether it was good.
func (f *traffic) went(what string, err error) bool {
	if err == nil {
		return true
	}
	assert.ErrorIs(f.t, err, backends.ErrUnavailable, what)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unavailable[what]++
	return false
}

func (f *traffic) append(s *redisstore.Store, name string) {
	_, err := s.Append(f.t.Context(), f.p, "s", saying(name))
	ok := f.went("append", err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attempted[name] = ok
}

func (f *traffic) increment(s *redisstore.Store, name string) {
	_, err := s.Apply(f.t.Context(), f.p, &store.Batch{Key: name, Mutations: []store.Mutation{store.Increment("counter", "n", 1)}})
	ok := f.went("apply", err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added[0]++
	if ok {
		f.added[1]++
	}
}

func (f *traffic) read(s *redisstore.Store, _ string) {
	ctx := f.t.Context()
	entries, err := s.Read(ctx, f.p, "s", store.Range{})
	if f.went("read", err) {
		assert.NotEmpty(f.t, entries, "read")
	}
	some, err := s.Get(ctx, f.p, "counter")
	if f.went("get", err) {
		assert.Len(f.t, some, 1, "get")
	}
	changes, err := s.Changes(ctx, f.p, "")
	if f.went("changes", err) {
		assert.NotEmpty(f.t, changes.Records, "changes")
	}
	_, err = s.Session(ctx, f.p, "s")
	f.went("session", err)
	_, err = s.History(ctx, f.p, "counter")
	f.went("history", err)
	page, err := s.List(ctx, store.SessionQuery{Partition: &f.p})
	if f.went("list", err) {
		assert.Len(f.t, page.Sessions, 1, "list")
	}
	_, err = s.Update(ctx, f.p, &store.SessionUpdate{Session: "s", Summary: new(string)})
	f.went("update", err)
}

// check compares what is stored with what was acknowledged.
func (f *traffic) check(s *redisstore.Store) {
	f.t.Helper()
	times := map[string]int{}
	for after := int64(0); ; {
		log, err := s.Read(f.t.Context(), f.p, "s", store.Range{After: after})
		require.NoError(f.t, err)
		for _, e := range log {
			times[e.ID]++
			after = e.Seq
		}
		if len(log) == 0 {
			break
		}
	}
	for id, acknowledged := range f.attempted {
		if acknowledged {
			assert.Equal(f.t, 1, times[id], id)
		}
		assert.LessOrEqual(f.t, times[id], 1, id)
	}
	got, err := s.Get(f.t.Context(), f.p, "counter")
	require.NoError(f.t, err)
	n := got[0].Metadata["n"].(float64)
	assert.GreaterOrEqual(f.t, n, float64(f.added[1]))
	assert.LessOrEqual(f.t, n, float64(f.added[0]))
	f.t.Logf("%d messages attempted, %d stored; %d increments attempted, %d acknowledged, %v counted; unavailable: %v",
		len(f.attempted), len(times)-1, f.added[0], f.added[1], n, f.unavailable)
}

// beginning gives a partition what traffic works on.
func beginning(t *testing.T, s *redisstore.Store, p backends.Partition) {
	t.Helper()
	_, err := s.Apply(t.Context(), p, putting("counter"))
	require.NoError(t, err)
	_, err = s.Append(t.Context(), p, "s", saying("first"))
	require.NoError(t, err)
}

// While a slot moves, key by key, with work going on between any two keys, what is
// acknowledged is stored once, and the rest says that it is unavailable.
func aSlotMovesSlowly(t *testing.T, c *testredis.Cluster) {
	cfg := &redisstore.Config{Retry: time.Millisecond}
	a, b := newStore(t, c.Client(t, hasty), cfg), newStore(t, c.Client(t, hasty), cfg)
	p := someone("slow")
	beginning(t, a, p)
	slot, from := nodeOf(t, c, tagOf(p)+":meta")
	traffic := startTraffic(t, p, a, b)
	for range several(1, 4) {
		to := (from + 1) % 3
		c.MoveSlot(t, slot, c.Servers[from], c.Servers[to], traffic.advance)
		from = to
	}
	traffic.advance()
	traffic.stop()
	assert.NotEmpty(t, traffic.unavailable, "the test shows nothing if nothing failed")
	// From now on nothing fails.
	patient := newStore(t, c.Client(t), nil)
	traffic.check(patient)
	clear(traffic.unavailable)
	traffic.read(patient, "")
	traffic.append(patient, "after")
	traffic.increment(patient, "after")
	assert.Empty(t, traffic.unavailable)
	traffic.check(patient)
}

// A slot that moves as fast as it can is not noticed.
func aSlotMovesUnnoticed(t *testing.T, c *testredis.Cluster) {
	a, b := newStore(t, c.Client(t), nil), newStore(t, c.Client(t), nil)
	p := someone("fast")
	beginning(t, a, p)
	slot, from := nodeOf(t, c, tagOf(p)+":meta")
	traffic := startTraffic(t, p, a, b)
	for range several(4, 30) {
		to := (from + 1) % 3
		c.MoveSlot(t, slot, c.Servers[from], c.Servers[to], nil)
		from = to
		traffic.advance()
	}
	traffic.stop()
	assert.Empty(t, traffic.unavailable)
	traffic.check(a)
}

// The partitions of the nodes that are left go on when one is killed; its own say
// that they are unavailable, and no listing passes over them in silence.
func aNodeIsKilled(t *testing.T, c *testredis.Cluster) {
	for _, s := range c.Servers {
		require.NoError(t, s.Client(t).ConfigSet(t.Context(), "cluster-require-full-coverage", "no").Err())
	}
	s := newStore(t, c.Client(t, hasty), &redisstore.Config{Retry: time.Millisecond})
	on := map[int][]backends.Partition{}
	for i := range 20 {
		p := someone(fmt.Sprint("killed-", i))
		_, server := nodeOf(t, c, tagOf(p)+":meta")
		if len(on[server]) < 2 {
			on[server] = append(on[server], p)
			beginning(t, s, p)
		}
	}
	require.Len(t, on, 3)
	_, registry := nodeOf(t, c, "em:partitions:default")
	c.Servers[registry].Kill()
	for i, partitions := range on {
		for _, p := range partitions {
			for what, err := range everything(t.Context(), s, p) {
				switch {
				case i != registry:
					assert.NoError(t, err, "%s of a node that lives", what)
				default:
					assert.ErrorIs(t, err, backends.ErrUnavailable, "%s of the node that is dead", what)
				}
			}
		}
	}
	_, err := s.Partitions(t.Context(), "default", store.Page{})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = s.List(t.Context(), store.SessionQuery{})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = s.Apply(t.Context(), someone("nobody before"), putting("a"))
	require.ErrorIs(t, err, backends.ErrUnavailable, "nothing is stored that no listing would find")
	c.Servers[registry].Restart()
	c.AwaitOK(t)
	require.Eventually(t, func() bool { _, err := s.Partitions(t.Context(), "default", store.Page{}); return err == nil }, 30*time.Second, 10*time.Millisecond)
}

// everything does one thing of each kind and returns the errors.
func everything(ctx context.Context, s *redisstore.Store, p backends.Partition) map[string]error {
	out := map[string]error{}
	_, out["append"] = s.Append(ctx, p, "s", saying("2"))
	_, out["apply"] = s.Apply(ctx, p, putting("b"))
	_, out["get"] = s.Get(ctx, p, "counter")
	_, out["changes"] = s.Changes(ctx, p, "")
	_, out["read"] = s.Read(ctx, p, "s", store.Range{})
	_, out["session"] = s.Session(ctx, p, "s")
	_, out["history"] = s.History(ctx, p, "counter")
	_, out["list"] = s.List(ctx, store.SessionQuery{Partition: &p})
	_, out["update"] = s.Update(ctx, p, &store.SessionUpdate{Session: "s", Summary: new(string)})
	out["put blob"] = s.PutBlob(ctx, p, "s", "b", []byte("x"))
	_, out["get blob"] = s.GetBlob(ctx, p, "s", "b")
	_, out["list blobs"] = s.ListBlobs(ctx, p, "s", "", store.Page{})
	return out
}

// A node that does not answer holds up a call no longer than its context says.
func aNodeHangs(t *testing.T, c *testredis.Cluster) {
	client := c.Client(t, func(o *redis.ClusterOptions) { o.ContextTimeoutEnabled, o.ReadTimeout = true, time.Hour })
	s := newStore(t, client, nil)
	p := someone("hangs")
	beginning(t, s, p)
	_, server := nodeOf(t, c, tagOf(p)+":meta")
	c.Servers[server].Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for what, err := range everything(ctx, s, p) {
		assert.ErrorIs(t, err, context.DeadlineExceeded, what)
		assert.NotErrorIs(t, err, backends.ErrNotFound, what)
	}
	c.Servers[server].Thaw()
}

// Slots that move are the only reason why keys of one call could part: all keys of
// a partition are in one slot, whatever its names are.
func aPartitionIsInOneSlot(t *testing.T, c *testredis.Cluster) {
	s := newStore(t, c.Client(t), nil)
	p := backends.Partition{Namespace: "a}b{c", Kind: backends.PartitionUser, ID: "{}}{x:y 王"}
	for what, err := range everything(t.Context(), s, p) {
		require.NoError(t, err, what)
	}
	slots := map[int64][]string{}
	for _, server := range c.Servers {
		client := server.Client(t)
		keys, err := client.Keys(t.Context(), "*").Result()
		require.NoError(t, err)
		for _, key := range keys {
			if strings.HasPrefix(key, "{em:a%7Db%7Bc:") {
				n, err := client.ClusterKeySlot(t.Context(), key).Result()
				require.NoError(t, err)
				slots[n] = append(slots[n], key)
			}
		}
	}
	require.Len(t, slots, 1)
	assert.Greater(t, len(slices.Collect(maps.Values(slots))[0]), 8)
}
