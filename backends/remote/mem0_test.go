// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/internal/testkit"
)

func mem0(t testing.TB, s *server, failures *testkit.Failures) *remote.Mem0 {
	t.Helper()
	b, err := remote.NewMem0(config(s.url, failures))
	require.NoError(t, err)
	return b
}

func TestMem0ReportsAndFindsWhatItLearnt(t *testing.T) {
	ctx, s := t.Context(), mem0Server(t)
	b := mem0(t, s, nil)
	scope := backends.Scope{UserID: "ann", SessionID: "s1", AgentID: "guide"}
	expires := testkit.NewClock().Now().Add(time.Hour)
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: scope, Messages: said("I sail on the fjord", "Nice."), Metadata: map[string]any{"mood": "good"}, Expires: expires, Instructions: "places"})
	require.NoError(t, err)
	require.Len(t, resp.Items, 1)
	require.Equal(t, backends.OutcomeAdded, resp.Items[0].Outcome)
	_, err = b.Search(ctx, &backends.SearchRequest{Scope: scope, Query: "fjord?", Filter: new(backends.Filter), TopK: 3})
	require.ErrorIs(t, err, backends.ErrInvalid, "a filter without an operator")
	byAgent := backends.And(backends.Eq("agent_id", "guide"), backends.Eq("mood", "good"))
	found, err := b.Search(ctx, &backends.SearchRequest{Scope: scope, Query: "fjord?", Filter: &byAgent, Kinds: []backends.Kind{backends.KindFact}})
	require.NoError(t, err)
	require.Equal(t, []string{"Fact: I sail on the fjord"}, texts(found.Hits))
	hit := found.Hits[0]
	require.Equal(t, resp.Items[0].Memory.ID, hit.ID)
	require.Equal(t, backends.Scope{Namespace: "default", UserID: "ann", SessionID: "s1", AgentID: "guide"}, hit.Scope)
	require.Equal(t, map[string]any{"mood": "good"}, hit.Metadata)
	require.Equal(t, "t1", hit.Origin.Turn)
	require.True(t, expires.Equal(hit.Expires))
	require.InDelta(t, 0.8, hit.Score, 1e-9)

	for _, filter := range []*backends.SearchRequest{
		{Scope: scope, Query: "fjord", Kinds: []backends.Kind{backends.KindEpisode}},
		{Scope: scope, Query: "fjord", Threshold: 0.9},
		{Scope: backends.Scope{UserID: "bob"}, Query: "fjord"},
		{Scope: scope, Query: " "},
	} {
		found, err := b.Search(ctx, filter)
		require.NoError(t, err)
		require.Empty(t, found.Hits)
	}
	cfg := config(s.url, nil)
	cfg.Clock = func() time.Time { return expires }
	later, err := remote.NewMem0(cfg)
	require.NoError(t, err)
	found, err = later.Search(ctx, &backends.SearchRequest{Scope: scope, Query: "fjord"})
	require.NoError(t, err)
	require.Empty(t, found.Hits, "it expired")
}

func TestMem0RowsOfOthersAreLeftOutAndReported(t *testing.T) {
	ctx, s := t.Context(), mem0Server(t)
	var failures testkit.Failures
	b := mem0(t, s, &failures)
	for _, user := range []string{"ann", "bob", "ann2"} {
		_, err := b.Add(ctx, &backends.AddRequest{Scope: backends.Scope{UserID: user}, Messages: said("secret of " + user), IdempotencyKey: "k"})
		require.NoError(t, err)
	}
	require.NoError(t, failures.Err())
	s.leaky = true
	found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "secret"})
	require.NoError(t, err)
	require.Equal(t, []string{"Fact: secret of ann"}, texts(found.Hits))
	require.ErrorContains(t, failures.Err(), "2 of 3 rows")
	require.NotContains(t, failures.Err().Error(), "secret")
}

func TestTheMem0Platform(t *testing.T) {
	ctx := t.Context()
	var failures testkit.Failures
	open := func(exchanges ...string) *remote.Mem0 {
		cfg := config(play(t, "mem0_platform.json", exchanges...), &failures)
		cfg.Platform, cfg.Name = true, func(p backends.Partition) string { return p.ID }
		b, err := remote.NewMem0(cfg)
		require.NoError(t, err)
		return b
	}
	resp, err := open("add").Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("I sail"), IdempotencyKey: "k1", Instructions: "places"})
	require.NoError(t, err)
	require.Empty(t, resp.Items, "the platform learns later")
	found, err := open("search").Search(ctx, &backends.SearchRequest{Scope: backends.Scope{AgentID: "guide"}, Query: "sail"})
	require.NoError(t, err)
	require.Equal(t, []string{"The guide knows the fjord"}, texts(found.Hits), "what a user said to an agent is the user's")
	require.Len(t, failures.Stages(), 1)
}
