// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"io"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
)

// newLossy returns two stores on one server. After the first script of the first one
// since lose was called, meanwhile runs, and the answer is lost.
func newLossy(t *testing.T) (s, other *redisstore.Store, lose func(meanwhile func())) {
	t.Helper()
	addr := miniredis.RunT(t).Addr()
	var meanwhile func()
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() })
	s = newStore(t, c, &redisstore.Config{Retry: time.Minute})
	warm := backends.Partition{Namespace: "warm", Kind: backends.PartitionUser, ID: "up"} // the server knows the scripts
	_, err := s.Append(t.Context(), warm, "", &store.Append{})
	require.NoError(t, err)
	_, err = s.Update(t.Context(), warm, &store.SessionUpdate{})
	require.NoError(t, err)
	c.AddHook(&hook{after: func(name string) error {
		if name != "evalsha" || meanwhile == nil {
			return nil
		}
		f := meanwhile
		meanwhile = nil
		f()
		return io.EOF
	}})
	d := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = d.Close() })
	return s, newStore(t, d, nil), func(f func()) { meanwhile = f }
}

func text(s string) *string { return &s }

// An update is carried out, its answer is lost, and before it is repeated another
// one comes: the first must not be told that it failed.
func TestAnUpdateWithALostAnswerIsKnownAfterOthers(t *testing.T) {
	s, other, lose := newLossy(t)
	_, err := s.Append(t.Context(), ann, "talk", &store.Append{Entries: []store.Entry{said("a")}})
	require.NoError(t, err)
	for _, updates := range []int{0, 1, 100} {
		st, err := s.Session(t.Context(), ann, "talk")
		require.NoError(t, err)
		lose(func() {
			for range updates {
				_, err := other.Update(t.Context(), ann, &store.SessionUpdate{Session: "talk", Summary: text("theirs")})
				require.NoError(t, err)
			}
		})
		got, err := s.Update(t.Context(), ann, &store.SessionUpdate{Session: "talk", Version: st.Version, Summary: text("ours")})
		require.NoError(t, err, "%d others", updates)
		require.Equal(t, st.Version+1+int64(updates), got.Version)
	}
}

// What is gone when the update is repeated cannot be returned.
func TestAnUpdateWithALostAnswerOfASessionThatIsGone(t *testing.T) {
	s, other, lose := newLossy(t)
	_, err := s.Append(t.Context(), ann, "talk", &store.Append{Entries: []store.Entry{said("a")}})
	require.NoError(t, err)
	lose(func() { require.NoError(t, other.Delete(t.Context(), ann, "talk")) })
	_, err = s.Update(t.Context(), ann, &store.SessionUpdate{Session: "talk", Summary: text("ours")})
	require.ErrorIs(t, err, backends.ErrNotFound)
}

// A lease is acquired, the answer is lost, and before the call is repeated the lease
// ends and another takes it: the token of the other must not be handed out.
func TestALeaseThatWasLostWithItsAnswer(t *testing.T) {
	s, other, lose := newLossy(t)
	_, err := s.Append(t.Context(), ann, "talk", &store.Append{Entries: []store.Entry{said("a")}})
	require.NoError(t, err)
	acquire := func(s *redisstore.Store, owner string) (*store.Session, error) {
		return s.Update(t.Context(), ann, &store.SessionUpdate{Session: "talk", Acquire: &store.Acquire{Owner: owner, For: time.Nanosecond}})
	}
	var theirs int64
	lose(func() {
		st, err := acquire(other, "other")
		require.NoError(t, err)
		theirs = st.Lease.Token
	})
	_, err = acquire(s, "me")
	require.ErrorIs(t, err, backends.ErrConflict)

	lose(func() {})
	st, err := acquire(s, "me")
	require.NoError(t, err, "nobody else has it")
	require.Greater(t, st.Lease.Token, theirs)
}

// A batch without a key is committed once, even if the partition moved on by more
// versions than it keeps the nonces of.
func TestABatchWithALostAnswerIsCommittedOnce(t *testing.T) {
	s, other, lose := newLossy(t)
	_, err := s.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{put("count", "")}})
	require.NoError(t, err)
	lose(func() {
		for range 1100 {
			_, err := other.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{store.Increment("count", "n", 1)}})
			require.NoError(t, err)
		}
	})
	got, err := s.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{store.Increment("count", "n", 1000)}})
	require.NoError(t, err)
	require.False(t, got.Replayed)
	require.InDelta(t, 1000, got.Results[0].Value, 0)
	require.Equal(t, int64(2), got.Version)
	require.Equal(t, 2100, counter(t, other, "count"))
}
