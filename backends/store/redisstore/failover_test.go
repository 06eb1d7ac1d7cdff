// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/faultproxy"
	"github.com/einomem/einomem/internal/testredis"
)

// pair is a master and its replica behind one address, which follows the master.
type pair struct {
	t               *testing.T
	master, replica *testredis.Server
	proxy           *faultproxy.Proxy
}

func newPair(t *testing.T) *pair {
	f := testredis.Need(t)
	p := &pair{t: t, master: f.Start(t)}
	p.replica = f.StartReplica(t, p.master)
	p.proxy = faultproxy.Start(t, p.master.Addr)
	synced(t, p.master) // it takes a master some time to count on a new replica
	return p
}

func (p *pair) store(cfg *redisstore.Config) *redisstore.Store {
	p.t.Helper()
	client := redis.NewClient(&redis.Options{Addr: p.proxy.Addr(), MinRetryBackoff: time.Millisecond, MaxRetryBackoff: 5 * time.Millisecond})
	p.t.Cleanup(func() { _ = client.Close() })
	return newStore(p.t, client, cfg)
}

// synced waits until the replica has all that the master has.
func synced(t *testing.T, master *testredis.Server) {
	t.Helper()
	conn := master.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Minute }).Conn()
	defer func() { _ = conn.Close() }()
	ctx := t.Context()
	require.NoError(t, conn.Set(ctx, "mark", "", time.Second).Err()) // WAIT is about writes of its connection
	n, err := conn.Do(ctx, "wait", 1, 30_000).Int()
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// cut ends the replication: what is written from now on is on the master alone.
func (p *pair) cut() { p.replica.Promote(p.t) }

// failover lets the replica take the master's place.
func (p *pair) failover() {
	p.master.Kill()
	p.proxy.Target(p.replica.Addr)
	p.proxy.CutAll()
}

func texts(records []store.Record) map[string]string {
	out := map[string]string{}
	for i := range records {
		out[records[i].ID] = records[i].Text
	}
	return out
}

// Without Config.Replicas a failover loses what the replica did not have, that and
// nothing else. Whoever had seen it starts over, also when as many batches, or more,
// were written since; and what was lost can be written again under its key.
func TestWhatAFailoverLoses(t *testing.T) {
	for name, since := range map[string]int{"fewer batches since": 1, "as many": 7, "more": 12} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			s := p.store(nil)
			ctx := t.Context()
			ranker, err := recall.New(ctx, &recall.Config{Records: s})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, ranker.Close()) })
			write := func(key, id, text string) *store.Applied {
				t.Helper()
				applied, err := s.Apply(ctx, ann, &store.Batch{Key: key, Mutations: []store.Mutation{put(id, text)}})
				require.NoError(t, err)
				_, err = s.Append(ctx, ann, "s", saying("message "+key))
				require.NoError(t, err)
				return applied
			}
			want := map[string]string{}
			for i := range 5 {
				id := fmt.Sprint("kept ", i)
				want[id] = "kept by the replica"
				write(id, id, want[id])
			}
			synced(t, p.master)
			p.cut()
			const gone = 7
			for i := range gone - 1 {
				write(fmt.Sprint("lost ", i), fmt.Sprint("lost ", i), "a text about walruses")
			}
			write("changed", "kept 0", "a text about walruses")

			before, err := s.Changes(ctx, ann, "")
			require.NoError(t, err)
			found, err := ranker.Search(ctx, ann, &backends.SearchRequest{Query: "walruses", TopK: 100})
			require.NoError(t, err)
			require.Len(t, found.Hits, gone)
			old, err := s.Session(ctx, ann, "s")
			require.NoError(t, err)
			require.EqualValues(t, 5+gone, old.LastSeq)

			p.failover()
			for i := range since {
				id := fmt.Sprint("new ", i)
				want[id] = "a text about penguins"
				write(id, id, want[id])
			}
			after, err := s.Changes(ctx, ann, before.Cursor)
			require.NoError(t, err)
			assert.True(t, after.Reset)
			assert.Equal(t, want, texts(after.Records))
			assert.Equal(t, int64(5+since), after.Version)
			for query, n := range map[string]int{"walruses": 0, "penguins": since, "replica": 5} {
				found, err := ranker.Search(ctx, ann, &backends.SearchRequest{Query: query, TopK: 100})
				require.NoError(t, err)
				assert.Len(t, found.Hits, n, query)
			}
			log, err := s.Read(ctx, ann, "s", store.Range{})
			require.NoError(t, err)
			assert.Len(t, log, 5+since)
			t.Logf("without replicas: %d of %d acknowledged batches and as many messages were lost, those that the replica did not have", gone, 5+gone)

			assert.True(t, write("kept 1", "kept 1", "twice").Replayed, "the replica knows the key")
			assert.False(t, write("lost 1", "lost 1", "again").Replayed, "nobody knows the key")
			assert.True(t, write("lost 1", "lost 1", "again").Replayed)
			again, err := s.Changes(ctx, ann, after.Cursor)
			require.NoError(t, err)
			assert.False(t, again.Reset)
			assert.Equal(t, map[string]string{"lost 1": "again"}, texts(again.Records))
		})
	}
}

