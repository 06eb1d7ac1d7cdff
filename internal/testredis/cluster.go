// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"fmt"
	"strconv"
	"testing"

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
	for range masters {
		c.Servers = append(c.Servers, f.Start(t, nodeArgs...))
	}
	for i, s := range c.Servers {
		if err := c.join(t, i, s.Client(t)); err != nil {
			t.Fatalf("cluster node %d: %v\n%s", i, err, s.Log())
		}
	}
	c.AwaitOK(t)
	return c
}

var nodeArgs = []string{"--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-announce-ip", "127.0.0.1"}

// AddReplicas starts a replica of each server, and waits until it has caught up. The
// replicas are in the order of Servers, and not among them.
func (c *Cluster) AddReplicas(t testing.TB) []*Server {
	t.Helper()
	replicas := make([]*Server, len(c.Servers))
	for i, master := range c.Servers {
		r := master.flavour.Start(t, nodeArgs...)
		client := r.Client(t)
		id, err := master.Client(t).ClusterMyID(t.Context()).Result()
		if err == nil {
			err = client.ClusterMeet(t.Context(), "127.0.0.1", strconv.Itoa(master.port)).Err()
		}
		if err == nil {
			err = await(func(ctx context.Context) error { return client.ClusterReplicate(ctx, id).Err() })
		}
		if err != nil {
			t.Fatalf("replica of cluster node %s: %v\n%s", master.Addr, err, r.Log())
		}
		r.awaitReplication(t, "master_link_status", "up")
		replicas[i] = r
	}
	return replicas
}

// join gives node i its epoch and slots, and makes it known to the first one.
func (c *Cluster) join(t testing.TB, i int, node *redis.Client) error {
	ctx, n := t.Context(), len(c.Servers)
	if err := node.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
		return err
	}
	args := []any{"cluster", "addslots"} // ADDSLOTSRANGE is for 7.0 and later
	for slot := i * slots / n; slot < (i+1)*slots/n; slot++ {
		args = append(args, slot)
	}
	if err := node.Do(ctx, args...).Err(); err != nil || i == 0 {
		return err
	}
	return node.ClusterMeet(ctx, "127.0.0.1", strconv.Itoa(c.Servers[0].port)).Err()
}

// AwaitOK waits until every node knows all others and reports that the cluster is whole.
func (c *Cluster) AwaitOK(t testing.TB) {
	t.Helper()
	for _, s := range c.Servers {
		client := s.Client(t)
		err := await(func(ctx context.Context) error { return c.ok(ctx, client) })
		if err != nil {
			t.Fatalf("cluster node %s: %v\n%s", s.Addr, err, s.Log())
		}
	}
}

func (c *Cluster) ok(ctx context.Context, node *redis.Client) error {
	got, err := info(ctx, node, "cluster")
	if err != nil {
		return err
	}
	for field, want := range map[string]string{
		"cluster_state":       "ok",
		"cluster_known_nodes": strconv.Itoa(len(c.Servers)),
		"cluster_slots_ok":    strconv.Itoa(slots),
	} {
		if got[field] != want {
			return fmt.Errorf("%s is %q, not %q", field, got[field], want)
		}
	}
	return nil
}

// Addrs returns the addresses of all servers.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, s := range c.Servers {
		all = append(all, s.Addr)
	}
	return all
}

// URL returns the address of all servers as redis://h1:p1,h2:p2,h3:p3?cluster=true.
func (c *Cluster) URL() string {
	u := "redis://"
	for i, addr := range c.Addrs() {
		if i > 0 {
			u += ","
		}
		u += addr
	}
	return u + "?cluster=true"
}

// Client returns a client that the test closes at its end. It has go-redis' own
// settings, but for what opts change.
func (c *Cluster) Client(t testing.TB, opts ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	t.Helper()
	o := &redis.ClusterOptions{Addrs: c.Addrs(), ContextTimeoutEnabled: true}
	for _, opt := range opts {
		opt(o)
	}
	client := redis.NewClusterClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
