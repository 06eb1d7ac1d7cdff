// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

const slots = 16384

// Cluster is a Redis Cluster of masters without replicas that belongs to one test.
type Cluster struct {
	Servers []*Server // each with an equal share of the slots, in order
}

// StartCluster starts that many masters, splits the slots between them, and waits until all
// agree. This takes two to three seconds, which a node lets pass before it serves. The
// others notice a dead node after about one second.
func (f Flavour) StartCluster(t testing.TB, masters int) *Cluster {
	t.Helper()
	c := &Cluster{}
	for i := range masters {
		s := f.Start(t, nodeArgs...)
		c.Servers = append(c.Servers, s)
		do(t, s, "set-config-epoch", i+1)
		args := []any{"addslots"} // ADDSLOTSRANGE needs 7.0 or later
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

var nodeArgs = []string{"--cluster-enabled", "yes", "--cluster-node-timeout", "3000", "--cluster-announce-ip", "127.0.0.1"}

// do gives a node a command of CLUSTER, and returns the answer as text.
func do(t testing.TB, node *Server, words ...any) string {
	t.Helper()
	answer, err := node.Client(t).Do(t.Context(), append([]any{"cluster"}, words...)...).Text()
	require.NoError(t, err, "cluster node %s: %v\n%s", node.Addr, words[0], node.log())
	return answer
}

// AddReplicas starts a replica of each server, and waits until it has caught up. The
// replicas are in the order of Servers, and stay out of that list.
func (c *Cluster) AddReplicas(t testing.TB) []*Server {
	t.Helper()
	replicas := make([]*Server, len(c.Servers))
	for i, master := range c.Servers {
		r := master.flavour.Start(t, nodeArgs...)
		id := do(t, master, "myid")
		do(t, r, "meet", "127.0.0.1", master.port)
		client := r.Client(t)
		err := await(func(ctx context.Context) error { return client.ClusterReplicate(ctx, id).Err() })
		require.NoError(t, err, "replica of cluster node %s\n%s", master.Addr, r.log())
		err = await(func(ctx context.Context) error {
			info := client.InfoMap(ctx, "replication")
			if status := info.Item("Replication", "master_link_status"); info.Err() == nil && status != "up" {
				return fmt.Errorf("the link to the master is %q", status)
			}
			return info.Err()
		})
		require.NoError(t, err, "replica of cluster node %s\n%s", master.Addr, r.log())
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
		require.NoError(t, err, "cluster node %s\n%s", s.Addr, s.log())
	}
}

// Client returns a client that the test closes at its end. It has go-redis' own settings,
// except the ones that opts change.
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
