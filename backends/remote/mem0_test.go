// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/remote"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit"
)

func mem0(t testing.TB, s *server, failures *testkit.Failures) *remote.Mem0 {
	t.Helper()
	return must(remote.NewMem0(config(s.url, failures)))(t)
}

func TestMem0ReportsAndFindsWhatItLearnt(t *testing.T) {
	ctx, s := t.Context(), mem0Server(t)
	b := mem0(t, s, nil)
	scope := backends.Scope{UserID: "ann", SessionID: "s1", AgentID: "guide"}
	expires := testkit.NewClock().Now().Add(time.Hour)
	metadata := map[string]any{"mood": "good"}
	add := &backends.AddRequest{Scope: scope, Messages: said("I sail on the fjord", "Nice."), Metadata: metadata, Expires: expires, Instructions: "places"}
	resp := must(b.Add(ctx, add))(t)
	require.Len(t, resp.Items, 1)
	require.Equal(t, backends.OutcomeAdded, resp.Items[0].Outcome)
	_, err := b.Search(ctx, &backends.SearchRequest{Scope: scope, Query: "fjord?", Filter: new(backends.Filter), TopK: 3})
	require.ErrorIs(t, err, backends.ErrInvalid, "a filter without an operator")
	byAgent := backends.And(backends.Eq("agent_id", "guide"), backends.Eq("mood", "good"))
	found := must(b.Search(ctx, &backends.SearchRequest{Scope: scope, Query: "fjord?", Filter: &byAgent, Kinds: []backends.Kind{backends.KindFact}}))(t)
	require.Equal(t, []string{"Fact: I sail on the fjord"}, testkit.Texts(found.Hits))
	hit := found.Hits[0]
	require.Equal(t, resp.Items[0].Memory.ID, hit.ID)
	require.Equal(t, backends.Scope{Namespace: "default", UserID: "ann", SessionID: "s1", AgentID: "guide"}, hit.Scope)
	require.Equal(t, metadata, hit.Metadata)
	require.Equal(t, "t1", hit.Origin.Turn)
	require.Empty(t, hit.Origin.Role, "two spoke: who said it is not known")
	require.True(t, expires.Equal(hit.Expires))
	require.InDelta(t, 0.8, hit.Score, 1e-9)

	for _, filter := range []*backends.SearchRequest{
		{Scope: scope, Query: "fjord", Kinds: []backends.Kind{backends.KindEpisode}},
		{Scope: scope, Query: "fjord", Threshold: 0.9},
		{Scope: backends.Scope{UserID: "bob"}, Query: "fjord"},
		{Scope: scope, Query: " "},
	} {
		require.Empty(t, must(b.Search(ctx, filter))(t).Hits)
	}
	cfg := config(s.url, nil)
	cfg.Clock = func() time.Time { return expires }
	later := must(remote.NewMem0(cfg))(t)
	require.Empty(t, must(later.Search(ctx, &backends.SearchRequest{Scope: scope, Query: "fjord"}))(t).Hits, "it expired")
}

func TestMem0RowsOfOthersAreLeftOutAndReported(t *testing.T) {
	ctx, s := t.Context(), mem0Server(t)
	var failures testkit.Failures
	b := mem0(t, s, &failures)
	for _, user := range []string{"ann", "bob", "ann2"} {
		must(b.Add(ctx, &backends.AddRequest{Scope: backends.Scope{UserID: user}, Messages: said("secret of " + user), IdempotencyKey: "k"}))(t)
	}
	require.NoError(t, failures.Err())
	s.leaky = true
	found := must(b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "secret"}))(t)
	require.Equal(t, []string{"Fact: secret of ann"}, testkit.Texts(found.Hits))
	require.ErrorContains(t, failures.Err(), "2 of 3 rows")
	require.NotContains(t, failures.Err().Error(), "secret")
}

// A note that the server's model makes nothing of is stored as the agent said it.
func TestANoteIsStoredAsSaidWhereNothingIsLearnt(t *testing.T) {
	s := mem0Server(t)
	s.dull = true
	b := mem0(t, s, nil)
	resp := must(b.Add(t.Context(), &backends.AddRequest{Scope: ann, Author: backends.AuthorAgent, Messages: said("Ann sails with Miso.")}))(t)
	require.Equal(t, backends.OutcomeAdded, resp.Items[0].Outcome)
	found := must(b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "sails"}))(t)
	require.Equal(t, []string{"Ann sails with Miso."}, testkit.Texts(found.Hits))
	require.Equal(t, backends.KindFact, found.Hits[0].Kind)
	require.Empty(t, must(b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: said("Hello.")}))(t).Items, "what people say is learnt or not")
}

// The platform would learn from a note later, and drop what its model makes nothing of.
func TestThePlatformStoresANoteAsSaid(t *testing.T) {
	cfg := named(play(t, "mem0_platform.json", "note"), nil)
	cfg.Platform = true
	scope := func(context.Context) (backends.Scope, error) { return ann, nil }
	tools := must(toolkit.New(t.Context(), &toolkit.Config{Backend: must(remote.NewMem0(cfg))(t), ToolSetup: backends.ToolSetup{Scope: scope}}))(t)
	says := testkit.Use(t, t.Context(), testkit.ByName(t, tools)["add_memory"], `{"thinking":"t","content":["Ann sails with Miso."]}`)
	require.Contains(t, says, "Accepted", "it is stored in a moment")
}

func TestTheMem0Platform(t *testing.T) {
	ctx := t.Context()
	var failures testkit.Failures
	open := func(exchanges ...string) *remote.Mem0 {
		cfg := named(play(t, "mem0_platform.json", exchanges...), &failures)
		cfg.Platform = true
		return must(remote.NewMem0(cfg))(t)
	}
	resp := must(open("add").Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("I sail"), IdempotencyKey: "k1", Instructions: "places"}))(t)
	require.Equal(t, &backends.AddResponse{Queued: true}, resp, "the platform learns later")
	b := open("add", "pending", "learnt", "add", "failed", "add")
	for _, step := range []struct{ queued, fails bool }{{true, false}, {true, false}, {false, false}, {true, false}, {false, true}, {true, false}} {
		resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("I sail"), IdempotencyKey: "k2", Instructions: "places"})
		require.Equal(t, step.fails, errors.Is(err, backends.ErrModel), "%v", err)
		require.Equal(t, step.queued, err == nil && resp.Queued)
	}
	found := must(open("search").Search(ctx, &backends.SearchRequest{Scope: backends.Scope{AgentID: "guide"}, Query: "sail"}))(t)
	require.Equal(t, []string{"The guide knows the fjord"}, testkit.Texts(found.Hits), "what a user said to an agent is the user's")
	require.Len(t, failures.Stages(), 1)
}