// With Config.Replicas nothing is lost that was acknowledged, while a master is
// killed under load and the replica that confirmed takes its place.
func TestNothingConfirmedIsLostInAFailover(t *testing.T) {
	p := newPair(t)
	testredis.Need(t).StartReplica(t, p.replica) // confirms, once the replica is the master
	cfg := &redisstore.Config{Replicas: 1, ReplicaTimeout: 200 * time.Millisecond, Retry: 50 * time.Millisecond}
	a, b := p.store(cfg), p.store(cfg)
	beginning(t, a, ann)
	traffic := startTraffic(t, ann, a, b)
	for range several(3, 30) {
		traffic.advance()
	}
	p.master.Freeze() // with answers and replication on their way
	p.replica.Promote(t)
	p.failover()
	for range several(3, 30) {
		traffic.advance()
	}
	traffic.stop()
	traffic.check(p.store(nil))
}

// A master that Sentinels look after: the store finds it, and the one that follows it.
func TestSentinel(t *testing.T) {
	f := testredis.Need(t)
	script := filepath.Join(t.TempDir(), "sentinel.sh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n: > sentinel.conf\nexec "+f.Program+" sentinel.conf --sentinel \"$@\"\n"), 0o700))
	master := f.Start(t)
	f.StartReplica(t, master)
	sentinel := testredis.Flavour{Name: "sentinel", Program: script}.Start(t)
	host, port, err := net.SplitHostPort(master.Addr)
	require.NoError(t, err)
	watch := sentinel.Client(t)
	ctx := t.Context()
	for _, command := range [][]any{
		{"sentinel", "monitor", "mymaster", host, port, 1},
		{"sentinel", "set", "mymaster", "down-after-milliseconds", 200, "failover-timeout", 5000},
	} {
		require.NoError(t, watch.Do(ctx, command...).Err())
	}
	require.Eventually(t, func() bool {
		state, err := watch.Do(ctx, "sentinel", "replicas", "mymaster").Slice()
		return err == nil && len(state) == 1
	}, 30*time.Second, 10*time.Millisecond, "the sentinel asks the master for its replicas every ten seconds")

	url := "redis://" + sentinel.Addr + "?master_name=mymaster"
	s, err := redisstore.Open(ctx, url, &redisstore.Config{Retry: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	confirmed, err := redisstore.Open(ctx, url, &redisstore.Config{Replicas: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, confirmed.Close()) })
	_, err = confirmed.Append(ctx, ann, "s", saying("1", "2"))
	require.NoError(t, err)
	_, err = confirmed.Apply(ctx, ann, putting("a"))
	require.NoError(t, err)
	master.Kill()
	after, err := s.Append(ctx, ann, "s", saying("2", "3")) // as long as it takes
	require.NoError(t, err)
	assert.EqualValues(t, 3, after.LastSeq)
	got, err := s.Get(ctx, ann, "a")
	require.NoError(t, err)
	assert.Len(t, got, 1)
	_, err = confirmed.Append(ctx, ann, "s", saying("4"))
	require.ErrorIs(t, err, backends.ErrUnavailable, "nobody is left to confirm")
	require.ErrorContains(t, err, "0 of 1 replicas")
}

// A server that became a replica behind a client's back refuses writes; reads of it
// would be of the past, and the words say what happened.
func TestAMasterThatBecameAReplica(t *testing.T) {
	p := newPair(t)
	s, patient := p.store(&redisstore.Config{Retry: time.Millisecond}), p.store(&redisstore.Config{Retry: time.Minute})
	_, err := s.Append(t.Context(), ann, "s", saying("1"))
	require.NoError(t, err)
	synced(t, p.master)
	p.proxy.Target(p.replica.Addr)
	p.proxy.CutAll()
	_, err = s.Append(t.Context(), ann, "s", saying("2"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "the server is a replica: wait for the failover")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again := make(chan error)
	go func() { _, err := patient.Append(ctx, ann, "s", saying("2")); again <- err }()
	p.replica.Promote(t)
	require.NoError(t, <-again)
}
