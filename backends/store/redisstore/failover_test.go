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
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// pair is a master and its replica behind one address, which follows the master.
type pair struct {
	t               *testing.T
	master, replica *testredis.Server
	proxy           *testredis.Proxy
}

func newPair(t *testing.T) *pair {
	f := testredis.Need(t)
	p := &pair{t: t, master: f.Start(t)}
	p.replica = f.StartReplica(t, p.master)
	p.proxy = testredis.StartProxy(t, p.master.Addr)
	p.master.AwaitReplica(t) // it takes a master some time to count on a new replica
	return p
}

func (p *pair) store(cfg *redisstore.Config) *redisstore.Store {
	p.t.Helper()
	client := redis.NewClient(&redis.Options{Addr: p.proxy.Addr(), MinRetryBackoff: time.Millisecond, MaxRetryBackoff: 5 * time.Millisecond})
	p.t.Cleanup(func() { _ = client.Close() })
	return newStore(p.t, client, cfg)
}

// failover lets the replica, which was promoted, take the master's place.
func (p *pair) failover() {
	p.master.Kill()
	p.proxy.Target(p.replica.Addr)
	p.proxy.CutAll()
}

// Without Config.Replicas a failover loses what the replica did not have, that and
// nothing else. A reader that had seen it starts over, also when as many batches, or
// more, were written since; and what was lost can be written again under its key.
func TestWhatAFailoverLoses(t *testing.T) {
	const kept, lost = 5, 7
	for name, since := range map[string]int{"fewer batches since": 1, "as many": lost, "more": lost + 5} {
		t.Run(name, func(t *testing.T) {
			p, ctx := newPair(t), t.Context()
			s := p.store(nil)
			write := func(id, text string) *store.Applied {
				t.Helper()
				applied, err := s.Apply(ctx, ann, &store.Batch{Key: id, Mutations: []store.Mutation{put(id, text)}})
				require.NoError(t, err)
				_, err = s.Append(ctx, ann, "s", messages("message "+id))
				require.NoError(t, err)
				return applied
			}
			textsOf := func(records []store.Record) map[string]string {
				out := map[string]string{}
				for i := range records {
					out[records[i].ID] = records[i].Text
				}
				return out
			}
			want := map[string]string{}
			for i := range kept {
				id := fmt.Sprint("kept ", i)
				want[id] = "kept"
				write(id, "kept")
			}
			p.master.AwaitReplica(t)
			p.replica.Promote(t) // what is written from now on is on the master alone
			for i := range lost {
				write(fmt.Sprint("lost ", i), "lost")
			}
			before, err := s.Changes(ctx, ann, "")
			require.NoError(t, err)
			require.Len(t, before.Records, kept+lost)

			p.failover()
			for i := range since {
				id := fmt.Sprint("new ", i)
				want[id] = "new"
				write(id, "new")
			}
			after, err := s.Changes(ctx, ann, before.Cursor)
			require.NoError(t, err)
			require.True(t, after.Reset)
			require.Equal(t, want, textsOf(after.Records))
			require.Equal(t, int64(kept+since), after.Version)
			log, err := s.Read(ctx, ann, "s", store.Range{})
			require.NoError(t, err)
			require.Len(t, log, kept+since)

			require.True(t, write("kept 1", "twice").Replayed, "the replica knows the key")
			require.False(t, write("lost 1", "again").Replayed, "the key is unknown")
			require.True(t, write("lost 1", "again").Replayed)
			next, err := s.Changes(ctx, ann, after.Cursor)
			require.NoError(t, err)
			require.False(t, next.Reset)
			require.Equal(t, map[string]string{"lost 1": "again"}, textsOf(next.Records))
		})
	}
}

