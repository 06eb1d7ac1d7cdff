// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testredis"
)

// What the server removes at the end of a session's time leaves the indexes, too.
func TestListingSweepsWhatIsGone(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		client := open(t)
		s, ctx := newStore(t, client, nil), t.Context()
		p := backends.Partition{Namespace: backends.NewID(), Kind: backends.PartitionUser, ID: "ann"}
		say := func(id string) {
			a := &store.Append{TTL: time.Hour, Entries: []store.Entry{{Message: backends.Message{ID: "m", Message: schema.UserMessage("x")}}}}
			_, err := s.Append(ctx, p, id, a)
			require.NoError(t, err)
		}
		tag := "{em:" + p.Namespace + ":user:ann}"
		for _, id := range []string{"gone", "kept", "blob"} {
			say(id)
		}
		require.NoError(t, s.PutBlob(ctx, p, "blob", "b", []byte("x")))
		for _, key := range []string{":s:gone:st", ":s:gone:log", ":s:gone:ids", ":s:blob:st", ":s:blob:log", ":s:blob:ids"} {
			require.NoError(t, client.Del(ctx, tag+key).Err())
		}
		page, err := s.List(ctx, store.SessionQuery{Partition: &p})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 1)
		for index, want := range map[string][]string{":sess": {"kept"}, ":pend": {"kept"}, ":born": {"kept", "blob"}} {
			require.ElementsMatch(t, want, client.ZRange(ctx, tag+index, 0, -1).Val(), index)
		}
		say("gone")
		page, err = s.List(ctx, store.SessionQuery{Partition: &p, Pending: true})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 2)
	})
}
