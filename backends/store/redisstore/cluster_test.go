// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

// nodeOf returns the slot of a key, and the number of the server that has it.
func nodeOf(t *testing.T, c *testredis.Cluster, key string) (slot, server int) {
	t.Helper()
	n, err := c.Servers[0].Client(t).ClusterKeySlot(t.Context(), key).Result()
	require.NoError(t, err)
	master, err := c.Client(t).MasterForKey(t.Context(), key)
	require.NoError(t, err)
	return int(n), slices.IndexFunc(c.Servers, func(s *testredis.Server) bool { return s.Addr == master.Options().Addr })
}

// moveSlot moves a slot with its keys, one by one, from one master to another. It calls
// during, unless nil, when the move has begun and after each key: while some keys are here
// and others there.
func moveSlot(t *testing.T, c *testredis.Cluster, slot int, from, to *testredis.Server, during func()) {
	t.Helper()
	command := func(node *testredis.Server, words ...any) string {
		answer, err := node.Client(t).Do(t.Context(), append([]any{"cluster"}, words...)...).Text()
		require.NoError(t, err)
		return answer
	}
	source, sourceID, targetID := from.Client(t), command(from, "myid"), command(to, "myid")
	host, port, err := net.SplitHostPort(to.Addr)
	require.NoError(t, err)
	command(to, "setslot", slot, "importing", sourceID)
	command(from, "setslot", slot, "migrating", targetID)
	for {
		if during != nil {
			during()
		}
		keys, err := source.ClusterGetKeysInSlot(t.Context(), slot, 1).Result()
		require.NoError(t, err)
		if len(keys) == 0 {
			break
		}
		// NOKEY is no error: it expired or was deleted meanwhile.
		require.NoError(t, source.Migrate(t.Context(), host, port, keys[0], 0, time.Minute).Err())
	}
	for _, s := range append([]*testredis.Server{to, from}, c.Servers...) { // the target first: else no node owns the slot for a moment
		command(s, "setslot", slot, "node", targetID)
	}
}

// hasty makes a client of a cluster that does not wait long between its own tries.
func hasty(o *redis.ClusterOptions) {
	o.MinRetryBackoff, o.MaxRetryBackoff = time.Millisecond, 2*time.Millisecond
	o.DialerRetries, o.DialerRetryTimeout = 1, time.Millisecond
}

// traffic is what several goroutines do to one partition until they are stopped.
// Errors other than ErrUnavailable fail the test.
type traffic struct {
	t      *testing.T
	p      backends.Partition
	end    atomic.Bool
	all    sync.WaitGroup
	rounds [5]atomic.Int64 // of each goroutine

	mu           sync.Mutex
	acknowledged map[string]bool // by message id: whether the append was
	increments   [2]int          // attempted, acknowledged
	unavailable  map[string]int  // by call: how often
}

