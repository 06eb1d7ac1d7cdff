// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/internal/testkit"
)

func refund(score float64) task.Trajectory {
	return task.Trajectory{TaskID: "refund", Score: score, Messages: []*schema.Message{
		schema.UserMessage("Refund order 7"), schema.AssistantMessage("LESSON refunding an order | check the payment first", nil),
	}}
}

func TestR1EveryKindIsWrittenAndRead(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	ctx := t.Context()

	_, err := b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1)}})
	require.NoError(t, err)
	_, err = b.Personal().Summarize(ctx, &reme.PersonalSummaryRequest{AddRequest: backends.AddRequest{Scope: ann, Messages: turn("t1", schema.UserMessage("FACT ann lives in Hangzhou"))}})
	require.NoError(t, err)
	_, err = b.Tools().Record(ctx, &tool.RecordRequest{Scope: ann, Calls: []tool.Call{{Tool: "search", Input: "tea", Output: "ten shops"}}})
	require.NoError(t, err)
	_, err = b.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: ann, Tools: []string{"search"}, Force: true})
	require.NoError(t, err)

	assert.Equal(t, []string{"check the payment first"}, find(t, b, ann, "refunding an order", backends.KindTask))
	assert.Equal(t, []string{"ann lives in Hangzhou"}, find(t, b, ann, "where does ann live: Hangzhou?", backends.KindPersonal))
	assert.Contains(t, find(t, b, ann, "search", backends.KindTool)[0], "Use it with care.")
	assert.Len(t, find(t, b, ann, "refunding an order in Hangzhou by search"), 3, "all kinds at once")
}

func TestR22WorkspacesAndUsersNeverMeet(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	_, err := b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1)}})
	require.NoError(t, err)
	_, err = b.Personal().Summarize(t.Context(), &reme.PersonalSummaryRequest{AddRequest: backends.AddRequest{Scope: ann, Messages: turn("t1", schema.UserMessage("FACT ann lives in Hangzhou"))}})
	require.NoError(t, err)
	all, err := b.List(t.Context(), &backends.ListRequest{Scope: ann})
	require.NoError(t, err)
	more, err := b.List(t.Context(), &backends.ListRequest{Scope: ann, Cursor: all.Next})
	require.NoError(t, err)
	held := append(all.Memories, more.Memories...)
	require.Len(t, held, 2)

	for name, other := range map[string]backends.Scope{
		"another user elsewhere":     {UserID: "bob", Workspace: "other"},
		"a user named as the space":  {UserID: "lab", Workspace: "ann"},
		"an agent named as the user": {AgentID: "ann", Workspace: "lab2"},
		"another namespace":          {Namespace: "n2", UserID: "ann", Workspace: "lab"},
		"a hostile name":             {UserID: "ann}:{lab", Workspace: "lab/../lab"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, find(t, b, other, "refunding an order in Hangzhou"))
			for _, m := range held {
				_, err := b.Get(t.Context(), &backends.GetRequest{Scope: other, ID: m.ID})
				require.ErrorIs(t, err, backends.ErrNotFound)
				text := "mine"
				_, err = b.Update(t.Context(), &backends.UpdateRequest{Scope: other, ID: m.ID, Text: &text})
				require.ErrorIs(t, err, backends.ErrNotFound)
				require.ErrorIs(t, b.Delete(t.Context(), &backends.DeleteRequest{Scope: other, ID: m.ID}), backends.ErrNotFound)
				_, err = b.History(t.Context(), &backends.HistoryRequest{Scope: other, ID: m.ID})
				require.ErrorIs(t, err, backends.ErrNotFound)
			}
			n, err := b.DeleteAll(t.Context(), &backends.DeleteAllRequest{Scope: other})
			require.NoError(t, err)
			assert.Zero(t, n)
		})
	}
	assert.Len(t, find(t, b, ann, "refunding an order in Hangzhou"), 2)
}

func TestWhatIsSharedIsSharedWithEveryAgentAndUser(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	_, err := b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1)}})
	require.NoError(t, err)
	byAgent := backends.And(backends.Eq("agent_id", "clerk"))
	resp, err := b.Search(t.Context(), &backends.SearchRequest{Scope: backends.Scope{UserID: "bob", AgentID: "clerk", Workspace: "lab"}, Query: "refunding", Filter: &byAgent})
	require.NoError(t, err)
	assert.Equal(t, []string{"check the payment first"}, texts(resp.Hits))
}

