// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// Cluster is a Redis Cluster of masters without replicas that belongs to one test.
type Cluster struct {
	Servers []*Server // each with an equal share of the slots, in order
}

// StartCluster starts that many masters, splits the slots between them, and waits
// until all agree, which takes two to three seconds: a node lets that pass before it serves.
// A dead node is noticed after about one second.
func (f Flavour) StartCluster(t testing.TB, masters int) *Cluster {
	t.Helper()
	c := &Cluster{}
	for i := range masters {
		s := f.Start(t, nodeArgs...)
		c.Servers = append(c.Servers, s)
		do(t, s, "set-config-epoch", i+1)
		args := []any{"addslots"} // ADDSLOTSRANGE is for 7.0 and later
		for slot := i * slots / masters; slot < (i+1)*slots/masters; slot++ {
			args = append(args, slot)
		}
		do(t, s, args...)
		if i > 0 {
			do(t, s, "meet", "127.0.0.1", c.Servers[0].port)
		}
	}
	c.AwaitOK(t)
	return c
}

var nodeArgs = []string{"--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-announce-ip", "127.0.0.1"}

// do gives a node a command of CLUSTER, and returns the answer as text.
func do(t testing.TB, node *Server, words ...any) string {
	t.Helper()
	answer, err := node.Client(t).Do(t.Context(), append([]any{"cluster"}, words...)...).Text()
	if err != nil {
		t.Fatalf("cluster node %s: %v: %v\n%s", node.Addr, words[0], err, node.log())
	}
	return answer
}

// AddReplicas starts a replica of each server, and waits until it has caught up. The
// replicas are in the order of Servers, and not among them.
func (c *Cluster) AddReplicas(t testing.TB) []*Server {
	t.Helper()
	replicas := make([]*Server, len(c.Servers))
	for i, master := range c.Servers {
		r := master.flavour.Start(t, nodeArgs...)
		id := do(t, master, "myid")
		do(t, r, "meet", "127.0.0.1", master.port)
		client := r.Client(t)
		if err := await(func(ctx context.Context) error { return client.ClusterReplicate(ctx, id).Err() }); err != nil {
			t.Fatalf("replica of cluster node %s: %v\n%s", master.Addr, err, r.log())
		}
		r.awaitReplication(t, "master_link_status", "up")
		replicas[i] = r
	}
	return replicas
}

// AwaitOK waits until every node knows all others and reports that the cluster is whole.
func (c *Cluster) AwaitOK(t testing.TB) {
	t.Helper()
	want := []string{"cluster_state:ok", fmt.Sprint("cluster_slots_ok:", slots), fmt.Sprint("cluster_known_nodes:", len(c.Servers))}
	for _, s := range c.Servers {
		client := s.Client(t)
		err := await(func(ctx context.Context) error {
			info, err := client.ClusterInfo(ctx).Result()
			for _, line := range want {
				if err == nil && !strings.Contains(info, line+"\r\n") {
					err = fmt.Errorf("not %s: %s", line, info)
				}
			}
			return err
		})
		if err != nil {
			t.Fatalf("cluster node %s: %v\n%s", s.Addr, err, s.log())
		}
	}
}

// Client returns a client that the test closes at its end. It has go-redis' own
// settings, but for what opts change.
func (c *Cluster) Client(t testing.TB, opts ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	t.Helper()
	o := &redis.ClusterOptions{ContextTimeoutEnabled: true}
	for _, s := range c.Servers {
		o.Addrs = append(o.Addrs, s.Addr)
	}
	for _, opt := range opts {
		opt(o)
	}
	client := redis.NewClusterClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// MoveSlot moves a slot with its keys, one by one, from one master to another. It
// calls during, unless nil, when the move has begun and after each key: while some
// keys are here and others there.
func (c *Cluster) MoveSlot(t testing.TB, slot int, from, to *Server, during func()) {
	t.Helper()
	source, sourceID, targetID := from.Client(t), do(t, from, "myid"), do(t, to, "myid")
	do(t, to, "setslot", slot, "importing", sourceID)
	do(t, from, "setslot", slot, "migrating", targetID)
	for {
		if during != nil {
			during()
		}
		keys, err := source.ClusterGetKeysInSlot(t.Context(), slot, 1).Result()
		if err == nil && len(keys) == 0 {
			break
		}
		if err == nil { // NOKEY is no error: it expired or was deleted meanwhile
			err = source.Migrate(t.Context(), "127.0.0.1", strconv.Itoa(to.port), keys[0], 0, patience).Err()
		}
		if err != nil {
			t.Fatalf("move slot %d: %q: %v", slot, keys, err)
		}
	}
	for _, s := range append([]*Server{to, from}, c.Servers...) { // the target first: else no node owns the slot for a moment
		do(t, s, "setslot", slot, "node", targetID)
	}
}

// StartReplica starts a server that follows of, and waits until it has caught up.
func (f Flavour) StartReplica(t testing.TB, of *Server) *Server {
	t.Helper()
	args := []string{"--replicaof", "127.0.0.1", strconv.Itoa(of.port)}
	if p := of.password(); p != "" {
		args = append(args, "--masterauth", p)
	}
	s := f.Start(t, args...)
	s.awaitReplication(t, "master_link_status", "up")
	return s
}

// Promote makes a replica a master, as a failover does. The old master does not learn of it.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	if err := s.Client(t).Do(t.Context(), "replicaof", "no", "one").Err(); err != nil {
		t.Fatalf("promote %s: %v", s.Addr, err)
	}
	s.awaitReplication(t, "role", "master")
}

// AwaitReplica waits until a replica has all that the server, which is of no cluster, has
// written.
func (s *Server) AwaitReplica(t testing.TB) {
	t.Helper()
	conn := s.Client(t, func(o *redis.Options) { o.ReadTimeout = 2 * patience }).Conn()
	defer func() { _ = conn.Close() }()
	// WAIT is about the writes of its connection.
	if err := conn.Set(t.Context(), "mark of AwaitReplica", "", time.Millisecond).Err(); err != nil {
		t.Fatalf("replica of %s: %v", s.Addr, err)
	}
	if n, err := conn.Wait(t.Context(), 1, patience).Result(); err != nil || n < 1 {
		t.Fatalf("replica of %s: %d have all within %s: %v", s.Addr, n, patience, err)
	}
}

func (s *Server) awaitReplication(t testing.TB, field, want string) {
	t.Helper()
	c := s.Client(t)
	err := await(func(ctx context.Context) error {
		info := c.InfoMap(ctx, "replication")
		if got := info.Item("Replication", field); info.Err() == nil && got != want {
			return fmt.Errorf("%s is %q, not %q", field, got, want)
		}
		return info.Err()
	})
	if err != nil {
		t.Fatalf("replication of %s: %v\n%s", s.Addr, err, s.log())
	}
}