// startTraffic begins the partition, and starts goroutines that take turns in using
// the stores.
func startTraffic(t *testing.T, p backends.Partition, stores ...*redisstore.Store) *traffic {
	begin(t, stores[0], p)
	require.NoError(t, stores[0].PutBlob(t.Context(), p, "s", "b", []byte("x")))
	f := &traffic{t: t, p: p, acknowledged: map[string]bool{}, unavailable: map[string]int{}}
	for i := range f.rounds {
		work := []func(s *redisstore.Store, id string){f.append, f.append, f.increment, f.increment, f.everything}[i]
		f.all.Go(func() {
			for n := 0; !f.end.Load(); n++ {
				work(stores[i%len(stores)], fmt.Sprintf("%d-%d", i, n))
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

// worked notes an outcome, and reports whether it was good. The mutex is held.
func (f *traffic) worked(what string, err error) bool {
	if err != nil {
		assert.ErrorIs(f.t, err, backends.ErrUnavailable, what)
		f.unavailable[what]++
	}
	return err == nil
}

func (f *traffic) append(s *redisstore.Store, id string) {
	_, err := s.Append(f.t.Context(), f.p, "s", messages(id))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acknowledged[id] = f.worked("append", err)
}

func (f *traffic) increment(s *redisstore.Store, id string) {
	_, err := s.Apply(f.t.Context(), f.p, &store.Batch{Key: id, Mutations: []store.Mutation{store.Increment("counter", "n", 1)}})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.increments[0]++
	if f.worked("apply", err) {
		f.increments[1]++
	}
}

func (f *traffic) everything(s *redisstore.Store, _ string) {
	all := everything(f.t.Context(), s, f.p)
	f.mu.Lock()
	defer f.mu.Unlock()
	for what, err := range all {
		f.worked(what, err)
	}
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
	for id, acknowledged := range f.acknowledged {
		assert.True(f.t, times[id] == 1 || !acknowledged && times[id] == 0, "%s: %d times", id, times[id])
	}
	got, err := s.Get(f.t.Context(), f.p, "counter")
	require.NoError(f.t, err)
	n := got[0].Metadata["n"].(float64)
	assert.True(f.t, n >= float64(f.increments[1]) && n <= float64(f.increments[0]), "%v counted of %v", n, f.increments)
	f.t.Logf("%d messages attempted, %d stored; increments attempted and acknowledged %v, %v counted; unavailable: %v",
		len(f.acknowledged), len(times)-1, f.increments, n, f.unavailable)
}

// onClusters runs a test on a cluster of three masters of each server there is, or of
// the first one.
func onClusters(t *testing.T, test func(t *testing.T, c *testredis.Cluster)) {
	testredis.Need(t)
	for _, f := range testredis.Flavours()[:testkit.Several(1, len(testredis.Flavours()))] {
		t.Run(f.Name, func(t *testing.T) { test(t, f.StartCluster(t, 3)) })
	}
}

func TestClusterSpreadsPartitions(t *testing.T) {
	onClusters(t, func(t *testing.T, c *testredis.Cluster) {
		s := newStore(t, c.Client(t), nil)
		const many = 60
		on := map[int]int{}
		for i := range many {
			p := user(fmt.Sprint("user-", i))
			_, server := nodeOf(t, c, keyOf(p, "meta"))
			on[server]++
			begin(t, s, p)
		}
		require.Len(t, on, 3)
		for i, server := range c.Servers {
			keys, err := server.Client(t).Keys(t.Context(), "{em:n:*}:rec").Result()
			require.NoError(t, err)
			require.Len(t, keys, on[i])
		}
		page, err := s.Partitions(t.Context(), "n", store.Page{Limit: 1000})
		require.NoError(t, err)
		require.Len(t, page.Partitions, many)
		pending, err := s.List(t.Context(), store.SessionQuery{Pending: true, Page: store.Page{Limit: 1000}})
		require.NoError(t, err)
		require.Len(t, pending.Sessions, many)

		// All keys of a partition are in one slot, whatever its names are.
		p := backends.Partition{Namespace: "a}b{c", Kind: backends.PartitionUser, ID: "{}}{x:y 王"}
		for what, err := range everything(t.Context(), s, p) {
			require.NoError(t, err, what)
		}
		slots, n := map[int64]bool{}, 0
		for _, server := range c.Servers {
			client := server.Client(t)
			for key := range dump(t, server) {
				if strings.HasPrefix(key, "{em:a%7Db%7Bc:") {
					slots[client.ClusterKeySlot(t.Context(), key).Val()] = true
					n++
				}
			}
		}
		require.Len(t, slots, 1)
		require.Greater(t, n, 8)
	})
}

func TestClusterMovesSlots(t *testing.T) {
	onClusters(t, func(t *testing.T, c *testredis.Cluster) {
		move := func(p backends.Partition, times int, during, after func()) {
			slot, from := nodeOf(t, c, keyOf(p, "meta"))
			for range times {
				to := (from + 1) % 3
				moveSlot(t, c, slot, c.Servers[from], c.Servers[to], during)
				from = to
				after()
			}
		}
		// While a slot moves, key by key, with work going on between any two keys, what is
		// acknowledged is stored once, and the rest is reported as unavailable.
		t.Run("slowly", func(t *testing.T) {
			cfg := &redisstore.Config{Retry: time.Millisecond}
			traffic := startTraffic(t, user("slow"), newStore(t, c.Client(t, hasty), cfg), newStore(t, c.Client(t, hasty), cfg))
			move(traffic.p, testkit.Several(1, 4), traffic.advance, traffic.advance)
			traffic.stop()
			assert.NotEmpty(t, traffic.unavailable, "the test shows nothing if nothing failed")
			patient := newStore(t, c.Client(t), nil) // with it nothing fails
			clear(traffic.unavailable)
			traffic.everything(patient, "")
			traffic.append(patient, "after")
			traffic.increment(patient, "after")
			assert.Empty(t, traffic.unavailable)
			traffic.check(patient)
		})
		// A slot that moves as fast as it can is not noticed.
		t.Run("unnoticed", func(t *testing.T) {
			a := newStore(t, c.Client(t), nil)
			traffic := startTraffic(t, user("fast"), a, newStore(t, c.Client(t), nil))
			move(traffic.p, testkit.Several(4, 30), nil, traffic.advance)
			traffic.stop()
			assert.Empty(t, traffic.unavailable)
			traffic.check(a)
		})
	})
}

func TestClusterWithoutANode(t *testing.T) {
	onClusters(t, func(t *testing.T, c *testredis.Cluster) {
		// A node that does not answer holds up a call no longer than its context.
		t.Run("that hangs", func(t *testing.T) {
			s := newStore(t, c.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = time.Hour }), nil)
			p := user("hangs")
			begin(t, s, p)
			_, server := nodeOf(t, c, keyOf(p, "meta"))
			c.Servers[server].Freeze()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			for what, err := range everything(ctx, s, p) {
				assert.ErrorIs(t, err, context.DeadlineExceeded, what)
				assert.NotErrorIs(t, err, backends.ErrNotFound, what)
			}
			c.Servers[server].Thaw()
		})
		// The partitions of the nodes that are left go on when one is killed; its own
		// are unavailable, and no listing passes over them in silence.
		t.Run("that is killed", func(t *testing.T) {
			for _, s := range c.Servers {
				require.NoError(t, s.Client(t).ConfigSet(t.Context(), "cluster-require-full-coverage", "no").Err())
			}
			s := newStore(t, c.Client(t, hasty), &redisstore.Config{Retry: time.Millisecond})
			on := map[int][]backends.Partition{}
			for i := range 20 {
				p := user(fmt.Sprint("killed-", i))
				_, server := nodeOf(t, c, keyOf(p, "meta"))
				if len(on[server]) < 2 {
					on[server] = append(on[server], p)
					begin(t, s, p)
				}
			}
			require.Len(t, on, 3)
			_, registry := nodeOf(t, c, "em:partitions:n")
			c.Servers[registry].Kill()
			for i, partitions := range on {
				for _, p := range partitions {
					for what, err := range everything(t.Context(), s, p) {
						if i == registry {
							assert.ErrorIs(t, err, backends.ErrUnavailable, "%s of the node that is dead", what)
						} else {
							assert.NoError(t, err, "%s of a node that lives", what)
						}
					}
				}
			}
			_, err := s.Partitions(t.Context(), "n", store.Page{})
			require.ErrorIs(t, err, backends.ErrUnavailable)
			_, err = s.List(t.Context(), store.SessionQuery{})
			require.ErrorIs(t, err, backends.ErrUnavailable)
			_, err = s.Apply(t.Context(), user("new"), batch(put("a", "a")))
			require.ErrorIs(t, err, backends.ErrUnavailable, "nothing is stored that no listing would find")
			c.Servers[registry].Restart()
			c.AwaitOK(t)
			require.Eventually(t, func() bool { _, err := s.Partitions(t.Context(), "n", store.Page{}); return err == nil }, time.Minute, 10*time.Millisecond)
		})
	})
}

// On a Cluster each write waits for the replicas of its own master, the entries of
// the registry too, and follows a slot that moves.
func TestClusterWritesWaitForReplicas(t *testing.T) {
	onClusters(t, func(t *testing.T, c *testredis.Cluster) {
		replicas := c.AddReplicas(t)
		a := newStore(t, c.Client(t), &redisstore.Config{Replicas: 1})
		b := newStore(t, c.Client(t), redisstore.Within(50*time.Millisecond, &redisstore.Config{Replicas: 1, Retry: -1}))
		traffic := startTraffic(t, user("waits"), a)
		slot, from := nodeOf(t, c, keyOf(traffic.p, "meta"))
		moveSlot(t, c, slot, c.Servers[from], c.Servers[(from+1)%3], nil)
		traffic.advance()
		traffic.stop()
		assert.Empty(t, traffic.unavailable)
		traffic.check(a)

		_, registry := nodeOf(t, c, "em:work")
		p, server := user("elsewhere-0"), registry
		for i := 1; server == registry; i++ {
			p = user(fmt.Sprint("elsewhere-", i))
			_, server = nodeOf(t, c, keyOf(p, "meta"))
		}
		replicas[registry].Freeze()
		_, err := b.Append(t.Context(), p, "s", messages("a"))
		require.ErrorIs(t, err, backends.ErrUnavailable, "a failover could lose its entry in the registry")
		require.ErrorContains(t, err, "0 of 1 replicas")
		require.Zero(t, c.Client(t).Exists(t.Context(), keyOf(p, "meta")).Val())
		replicas[registry].Thaw()
		_, err = a.Apply(t.Context(), p, batch(put("a", "a")))
		require.NoError(t, err)
	})
}

// Partitions are begun, written and dropped on a cluster whose every connection is
// cut at some time, or loses replies: the registry is on other nodes than
// most partitions, so that half of a call may be known and half not.
func TestClusterWhoseConnectionsBreak(t *testing.T) {
	if testkit.Several(0, 1) == 0 {
		t.Skip("takes half a minute: EINOMEM_LONG=1 runs it")
	}
	cluster := testredis.Need(t).StartCluster(t, 3)
	var network testredis.Network
	network.CutRandomly(0, 64<<10)
	const users, writers, each = 24, 3, 20
	partition := func(n int) backends.Partition {
		return backends.Partition{Namespace: fmt.Sprint("n", n%3), Kind: backends.PartitionUser, ID: fmt.Sprint("u", n)}
	}
	var all errgroup.Group
	for w := range writers {
		s := newStore(t, cluster.Client(t, func(o *redis.ClusterOptions) { o.Dialer = network.Dial }), &redisstore.Config{Retry: time.Minute})
		write := func(n, i int) error {
			id := fmt.Sprint(w, "-", i)
			if _, err := s.Append(t.Context(), partition(n), "s", messages(id)); err != nil {
				return err
			}
			fresh := backends.Partition{Namespace: "fresh", Kind: backends.PartitionAgent, ID: fmt.Sprint(w, n, i)}
			if _, err := s.Apply(t.Context(), fresh, batch(put("x", "x"))); err != nil {
				return err
			}
			b := &store.Batch{Mutations: []store.Mutation{put(id, id)}, Session: &store.SessionUpdate{Session: "s"}}
			if _, err := s.Apply(t.Context(), partition(n), b); err != nil || i%2 > 0 {
				return err
			}
			_, err := s.Drop(t.Context(), fresh)
			return err
		}
		for n := range users {
			all.Go(func() error {
				for i := range each {
					if i%4 == 0 {
						network.LoseReplies(3)
					}
					if err := write(n, i); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	require.NoError(t, all.Wait())
	network.CutRandomly(0, 0)
	network.LoseReplies(0)
	c := cluster.Client(t)
	s := newStore(t, c, nil)
	for n := range users {
		session, err := s.Session(t.Context(), partition(n), "s")
		require.NoError(t, err)
		require.EqualValues(t, writers*each, session.LastSeq)
		set, err := s.Changes(t.Context(), partition(n), "")
		require.NoError(t, err)
		require.Len(t, set.Records, writers*each)
		require.EqualValues(t, writers*each, set.Version, "no batch was committed twice")
		requireConsistent(t, c, s, partition(n))
	}
	found := 0
	for cursor, more := "", true; more; {
		page, err := s.Partitions(t.Context(), "fresh", store.Page{Limit: 1000, Cursor: cursor})
		require.NoError(t, err)
		found += len(page.Partitions)
		cursor, more = page.Next, page.Next != ""
	}
	require.Equal(t, users*writers*each/2, found)
	t.Logf("%d calls, %d connections cut", users*writers*each*3, network.Cuts())
	require.Greater(t, network.Cuts(), 50)
}
