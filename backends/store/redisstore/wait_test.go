// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// someone is the partition of one user.
func someone(id string) backends.Partition {
	return backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: id}
}

// message is one message of a turn, with an id of its own.
func message(id string) store.Entry {
	return store.Entry{Message: backends.Message{Message: schema.UserMessage("text of " + id), ID: id, Turn: "t"}, Tokens: 1}
}

func saying(ids ...string) *store.Append {
	a := &store.Append{Scope: backends.Scope{UserID: "ann"}}
	for _, id := range ids {
		a.Entries = append(a.Entries, message(id))
	}
	return a
}

// putting is a batch of one memory for each id.
func putting(ids ...string) *store.Batch {
	b := &store.Batch{}
	for _, id := range ids {
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindFact, Text: "text of " + id}}))
	}
	return b
}

// What too few replicas confirmed is not acknowledged, however often and by whom
// it is repeated: the repeat finds the write done, and still waits for it.
func TestARepeatWaitsForWhatWasWrittenBefore(t *testing.T) {
	for _, f := range testredis.Flavours() {
		t.Run(f.Name, func(t *testing.T) {
			master := f.Start(t)
			replica := f.StartReplica(t, master)
			cfg := &redisstore.Config{Replicas: 1, ReplicaTimeout: 200 * time.Millisecond, Retry: -1}
			s, ann := newStore(t, master.Client(t), cfg), someone("ann")
			synced(t, master)
			_, err := s.Append(t.Context(), ann, "s", saying("1"))
			require.NoError(t, err)
			replica.Freeze()
			keyed := putting("a")
			keyed.Key = "once"
			for i, repeated := range []*redisstore.Store{s, newStore(t, master.Client(t), cfg), newStore(t, master.Client(t), cfg)} {
				_, err = repeated.Append(t.Context(), ann, "s", saying("2"))
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
	beginning(t, s, ann)
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

// addReplicas gives each master of a cluster a replica.
func addReplicas(t *testing.T, f testredis.Flavour, c *testredis.Cluster) []*testredis.Server {
	t.Helper()
	ctx, out := t.Context(), make([]*testredis.Server, len(c.Servers))
	host, port, err := net.SplitHostPort(c.Servers[0].Addr)
	require.NoError(t, err)
	for i, master := range c.Servers {
		id, err := master.Client(t).ClusterMyID(ctx).Result()
		require.NoError(t, err)
		out[i] = f.Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-announce-ip", "127.0.0.1")
		client := out[i].Client(t)
		require.NoError(t, client.ClusterMeet(ctx, host, port).Err())
		require.Eventually(t, func() bool { return client.ClusterReplicate(ctx, id).Err() == nil }, 30*time.Second, 10*time.Millisecond)
		require.Eventually(t, func() bool {
			return strings.Contains(client.Info(ctx, "replication").Val(), "master_link_status:up")
		}, 30*time.Second, 10*time.Millisecond)
	}
	return out
}

// On a Cluster each write waits for the replicas of its own master, the entries of
// the registry too, and follows a slot that moves.
func writesWait(t *testing.T, f testredis.Flavour, c *testredis.Cluster) {
	replicas := addReplicas(t, f, c)
	a, b := newStore(t, c.Client(t), &redisstore.Config{Replicas: 1}), newStore(t, c.Client(t), &redisstore.Config{Replicas: 1, ReplicaTimeout: 50 * time.Millisecond, Retry: -1})
	p := someone("waits")
	beginning(t, a, p)
	slot, from := nodeOf(t, c, tagOf(p)+":meta")
	traffic := startTraffic(t, p, a)
	c.MoveSlot(t, slot, c.Servers[from], c.Servers[(from+1)%3], nil)
	traffic.advance()
	traffic.stop()
	assert.Empty(t, traffic.unavailable)
	traffic.check(a)

	_, registry := nodeOf(t, c, "em:work")
	replicas[registry].Freeze()
	for i := range 30 {
		p, q := someone(fmt.Sprint("waits-", i)), someone(fmt.Sprint("waits-new-", i))
		_, there := nodeOf(t, c, tagOf(p)+":meta")
		if _, next := nodeOf(t, c, tagOf(q)+":meta"); there == registry || next == registry {
			continue
		}
		_, err := b.Apply(t.Context(), p, putting("a"))
		require.ErrorIs(t, err, backends.ErrUnavailable, "a failover could lose its entry in the registry")
		require.ErrorContains(t, err, "0 of 1 replicas")
		keys, err := c.Servers[there].Client(t).Keys(t.Context(), tagOf(p)+":*").Result()
		require.NoError(t, err)
		require.Empty(t, keys)
		replicas[registry].Thaw()
		_, err = a.Apply(t.Context(), p, putting("a"))
		require.NoError(t, err)
		return
	}
	t.Fatal("no partition on another node")
}