// With Config.Replicas nothing is lost that was acknowledged, while a master is
// killed under load and the replica that confirmed takes its place.
func TestNothingConfirmedIsLostInAFailover(t *testing.T) {
	p := newPair(t)
	testredis.Need(t).StartReplica(t, p.replica) // confirms, once the replica is the master
	cfg := &redisstore.Config{Replicas: 1, ReplicaTimeout: 200 * time.Millisecond, Retry: 50 * time.Millisecond}
	traffic := startTraffic(t, ann, p.store(cfg), p.store(cfg))
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

// What too few replicas confirmed is not acknowledged, however often and by which
// process it is repeated: the repeat finds the write done, and still waits for it.
func TestARepeatWaitsForWhatWasWrittenBefore(t *testing.T) {
	for _, f := range testredis.Flavours() {
		t.Run(f.Name, func(t *testing.T) {
			master := f.Start(t)
			replica := f.StartReplica(t, master)
			cfg := &redisstore.Config{Replicas: 1, ReplicaTimeout: 200 * time.Millisecond, Retry: -1}
			s := newStore(t, master.Client(t), cfg)
			master.AwaitReplica(t)
			_, err := s.Append(t.Context(), ann, "s", messages("1"))
			require.NoError(t, err)
			replica.Freeze()
			keyed := &store.Batch{Key: "once", Mutations: []store.Mutation{put("a", "a")}}
			for i, repeated := range []*redisstore.Store{s, newStore(t, master.Client(t), cfg), newStore(t, master.Client(t), cfg)} {
				_, err = repeated.Append(t.Context(), ann, "s", messages("2"))
				require.ErrorIs(t, err, backends.ErrUnavailable, fmt.Sprint("append ", i))
				require.ErrorContains(t, err, "0 of 1 replicas confirmed it within 200ms")
				_, err = repeated.Apply(t.Context(), ann, keyed)
				require.ErrorIs(t, err, backends.ErrUnavailable, fmt.Sprint("apply ", i))
			}
		})
	}
}

// A server that lost its scripts gets them again, and is still waited for.
func TestAWriteThatWaitsLoadsItsScript(t *testing.T) {
	p := newPair(t)
	s := p.store(&redisstore.Config{Replicas: 1})
	begin(t, s, ann)
	require.NoError(t, p.master.Client(t).ScriptFlush(t.Context()).Err())
	for what, err := range everything(t.Context(), s, ann) {
		require.NoError(t, err, what)
	}
	p.failover()
	p.replica.Promote(t)
	got, err := newStore(t, p.replica.Client(t), nil).Get(t.Context(), ann, "b")
	require.NoError(t, err)
	require.Len(t, got, 1)
}

// A master that Sentinels look after: the store finds it, and the one that follows it.
func TestSentinel(t *testing.T) {
	f, ctx := testredis.Need(t), t.Context()
	script := filepath.Join(t.TempDir(), "sentinel.sh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n: > sentinel.conf\nexec "+f.Program+" sentinel.conf --sentinel \"$@\"\n"), 0o700))
	master := f.Start(t)
	f.StartReplica(t, master)
	sentinel := testredis.Flavour{Name: "sentinel", Program: script}.Start(t)
	host, port, err := net.SplitHostPort(master.Addr)
	require.NoError(t, err)
	watch := sentinel.Client(t)
	require.NoError(t, watch.Do(ctx, "sentinel", "monitor", "mymaster", host, port, 1).Err())
	require.NoError(t, watch.Do(ctx, "sentinel", "set", "mymaster", "down-after-milliseconds", 200, "failover-timeout", 5000).Err())
	require.Eventually(t, func() bool {
		state, err := watch.Do(ctx, "sentinel", "replicas", "mymaster").Slice()
		return err == nil && len(state) == 1
	}, time.Minute, 10*time.Millisecond, "the sentinel asks the master for its replicas every ten seconds")

	url := "redis://" + sentinel.Addr + "?master_name=mymaster"
	s, err := redisstore.Open(ctx, url, &redisstore.Config{Retry: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	confirmed, err := redisstore.Open(ctx, url, &redisstore.Config{Replicas: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, confirmed.Close()) })
	begin(t, confirmed, ann)
	master.Kill()
	after, err := s.Append(ctx, ann, "s", messages("first", "2", "3")) // as long as it takes
	require.NoError(t, err)
	require.EqualValues(t, 3, after.LastSeq)
	got, err := s.Get(ctx, ann, "counter")
	require.NoError(t, err)
	require.Len(t, got, 1)
	_, err = confirmed.Append(ctx, ann, "s", messages("4"))
	require.ErrorIs(t, err, backends.ErrUnavailable, "no replica is left to confirm")
	require.ErrorContains(t, err, "0 of 1 replicas")
}

// A server that became a replica behind a client's back refuses writes; reads of it
// would be of the past, and the error says what happened.
func TestAMasterThatBecameAReplica(t *testing.T) {
	p := newPair(t)
	s, patient := p.store(&redisstore.Config{Retry: time.Millisecond}), p.store(&redisstore.Config{Retry: time.Minute})
	_, err := s.Append(t.Context(), ann, "s", messages("1"))
	require.NoError(t, err)
	p.master.AwaitReplica(t)
	p.proxy.Target(p.replica.Addr)
	p.proxy.CutAll()
	_, err = s.Append(t.Context(), ann, "s", messages("2"))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "the server is a replica: wait for the failover")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	repeated := make(chan error)
	go func() { _, err := patient.Append(ctx, ann, "s", messages("2")); repeated <- err }()
	p.replica.Promote(t)
	require.NoError(t, <-repeated)
}
