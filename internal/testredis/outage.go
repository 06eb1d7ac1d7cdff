// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Outage is one way in which a Redis fails.
type Outage struct {
	Name    string
	Server  *Server  // which keeps all that it acknowledges
	Network *Network // by which its clients reach it

	Begin, End func()
	Reads      bool // what was stored can be read meanwhile
	Logs       bool // logs can, which are read without scripts
	Works      bool // it is slow, or fails now and then
	Hangs      bool // calls end when their contexts do

	// Timeout is what calls are given: a second if the Redis hangs, else so long that no
	// time limit is near.
	Timeout time.Duration
}

// EachOutage runs subtests in parallel, one for each way in which a Redis can fail, each
// with a server of its own.
func EachOutage(t *testing.T, test func(t *testing.T, o *Outage)) {
	flavour := Need(t)
	for i, way := range outages(nil, nil, nil) {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			s, n := flavour.Start(t, "--appendonly", "yes", "--appendfsync", "always"), &Network{}
			o := outages(s, n, s.Client(t))[i]
			o.Server, o.Network, o.Timeout = s, n, time.Hour
			if o.Hangs {
				o.Timeout = time.Second
			}
			test(t, &o)
		})
	}
}

func outages(s *Server, n *Network, admin *redis.Client) []Outage {
	// do has the server carry out a command.
	do := func(words ...any) func() {
		return func() {
			s.t.Helper()
			require.NoError(s.t, admin.Do(context.Background(), words...).Err())
		}
	}
	return []Outage{
		{Name: "refuses connections", Begin: func() { n.Refuse(true) }, End: func() { n.Refuse(false) }},
		{Name: "hangs", Begin: func() { s.Freeze() }, End: func() { s.Thaw() }, Hangs: true},
		{Name: "is killed", Begin: func() { s.Kill() }, End: func() { s.Restart() }},
		{Name: "is slow", Begin: func() { n.Delay(2 * time.Millisecond) }, End: func() { n.Delay(0) }, Reads: true, Works: true},
		{Name: "is out of memory", Begin: do("config", "set", "maxmemory", 1), End: do("config", "set", "maxmemory", 0), Reads: true},
		{Name: "is read-only", Begin: do("replicaof", "127.0.0.1", 1), End: do("replicaof", "no", "one"), Reads: true},
		{Name: "lacks replicas", Begin: do("config", "set", "min-replicas-to-write", 1), End: do("config", "set", "min-replicas-to-write", 0), Reads: true},
		{Name: "forbids scripts", Begin: do("acl", "setuser", "default", "-evalsha", "-eval"), End: do("acl", "setuser", "default", "+@all"), Logs: true},
		{Name: "changes its password", Begin: func() { do("config", "set", "requirepass", "new")(); n.CutAll() }, End: do("config", "set", "requirepass", "")},
		{Name: "loses replies", Begin: func() { n.LoseReplies(1<<30, "evalsha", "eval") }, End: func() { n.LoseReplies(0) }, Logs: true},
		{Name: "cuts connections", Begin: func() { n.CutRandomly(7, 6000) }, End: func() { n.CutRandomly(7, 0) }, Reads: true, Works: true},
	}
}