func TestWhoForgetsAUserDoesNotEraseWhatIsShared(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	_, err := b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1)}})
	require.NoError(t, err)
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: turn("t1", schema.UserMessage("FACT ann lives in Hangzhou"))})
	require.NoError(t, err)
	n, err := b.DeleteAll(t.Context(), &backends.DeleteAllRequest{Scope: ann})
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, []string{"check the payment first"}, find(t, b, ann, "refunding an order in Hangzhou"))
	n, err = b.DeleteAll(t.Context(), &backends.DeleteAllRequest{Scope: backends.Scope{Workspace: "lab"}})
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}

func TestR26ModelEmbedderAndStoreArePluggable(t *testing.T) {
	db := open(t)
	embedder := &testkit.Embedder{Dim: 64}
	b, _ := newBackend(t, db, func(c *reme.Config) { c.Embedder, c.EmbeddingModel = embedder, "hash" })
	_, err := b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1)}})
	require.NoError(t, err)
	resp, err := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "refunding an order"})
	require.NoError(t, err)
	require.Len(t, resp.Hits, 1)
	assert.Greater(t, resp.Hits[0].Parts.Vector, 0.9)

	bare, err := reme.New(t.Context(), &reme.Config{Store: db}) // neither model nor embedder
	require.NoError(t, err)
	defer func() { require.NoError(t, bare.Close(context.Background())) }()
	_, err = bare.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(0)}})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = bare.Add(t.Context(), &backends.AddRequest{Scope: backends.Scope{UserID: "eva"}, Messages: turn("t1", schema.UserMessage("我对花生过敏"))})
	require.NoError(t, err)
	assert.Equal(t, []string{"我对花生过敏"}, find(t, bare, backends.Scope{UserID: "eva"}, "花生"))

	n, err := b.Reembed(t.Context(), ann)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}

func TestAConfigurationThatCannotWork(t *testing.T) {
	for name, cfg := range map[string]*reme.Config{
		"nothing":     nil,
		"no store":    {},
		"a language":  {Store: open(t), Language: "fr"},
		"no limit":    {Store: open(t), Limits: reme.Limits{Calls: -1}},
		"no name":     {Store: open(t), Embedder: &testkit.Embedder{Dim: 3}},
		"a threshold": {Store: open(t), Task: task.Config{Duplicate: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := reme.New(t.Context(), cfg)
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
}

func TestAfterCloseNothingBegins(t *testing.T) {
	b, _ := newBackend(t, open(t), func(c *reme.Config) { c.OnError = nil })
	require.NoError(t, b.Close(t.Context()))
	_, err := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "x"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.RecordOutcome(t.Context(), &backends.OutcomeRequest{Scope: ann})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	err = b.RecordCalls(t.Context(), &backends.RecordCallsRequest{Scope: ann, Calls: []backends.ToolCall{{Tool: "x", Result: "y"}}})
	require.Error(t, err)
}

func TestWithoutAScopeThereIsNoMemory(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	_, err := b.Search(t.Context(), &backends.SearchRequest{Query: "x"})
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: backends.Scope{Workspace: "lab"}, Verbatim: true, Messages: turn("t", schema.UserMessage("my secret"))})
	require.ErrorIs(t, err, backends.ErrNoScope, "nothing lands in a workspace because a user's id was missing")
	in, err := b.Search(backends.WithScope(t.Context(), ann), &backends.SearchRequest{Query: "x"})
	require.NoError(t, err)
	assert.Empty(t, in.Hits)
}

func TestAModelThatIsAwayIsAnError(t *testing.T) {
	b, learner := newBackend(t, open(t), nil)
	learner.Break(errors.New("model down"))
	_, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: turn("t1", schema.UserMessage("FACT ann lives in Hangzhou"))})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Empty(t, find(t, b, ann, "Hangzhou"))
	learner.Break(nil)
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: turn("t1", schema.UserMessage("FACT ann lives in Hangzhou"))})
	require.NoError(t, err)
	assert.Len(t, find(t, b, ann, "Hangzhou"), 1)
}

// What could not be recorded of tools is told, and nothing is left open by it.
func TestCloseClosesWhateverItTells(t *testing.T) {
	db := testkit.Spy(open(t))
	b, err := reme.New(t.Context(), &reme.Config{Store: db})
	require.NoError(t, err)
	db.Arm(func(*testkit.StoreCall) error { return errAway })
	require.NoError(t, b.RecordCalls(t.Context(), &backends.RecordCallsRequest{Scope: ann, Calls: []backends.ToolCall{{Tool: "x", Result: "y"}}}))
	require.ErrorIs(t, b.Close(t.Context()), errAway)
	db.Arm(nil)
	_, err = b.Task().Retrieve(t.Context(), &task.RetrieveRequest{Scope: ann, Query: "x"})
	require.ErrorIs(t, err, backends.ErrUnavailable, "the index is closed")
	require.NoError(t, b.Close(t.Context()))
}
