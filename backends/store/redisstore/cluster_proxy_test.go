// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/faultproxy"
	"github.com/einomem/einomem/internal/testredis"
)

// Partitions are begun, written and dropped on a cluster whose every connection is
// behind a proxy that cuts it or loses its replies: the registry is on other nodes than
// most partitions, so that half of a call may be known and half not.
func TestAClusterBehindProxiesThatBreakConnections(t *testing.T) {
	if !long() {
		t.Skip("a cluster takes some seconds: EINOMEM_LONG=1 runs it")
	}
	cluster := testredis.Need(t).StartCluster(t, 3)
	var proxies []*faultproxy.Proxy
	for i, addr := range cluster.Addrs() {
		p := faultproxy.Start(t, addr)
		p.CutRandomly(uint64(i), 64<<10)
		proxies = append(proxies, p)
	}
	const users, writers, each = 24, 3, 20
	user := func(n int) backends.Partition {
		return backends.Partition{Namespace: fmt.Sprint("n", n%3), Kind: backends.PartitionUser, ID: fmt.Sprint("u", n)}
	}
	var all errgroup.Group
	for w := range writers {
		s := newStore(t, cluster.Client(t, func(o *redis.ClusterOptions) { o.Dialer = faultproxy.Dialer(proxies...) }), &redisstore.Config{Retry: time.Minute})
		for n := range users {
			all.Go(func() error {
				for i := range each {
					if i%4 == 0 {
						proxies[(n+i)%3].LoseReplies(1)
					}
					id := fmt.Sprint(w, "-", i)
					if _, err := s.Append(t.Context(), user(n), "talk", &store.Append{Entries: []store.Entry{said(id)}}); err != nil {
						return err
					}
					fresh := backends.Partition{Namespace: "fresh", Kind: backends.PartitionAgent, ID: fmt.Sprint(w, n, i)}
					if _, err := s.Apply(t.Context(), fresh, &store.Batch{Mutations: []store.Mutation{put("x", "x")}}); err != nil {
						return err
					}
					b := &store.Batch{Mutations: []store.Mutation{put(id, id)}, Session: &store.SessionUpdate{Session: "talk"}}
					if _, err := s.Apply(t.Context(), user(n), b); err != nil {
						return err
					}
					if i%2 == 0 {
						if _, err := s.Drop(t.Context(), fresh); err != nil {
							return err
						}
					}
				}
				return nil
			})
		}
	}
	require.NoError(t, all.Wait())
	cuts := 0
	for _, p := range proxies {
		p.CutRandomly(0, 0)
		p.LoseReplies(0)
		cuts += p.Cuts()
	}
	c := cluster.Client(t)
	s := newStore(t, c, nil)
	for n := range users {
		st, err := s.Session(t.Context(), user(n), "talk")
		require.NoError(t, err)
		require.EqualValues(t, writers*each, st.LastSeq)
		set, err := s.Changes(t.Context(), user(n), "")
		require.NoError(t, err)
		require.Len(t, set.Records, writers*each)
		require.EqualValues(t, writers*each, set.Version, "no batch was committed twice")
		checkIntegrity(t, c, s, user(n))
	}
	for cursor, found := "", 0; ; {
		page, err := s.Partitions(t.Context(), "fresh", store.Page{Limit: 1000, Cursor: cursor})
		require.NoError(t, err)
		found += len(page.Partitions)
		if cursor = page.Next; cursor == "" {
			require.Equal(t, users*writers*each/2, found)
			break
		}
	}
	checkReport(t, func() (*redisstore.Report, error) { return s.VerifyRegistry(t.Context()) })
	t.Logf("%d calls, %d connections cut", users*writers*each*3, cuts)
	require.Greater(t, cuts, 50)
}
