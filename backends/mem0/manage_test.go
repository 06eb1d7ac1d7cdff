// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
)

func assistant(s string) *schema.Message { return schema.AssistantMessage(s, nil) }

func TestC1_08_HistoryOfEveryChange(t *testing.T) {
	now := start
	b := open(t, func(c *mem0.Config) { c.Clock = func() time.Time { return now } })
	id := add(t, b, ann, user("tea")...).Items[0].Memory.ID
	now = now.Add(time.Hour)
	text := "green tea"
	updated, err := b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Text: &text})
	require.NoError(t, err)
	require.Equal(t, now, updated.Updated)
	require.Equal(t, start, updated.Created)
	require.NoError(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: id}))
	_, err = b.Get(ctx, &backends.GetRequest{Scope: ann, ID: id})
	require.ErrorIs(t, err, backends.ErrNotFound)
	require.ErrorIs(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: id}), backends.ErrNotFound)

	events, err := b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: id})
	require.NoError(t, err)
	var got [][3]string
	for _, e := range events {
		got = append(got, [3]string{string(e.Type), e.Old, e.New})
	}
	require.Equal(t, [][3]string{{"added", "", "tea"}, {"updated", "tea", "green tea"}, {"deleted", "green tea", ""}}, got)
	require.Equal(t, "verbatim", events[0].Actor)
	require.Equal(t, "user", events[0].Role)
	_, err = b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: "nobody"})
	require.ErrorIs(t, err, backends.ErrNotFound)
}

func TestC1_08_HistoryAroundADeletedLink(t *testing.T) {
	b := open(t, with(resident(t)), factsOnly)
	var ids []string
	for _, place := range []string{"Beijing", "Shanghai", "Beijing"} {
		ids = append(ids, add(t, b, ann, user("I live in "+place)...).Items[0].Memory.ID)
	}
	require.NoError(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: ids[1]}))
	for _, id := range ids {
		events, err := b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: id})
		require.NoError(t, err)
		require.Len(t, events, 6, "three additions, two replacements, one deletion")
	}
}

func TestC1_08_UpdateAndDeleteExpectVersions(t *testing.T) {
	b := open(t)
	m := add(t, b, ann, user("tea")...).Items[0].Memory
	text := "coffee"
	changed, err := b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: m.ID, Text: &text, Version: m.Version})
	require.NoError(t, err)
	require.Greater(t, changed.Version, m.Version)
	_, err = b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: m.ID, Text: &text, Version: m.Version})
	require.ErrorIs(t, err, backends.ErrConflict)
	require.ErrorIs(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: m.ID, Version: m.Version}), backends.ErrConflict)
	require.NoError(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: m.ID, Version: changed.Version}))
}

func TestC1_13_MetadataMergesAndNamesNothing(t *testing.T) {
	b := open(t)
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea"), Metadata: map[string]any{"a": "1", "b": "2", "session_id": "forged"}})
	require.NoError(t, err)
	id := resp.Items[0].Memory.ID
	got, err := b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Metadata: map[string]any{"b": nil, "c": []any{"x"}, "user_id": "bob", "agent_id": "evil"}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": "1", "c": []any{"x"}, "session_id": "forged", "user_id": "bob", "agent_id": "evil"}, got.Metadata)
	require.Equal(t, backends.Scope{Namespace: "default", UserID: "ann", SessionID: "s1"}, got.Scope)
	require.Empty(t, list(t, b, backends.Scope{UserID: "bob"}))
	byUser := backends.Eq("user_id", "bob")
	require.Empty(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "tea", Filter: &byUser}))
}

