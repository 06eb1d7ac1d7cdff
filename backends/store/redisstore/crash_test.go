// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// A process is killed before and after each command that it sends, so also between
// the entry in the registry and the write. What it acknowledged is there, what it
// did not is there wholly or not at all, and whoever does it again has all of it once.
func TestAProcessThatIsKilledAtAnyCommand(t *testing.T) {
	server := testredis.Need(t).Start(t)
	c := server.Client(t)
	s := newStore(t, c, nil)
	rounds, stride := 0, several(3, 1)
	for death := 1; ; death += stride {
		name := fmt.Sprint("r", death)
		acks, died := runChild(t, server.URL(), name, death)
		l := newLife(name)
		checkLife(t, s, l, acks)
		checkIntegrity(t, c, s, l.p)
		checkIntegrity(t, c, s, l.q)
		if !died {
			require.Equal(t, deeds, acks)
			break
		}
		rounds++
		require.NoError(t, l.live(t.Context(), s, acks, func(int) {}), "killed at %d", death)
		checkLife(t, s, l, deeds)
		checkIntegrity(t, c, s, l.p)
		checkIntegrity(t, c, s, l.q)
	}
	checkReport(t, func() (*redisstore.Report, error) { return s.VerifyRegistry(t.Context()) })
	t.Logf("%d rounds", rounds)
	require.GreaterOrEqual(t, rounds, 50/stride)
}

// checkLife proves that the deeds before acks are done, each once, and no later one
// but the next, which may be.
func checkLife(t *testing.T, s *redisstore.Store, l *life, acks int) {
	t.Helper()
	ctx := t.Context()
	within := func(want, got int, deed int, what string) {
		t.Helper()
		switch {
		case acks > deed:
			require.Equal(t, want, got, what)
		case acks < deed:
			require.Zero(t, got, what)
		default:
			require.Contains(t, []int{0, want}, got, what)
		}
	}
	messages := func(p backends.Partition, like string) (n int) {
		all, err := s.Read(ctx, p, "log", store.Range{})
		require.NoError(t, err)
		for _, e := range all {
			if e.ID[:len(like)] == like {
				n++
			}
		}
		return n
	}
	within(2, messages(l.p, "one"), firstTurn, "messages of the first turn")
	within(2, messages(l.p, "two"), secondTurn, "messages of the second turn")
	facts, err := s.Get(ctx, l.p, "a", "b", "count")
	require.NoError(t, err)
	within(2, len(facts), learnt, "facts")
	if len(facts) > 0 {
		require.Len(t, facts[0].Vector, 512)
		require.EqualValues(t, 1, facts[1].Metadata["m"])
		st, err := s.Session(ctx, l.p, "log")
		require.NoError(t, err)
		require.Equal(t, int64(2), st.Watermark)
		events, err := s.History(ctx, l.p, "a")
		require.NoError(t, err)
		require.Len(t, events, 2)
		n, _ := facts[1].Metadata["n"].(float64)
		within(1, min(int(n), 1), counted, "increments")
		require.LessOrEqual(t, int(n), 2, "one of the killed process, one of this one")
	}
	team, err := s.Get(ctx, l.q, "x", "y")
	require.NoError(t, err)
	switch {
	case acks > teamDropped:
		require.Empty(t, team)
	case acks == teamDropped:
		require.Contains(t, []int{0, 2}, len(team))
	default:
		within(2, len(team), teamFacts, "facts of the team")
	}
	within(1, messages(l.q, "three"), teamAgain, "messages of the team")
	found, err := s.Partitions(ctx, l.p.Namespace, store.Page{})
	require.NoError(t, err)
	if acks > firstTurn {
		require.Contains(t, found.Partitions, l.p)
	}
	if acks == deeds {
		require.Contains(t, found.Partitions, l.q)
	}
}

// Processes that write to one session and one record are killed at any moment, in the
// midst of each other's writes.
func TestRivalsThatAreKilled(t *testing.T) {
	server := testredis.Need(t).Start(t)
	c := server.Client(t)
	s := newStore(t, c, nil)
	_, err := s.Apply(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{put("count", "")}})
	require.NoError(t, err)
	rounds, acked := several(3, 25), 0
	for round := range rounds {
		var alive []*runningRival
		for n := range 4 {
			alive = append(alive, startRival(t, server.URL(), fmt.Sprint(round, ".", n)))
		}
		for _, r := range alive {
			r.kill(t, 1+rand.IntN(40))
		}
		for _, r := range alive {
			for i := range r.acks {
				acked++
				for _, id := range []string{"a", "b"} {
					there, err := c.SIsMember(t.Context(), "{em:n:user:ann}:s:log:ids", fmt.Sprint(r.name, "-", i, id)).Result()
					require.NoError(t, err)
					require.True(t, there)
				}
				got, err := s.Get(t.Context(), ann, fmt.Sprint(r.name, "-", i))
				require.NoError(t, err)
				require.Len(t, got, 1)
			}
			require.NoError(t, compete(t.Context(), s, fmt.Sprint(r.name, "-", r.acks)), "what it had begun")
		}
		checkIntegrity(t, c, s, ann)
	}
	n, err := c.HLen(t.Context(), "{em:n:user:ann}:rec").Result()
	require.NoError(t, err)
	require.Equal(t, int(n)-1, counter(t, s, "count"), "no batch was committed twice")
	st, err := s.Session(t.Context(), ann, "log")
	require.NoError(t, err)
	require.Equal(t, 2*(n-1), st.LastSeq)
	require.Equal(t, st.LastSeq, st.Watermark)
	t.Logf("%d processes killed, %d writes acknowledged", 4*rounds, acked)
}
