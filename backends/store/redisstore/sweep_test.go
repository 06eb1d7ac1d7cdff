// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
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

// One session that somebody else wrote to is an error for its partition, and does
// not keep those of others out of the list of all.
func TestAnUnreadableSessionIsLeftOutOfTheListOfAll(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer client.Close()
	var log bytes.Buffer
	s, ctx := newStore(t, client, &redisstore.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}), t.Context()
	ann, bob := backends.Partition{Namespace: "n", Kind: backends.PartitionUser, ID: "ann"}, backends.Partition{Namespace: "n", Kind: backends.PartitionUser, ID: "bob"}
	for _, p := range []backends.Partition{ann, bob} {
		_, err := s.Append(ctx, p, "s", &store.Append{Entries: []store.Entry{{Message: backends.Message{ID: "m", Message: schema.UserMessage("x")}}}})
		require.NoError(t, err)
	}
	require.NoError(t, client.HSet(ctx, "{em:n:user:ann}:s:s:st", "state", "{").Err())
	for _, pending := range []bool{true, false} {
		_, err := s.List(ctx, store.SessionQuery{Partition: &ann, Pending: pending})
		require.ErrorIs(t, err, backends.ErrUnavailable)
		page, err := s.List(ctx, store.SessionQuery{Pending: pending})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 1)
		require.Equal(t, bob, page.Sessions[0].Partition)
		require.Contains(t, log.String(), "n/user/ann")
		log.Reset()
	}
}
