// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/test/testredis"
)

// A partition of which every key was lost, as with a node of a Cluster, is damaged: no call
// takes it for one of which nothing is known, and none begins it anew, until Reindex or Drop.
func TestAPartitionThatWasLostAsAWhole(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		c, ctx := open(t), t.Context()
		s := newStore(t, c, nil)
		lose := func(p backends.Partition) {
			for _, key := range keysOf(t, c, p) {
				require.NoError(t, c.Del(ctx, key).Err())
			}
		}
		wayOut := map[string]func(p backends.Partition){
			"reindex": func(p backends.Partition) {
				found, err := s.Check(ctx, p)
				require.NoError(t, err)
				require.Contains(t, fmt.Sprint(found), "the server lost this and all other keys")
				repaired, err := s.Reindex(ctx, p)
				require.NoError(t, err)
				require.Equal(t, found, repaired)
			},
			"drop": func(p backends.Partition) {
				n, err := s.Drop(ctx, p)
				require.NoError(t, err)
				require.Zero(t, n)
			},
		}
		for name, begin := range wayOut {
			t.Run(name, func(t *testing.T) {
				p := user(backends.NewID())
				fill(t, s, p)
				lose(p)
				calls := everything(ctx, s, p)
				_, calls["deleted"] = s.Deleted(ctx, p, store.Page{})
				_, calls["blob sessions"] = s.BlobSessions(ctx, p, store.Page{})
				for what, err := range calls {
					require.ErrorIs(t, err, backends.ErrUnavailable, what)
					require.ErrorContains(t, err, "the server lost all of it", what)
				}
				require.Empty(t, keysOf(t, c, p))
				all, err := s.Partitions(ctx, p.Namespace, store.Page{Limit: 1000})
				require.NoError(t, err)
				require.Contains(t, all.Partitions, p, "an export meets it")
				begin(p)
				requireNothing(t, s, p)
				fill(t, s, p)
				require.NotEmpty(t, contents(t, s, p))
			})
		}
		t.Run("never written", func(t *testing.T) { // a process entered it in the registry, and died
			p := user(backends.NewID())
			damage(t, c, p, "ZADD em:partitions:n 0 user:"+p.ID, "ZADD em:work 0 n:user:"+p.ID)
			requireNothing(t, s, p)
			fill(t, s, p)
		})
		t.Run("dropped long ago", func(t *testing.T) {
			p := user(backends.NewID())
			fill(t, s, p)
			_, err := s.Drop(ctx, p)
			require.NoError(t, err)
			lose(p)
			requireNothing(t, s, p)
		})
	})
}

// requireNothing requires that nothing is known of a partition.
func requireNothing(t *testing.T, s *redisstore.Store, p backends.Partition) {
	t.Helper()
	ctx := t.Context()
	changes, err := s.Changes(ctx, p, "")
	require.NoError(t, err)
	require.Empty(t, changes.Records)
	entries, err := s.Read(ctx, p, "s", store.Range{})
	require.NoError(t, err)
	require.Empty(t, entries)
	_, err = s.Session(ctx, p, "s")
	require.ErrorIs(t, err, backends.ErrNotFound)
	_, err = s.GetBlob(ctx, p, "s", "blob")
	require.ErrorIs(t, err, backends.ErrNotFound)
}

// Lost blobs are damage to every call that needs them, and to no other one.
func TestLostBlobs(t *testing.T) {
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		c, ctx := open(t), t.Context()
		s := newStore(t, c, nil)
		for _, session := range []string{"s", "ttl", "no_session"} {
			p := user(backends.NewID())
			fill(t, s, p)
			damage(t, c, p, "DEL T:s:"+session+":blobs")
			calls := map[string]error{"put": s.PutBlob(ctx, p, session, "other", []byte("x")), "remove": s.PutBlob(ctx, p, session, "blob", nil)}
			_, calls["get"] = s.GetBlob(ctx, p, session, "blob")
			_, calls["list"] = s.ListBlobs(ctx, p, session, "", store.Page{})
			for what, err := range calls {
				require.ErrorIs(t, err, backends.ErrUnavailable, "%s %s", session, what)
				require.ErrorContains(t, err, "the server lost "+keyOf(p, "s:"+session+":blobs"), "%s %s", session, what)
			}
			_, err := s.Append(ctx, p, session, messages("more"))
			require.NoError(t, err)
			_, err = s.GetBlob(ctx, p, session, "blob")
			require.ErrorIs(t, err, backends.ErrUnavailable, "a turn hides it")
			found, err := s.Check(ctx, p)
			require.NoError(t, err)
			require.Contains(t, fmt.Sprint(found), keyOf(p, "s:"+session+":blobs")+": it is missing")
			_, err = s.Reindex(ctx, p)
			require.NoError(t, err)
			_, err = s.GetBlob(ctx, p, session, "blob")
			require.ErrorIs(t, err, backends.ErrNotFound, "what is lost is accepted")
			require.NoError(t, s.PutBlob(ctx, p, session, "other", []byte("x")))
		}
	})
}

// What a worker asks for first after a restart of the server is checked, and what it would not
// find is put back.
func TestARestartedServerIsNoticed(t *testing.T) {
	server := testredis.Need(t).Start(t, "--appendonly", "yes", "--appendfsync", "always")
	var log bytes.Buffer
	c, ctx := server.Client(t), t.Context()
	s := newStore(t, c, &redisstore.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	begin(t, s, ann)
	pending := func() (ids []string) {
		page, err := s.List(ctx, store.SessionQuery{Pending: true})
		require.NoError(t, err)
		for _, session := range page.Sessions {
			ids = append(ids, session.ID)
		}
		return ids
	}
	require.Equal(t, []string{"s"}, pending())
	damage(t, c, ann, "ZREM T:pend s", "ZADD T:chg 9 no_record", "ZADD T:pend 7 other")
	require.Empty(t, pending(), "every call would be too often")
	require.Empty(t, log.String())
	server.Restart()
	require.Equal(t, []string{"s"}, pending())
	require.Contains(t, log.String(), ":pend")
	require.Contains(t, log.String(), "no_record")
	log.Reset()
	require.Equal(t, []string{"s"}, pending())
	require.Empty(t, log.String(), "once is enough")
	other := newStore(t, server.Client(t), &redisstore.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	_, err := other.List(ctx, store.SessionQuery{Pending: true})
	require.NoError(t, err)
	require.Empty(t, log.String(), "another process knows")
}
