// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

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