func TestC1_13_UpdateRefusesWhatMeansNothing(t *testing.T) {
	b := open(t)
	id := add(t, b, ann, user("tea")...).Items[0].Memory.ID
	blank, wrong, quality := " ", "a\xff", 1.5
	for _, r := range []backends.UpdateRequest{{}, {Text: &blank}, {Text: &wrong}, {Quality: &quality}, {Metadata: map[string]any{"f": func() {}}}} {
		r.Scope, r.ID = ann, id
		_, err := b.Update(ctx, &r)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	require.Equal(t, []string{"tea"}, list(t, b, ann))
}

func TestC1_12_Expiry(t *testing.T) {
	now := time.Date(2026, 3, 2, 23, 59, 59, 0, time.UTC)
	b := open(t, func(c *mem0.Config) { c.Clock = func() time.Time { return now } })
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("the offer ends"), Expires: now.Add(time.Second)})
	require.NoError(t, err)
	id := resp.Items[0].Memory.ID
	q := backends.SearchRequest{Scope: ann, Query: "offer"}
	require.Len(t, search(t, b, q), 1, "its day is part of it")

	now = now.Add(time.Second)
	require.Empty(t, search(t, b, q))
	require.Empty(t, list(t, b, ann))
	_, err = b.Get(ctx, &backends.GetRequest{Scope: ann, ID: id})
	require.ErrorIs(t, err, backends.ErrNotFound)
	q.IncludeExpired = true
	require.Len(t, search(t, b, q), 1)
	again := add(t, b, ann, user("the offer ends")...)
	require.Equal(t, backends.OutcomeAdded, again.Items[0].Outcome, "what expired is not known any more")

	never := time.Time{}
	_, err = b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Expires: &never})
	require.NoError(t, err)
	require.Len(t, list(t, b, ann), 2, "cleared")
	_, err = b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("x"), Expires: now})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestC1_13_Procedure(t *testing.T) {
	helper := backends.Scope{AgentID: "helper"}
	did := []backends.Message{
		{ID: "1", Message: schema.UserMessage("Deploy it")},
		{ID: "2", Message: schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "deploy", Arguments: `{"env":"prod"}`}}})},
		{ID: "3", Message: schema.ToolMessage("build 77 failed: disk full", "c")},
		{ID: "4", Message: assistant("It failed.")},
	}
	m := answering("```\n1. deploy(prod): build 77 failed: disk full\n```")
	b := open(t, with(m))
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Messages: did})
	require.NoError(t, err)
	require.Len(t, resp.Items, 1)
	require.Equal(t, backends.KindProcedure, resp.Items[0].Memory.Kind)
	require.Equal(t, "1. deploy(prod): build 77 failed: disk full", resp.Items[0].Memory.Text)
	prompt := m.Calls()[0][1].Content
	require.Contains(t, prompt, "disk full")
	require.Contains(t, prompt, `deploy({\"env\":\"prod\"})`)

	_, err = b.Add(ctx, &backends.AddRequest{Scope: ann, Kind: backends.KindProcedure, Messages: did})
	require.ErrorIs(t, err, backends.ErrInvalid, "an agent did it")
	b = open(t, with(answering("``` \n```", "<think>hm</think>")))
	_, err = b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Messages: did})
	require.ErrorIs(t, err, backends.ErrModel)
	resp, err = b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Messages: did, Verbatim: true})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(resp.Items[0].Memory.Text, "user: Deploy it\nassistant: deploy("))
	for _, verbatim := range []bool{true, false} {
		_, err = b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindTool, Messages: did, Verbatim: verbatim})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

func TestC1_01_ListInPages(t *testing.T) {
	b := open(t)
	var want []string
	for i := range 7 {
		text := strings.Repeat("x", i+1)
		want = append(want, text)
		add(t, b, ann, user(text)...)
	}
	var got []string
	r := &backends.ListRequest{Scope: ann, Limit: 3}
	for {
		page, err := b.List(ctx, r)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Memories), 3)
		for _, m := range page.Memories {
			got = append(got, m.Text)
		}
		if r.Cursor = page.Next; r.Cursor == "" {
			break
		}
	}
	require.Equal(t, want, got, "in the order stored, though the clock stands still")
	r.Cursor = "!"
	_, err := b.List(ctx, r)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestC1_10_Filters(t *testing.T) {
	b := open(t)
	for _, m := range []map[string]any{{"topic": "food", "n": 1}, {"topic": "sport", "n": 2}, {"topic": "sport", "n": 3}} {
		_, err := b.Add(ctx, &backends.AddRequest{Scope: backends.Scope{UserID: "ann", AgentID: m["topic"].(string)}, Metadata: m,
			Messages: user(strings.Repeat("likes ", m["n"].(int)))})
		require.NoError(t, err)
	}
	for _, tc := range []struct {
		filter map[string]any
		want   int
	}{
		{map[string]any{"topic": "sport"}, 2}, {map[string]any{"n": map[string]any{"gte": 2, "lt": 3}}, 1}, {map[string]any{"agent_id": []any{"food", "none"}}, 1},
		{map[string]any{"OR": []any{map[string]any{"n": 1}, map[string]any{"n": 3}}}, 2}, {map[string]any{"NOT": map[string]any{"topic": "food"}}, 2},
	} {
		f, err := backends.ParseFilter(tc.filter)
		require.NoError(t, err)
		require.Len(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "likes", Filter: f}), tc.want, "%v", tc.filter)
		page, err := b.List(ctx, &backends.ListRequest{Scope: ann, Filter: f})
		require.NoError(t, err)
		require.Len(t, page.Memories, tc.want)
	}
	bad := backends.Filter{Op: "like", Field: "topic", Value: "x"}
	_, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "x", Filter: &bad})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = b.List(ctx, &backends.ListRequest{Scope: ann, Filter: &bad})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: ann, Filter: &bad})
	require.ErrorIs(t, err, backends.ErrInvalid)
	sport := backends.Eq("topic", "sport")
	n, err := b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: ann, Filter: &sport})
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Len(t, list(t, b, ann), 1)
}
