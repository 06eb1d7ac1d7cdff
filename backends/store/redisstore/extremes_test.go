// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// What cannot be read back is refused before it is written.
func TestAnEndThatCannotBeReadBackIsRefused(t *testing.T) {
	s := newStore(t, testredis.Need(t).Start(t).Client(t), nil)
	_, err := s.Append(t.Context(), ann, "talk", &store.Append{Entries: []store.Entry{said("a")}})
	require.NoError(t, err)
	before, err := s.Session(t.Context(), ann, "talk")
	require.NoError(t, err)
	for _, end := range []time.Time{
		time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(math.MaxInt64/2, 0),
		time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2500, 1, 1, 0, 0, 0, 0, time.FixedZone("far", 25*60*60)),
	} {
		_, err := s.Update(t.Context(), ann, &store.SessionUpdate{Session: "talk", Expires: &end})
		require.ErrorIs(t, err, backends.ErrInvalid, "%s", end)
		after, err := s.Session(t.Context(), ann, "talk")
		require.NoError(t, err, "%s", end)
		require.Equal(t, before, after)
	}
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	_, err = s.Update(t.Context(), ann, &store.SessionUpdate{Session: "talk", Expires: &last})
	require.NoError(t, err)
	after, err := s.Session(t.Context(), ann, "talk")
	require.NoError(t, err)
	require.Equal(t, last, after.Expires)
}

// A number that a script cannot add up is refused before the script has written half.
func TestTokensThatNobodyCanCountAreRefused(t *testing.T) {
	s, _, _ := newLossy(t)
	for _, tokens := range []int{math.MaxInt, math.MinInt, 1 << 53, math.MaxInt32 + 1} {
		e := said("a")
		e.Tokens = tokens
		_, err := s.Append(t.Context(), ann, "talk", &store.Append{Entries: []store.Entry{said("b"), e}})
		require.ErrorIs(t, err, backends.ErrInvalid, "%d", tokens)
		_, err = s.Session(t.Context(), ann, "talk")
		require.ErrorIs(t, err, backends.ErrNotFound, "nothing is written")
	}
	e := said("a")
	e.Tokens = math.MaxInt32
	for i := range 3 {
		e.ID = fmt.Sprint(i)
		_, err := s.Append(t.Context(), ann, "talk", &store.Append{Entries: []store.Entry{e}})
		require.NoError(t, err)
	}
	st, err := s.Session(t.Context(), ann, "talk")
	require.NoError(t, err)
	require.EqualValues(t, 3*math.MaxInt32, st.Tokens)
}

// A life shorter than what the server counts in is not for ever.
func TestTheShortestLifeEnds(t *testing.T) {
	now := noon
	s := newStore(t, testredis.Need(t).Start(t).Client(t), &redisstore.Config{Clock: func() time.Time { return now }})
	for i, life := range []time.Duration{1, 999, 1000, 1001} {
		id := fmt.Sprint(i)
		st, err := s.Append(t.Context(), ann, id, &store.Append{Entries: []store.Entry{said("a")}, TTL: life})
		require.NoError(t, err)
		require.Equal(t, now.Add(life), st.Expires)
	}
	now = now.Add(time.Millisecond)
	for i := range 4 {
		_, err := s.Session(t.Context(), ann, fmt.Sprint(i))
		require.ErrorIs(t, err, backends.ErrNotFound)
	}
}

// Metadata as deep as can be read with the standard library can be read here.
func TestDeepMetadataIsReadBack(t *testing.T) {
	s, _, _ := newLossy(t)
	for _, depth := range []int{100, 999} {
		var deep any = "x"
		for range depth {
			deep = []any{deep}
		}
		id := fmt.Sprint(depth)
		_, err := s.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{
			store.Put(&store.Record{Memory: backends.Memory{ID: id, Text: "x", Metadata: map[string]any{"deep": deep}}})}})
		require.NoError(t, err)
		got, err := s.Get(t.Context(), ann, id)
		require.NoError(t, err, "%d", depth)
		require.Len(t, got, 1)
		set, err := s.Changes(t.Context(), ann, "")
		require.NoError(t, err, "%d", depth)
		require.NotEmpty(t, set.Records)
	}
}

// A session is deleted and begun anew between the reading and the writing of an
// update: what was planned on the old one is not written to the new one.
func TestAnUpdateOfASessionThatIsAnotherOneMeanwhile(t *testing.T) {
	addr := miniredis.RunT(t).Addr()
	client := func() *redis.Client {
		c := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	other := newStore(t, client(), nil)
	_, err := other.Append(t.Context(), ann, "talk", &store.Append{Entries: []store.Entry{said("a"), said("b"), said("c")}})
	require.NoError(t, err)
	var meanwhile func()
	c := client()
	late := newStore(t, c, nil)
	c.AddHook(&hook{before: func(name string) error {
		if f := meanwhile; f != nil && name == "evalsha" {
			meanwhile = nil
			f()
		}
		return nil
	}})
	meanwhile = func() {
		require.NoError(t, other.Delete(t.Context(), ann, "talk"))
		_, err := other.Append(t.Context(), ann, "talk", &store.Append{Entries: []store.Entry{said("d")}})
		require.NoError(t, err)
	}
	three := int64(3)
	st, err := late.Update(t.Context(), ann, &store.SessionUpdate{Session: "talk", Watermark: &three})
	require.NoError(t, err)
	require.Equal(t, int64(1), st.LastSeq)
	require.Equal(t, int64(1), st.Watermark, "not beyond the log")
}
