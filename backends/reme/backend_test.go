// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/internal/test/testkit"
)

func refund(score float64) task.Trajectory {
	return task.Trajectory{TaskID: "refund", Score: score, Messages: []*schema.Message{
		schema.UserMessage("Refund order 7"), schema.AssistantMessage("LESSON refunding an order | check the payment first", nil),
	}}
}

func TestWorkspacesAndUsersNeverMeet(t *testing.T) {
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
	assert.Equal(t, []string{"check the payment first"}, testkit.Texts(resp.Hits))
}

func TestWhatAUserStatedIsFoundBeforeItIsLearnt(t *testing.T) {
	b, _ := newBackend(t, open(t), func(c *reme.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "4711", "****") }
	})
	said := func(role schema.RoleType, text string) backends.Memory {
		return backends.Memory{Kind: backends.KindEpisode, Text: text, Origin: backends.Origin{Role: string(role)}}
	}
	q := backends.SearchRequest{Scope: ann, Query: "Which door code?", Beside: []backends.Memory{
		said(schema.User, "What is the door code?"), said(schema.Assistant, "I do not know the door code."), said(schema.User, "The door code is 4711."),
	}}
	resp, err := b.Search(t.Context(), &q)
	require.NoError(t, err)
	require.Len(t, resp.Hits, 1)
	require.Equal(t, "The door code is ****.", resp.Hits[0].Text)
	q.Kinds = []backends.Kind{backends.KindPersonal}
	resp, err = b.Search(t.Context(), &q)
	require.NoError(t, err)
	require.Empty(t, resp.Hits, "what is asked for is a kind that is learnt")
}

func TestWhoForgetsAUserErasesTheirShareOfAWorkspace(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	_, err := b.Task().Summarize(t.Context(), &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1)}})
	require.NoError(t, err)
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: turn("t1", schema.UserMessage("FACT ann lives in Hangzhou"))})
	require.NoError(t, err)
	n, err := b.DeleteAll(t.Context(), &backends.DeleteAllRequest{Scope: ann})
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.Empty(t, find(t, b, ann, "refunding an order in Hangzhou"))
}

func TestModelEmbedderAndStoreArePluggable(t *testing.T) {
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

	n, err := b.ReembedAll(t.Context(), ann.Namespace, nil)
	require.NoError(t, err)
	assert.Equal(t, 2, n, "of both users")
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
	b, _ := newBackend(t, open(t), func(c *reme.Config) {
		c.Model = testkit.New(testkit.Fail(errors.New("model down")), testkit.Learn)
	})
	_, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: turn("t1", schema.UserMessage("FACT ann lives in Hangzhou"))})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Empty(t, find(t, b, ann, "Hangzhou"))
	_, err = b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: turn("t1", schema.UserMessage("FACT ann lives in Hangzhou"))})
	require.NoError(t, err)
	assert.Len(t, find(t, b, ann, "Hangzhou"), 1)
}

// Close returns what could not be recorded of tools, and leaves nothing open.
func TestCloseReturnsWhatWasLostAndClosesAll(t *testing.T) {
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

// A panic in a goroutine of the package would end the program: no caller could recover it.
func TestPanicsInGoroutinesAreErrors(t *testing.T) {
	var loose atomic.Bool
	embedder := &testkit.Embedder{Dim: 8, Vector: func(string) []float64 {
		if loose.Load() {
			panic("wild")
		}
		return []float64{1, 0, 0, 0, 0, 0, 0, 1}
	}}
	b, _ := newBackend(t, open(t), func(c *reme.Config) {
		c.Embedder, c.EmbeddingModel = embedder, "wild"
	})
	ctx := t.Context()
	require.NoError(t, only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("FACT ann drinks tea")})))
	require.NoError(t, only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1)}})))

	loose.Store(true)
	found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "refunding tea"})
	require.NoError(t, err)
	require.ErrorContains(t, found.Degraded, "wild")
	assert.Len(t, found.Hits, 2, "words alone find both")
	require.ErrorContains(t, only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{attempted("selling tea", "weigh it", 1)}})), "wild")
	loose.Store(false)
	require.NoError(t, only(b.Personal().Retrieve(ctx, &reme.PersonalRetrieveRequest{SearchRequest: backends.SearchRequest{Scope: ann, Query: "tea"}})))
}

func TestNoRequestIsInvalid(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	for name, call := range map[string]func(context.Context) error{
		"Search":        func(ctx context.Context) error { return only(b.Search(ctx, nil)) },
		"Add":           func(ctx context.Context) error { return only(b.Add(ctx, nil)) },
		"RecordOutcome": func(ctx context.Context) error { return only(b.RecordOutcome(ctx, nil)) },
		"RecordCalls":   func(ctx context.Context) error { return b.RecordCalls(ctx, nil) },
		"Get":           func(ctx context.Context) error { return only(b.Get(ctx, nil)) },
		"List":          func(ctx context.Context) error { return only(b.List(ctx, nil)) },
		"Update":        func(ctx context.Context) error { return only(b.Update(ctx, nil)) },
		"Delete":        func(ctx context.Context) error { return b.Delete(ctx, nil) },
		"DeleteAll":     func(ctx context.Context) error { return only(b.DeleteAll(ctx, nil)) },
		"History":       func(ctx context.Context) error { return only(b.History(ctx, nil)) },

		"Task.Summarize":     func(ctx context.Context) error { return only(b.Task().Summarize(ctx, nil)) },
		"Task.Retrieve":      func(ctx context.Context) error { return only(b.Task().Retrieve(ctx, nil)) },
		"Task.Record":        func(ctx context.Context) error { return only(b.Task().Record(ctx, nil)) },
		"Task.Forget":        func(ctx context.Context) error { return only(b.Task().Forget(ctx, nil)) },
		"Task.Retry":         func(ctx context.Context) error { return only(b.Task().Retry(ctx, nil)) },
		"Personal.Summarize": func(ctx context.Context) error { return only(b.Personal().Summarize(ctx, nil)) },
		"Personal.Retrieve":  func(ctx context.Context) error { return only(b.Personal().Retrieve(ctx, nil)) },
		"Tools.Record":       func(ctx context.Context) error { return only(b.Tools().Record(ctx, nil)) },
		"Tools.Summarize":    func(ctx context.Context) error { return only(b.Tools().Summarize(ctx, nil)) },
		"Tools.Retrieve":     func(ctx context.Context) error { return only(b.Tools().Retrieve(ctx, nil)) },
		"Library.Load":       func(ctx context.Context) error { return only(b.Library().Load(ctx, nil, nil)) },
		"Library.Dump":       func(ctx context.Context) error { return only(b.Library().Dump(ctx, nil, nil)) },
		"Library.Copy":       func(ctx context.Context) error { return only(b.Library().Copy(ctx, nil)) },
		"Library.Delete":     func(ctx context.Context) error { return only(b.Library().Delete(ctx, backends.Scope{})) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(t.Context()); !errors.Is(err, backends.ErrNoScope) { // to a library it is an empty one
				require.ErrorIs(t, err, backends.ErrInvalid)
			}
		})
	}
}

func TestTopKIsChecked(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	for _, kinds := range [][]backends.Kind{nil, {backends.KindCore}, {backends.KindTask}} {
		for _, k := range []int{-1, 1001} {
			_, err := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "x", TopK: k, Kinds: kinds})
			require.ErrorIs(t, err, backends.ErrInvalid)
		}
	}
}

// Every flow of the package comment's table that is this package's, in the process and
// without a server, each by what it leaves behind.
func TestEveryFlowOfReMeRunsInTheProcess(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	ctx := backends.WithScope(t.Context(), ann)
	attempts := []task.Trajectory{refund(1)}
	for _, flow := range []struct {
		name string
		run  func(context.Context, *testing.T, *reme.Backend)
	}{
		{"summary_task_memory", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			got, err := b.Task().Summarize(ctx, &task.SummaryRequest{Trajectories: attempts})
			require.NoError(t, err)
			assert.Len(t, got.Memories, 1)
		}},
		{"summary_task_memory_simple", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			got, err := b.Task().Summarize(ctx, &task.SummaryRequest{Trajectories: attempts, Simple: true})
			require.NoError(t, err)
			assert.Empty(t, got.Memories, "known")
		}},
		{"retrieve_task_memory", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			got, err := b.Task().Retrieve(ctx, &task.RetrieveRequest{Query: "refunding"})
			require.NoError(t, err)
			assert.Contains(t, got.Answer, "check the payment first")
		}},
		{"record_task_memory", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			found, err := b.Task().Retrieve(ctx, &task.RetrieveRequest{Query: "refunding"})
			require.NoError(t, err)
			for range 5 {
				_, err = b.Task().Record(ctx, &task.RecordRequest{IDs: found.IDs()})
				require.NoError(t, err)
			}
		}},
		{"vector_store", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			var file bytes.Buffer
			got, err := b.Library().Dump(ctx, &reme.DumpRequest{}, &file)
			require.NoError(t, err)
			assert.Equal(t, 1, got.Memories)
		}},
		{"delete_task_memory", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			got, err := b.Task().Forget(ctx, &task.ForgetRequest{})
			require.NoError(t, err)
			assert.Len(t, got.Deleted, 1, "used five times, and never of use")
			assert.Empty(t, find(t, b, ann, "refunding"))
		}},
		{"summary_personal_memory", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			got, err := b.Personal().Summarize(ctx, &reme.PersonalSummaryRequest{AddRequest: backends.AddRequest{Messages: turn("t1", schema.UserMessage("FACT ann lives in Hangzhou"))}})
			require.NoError(t, err)
			assert.Len(t, got.Items, 1)
		}},
		{"retrieve_personal_memory", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			got, err := b.Personal().Retrieve(ctx, &reme.PersonalRetrieveRequest{SearchRequest: backends.SearchRequest{Query: "Hangzhou"}})
			require.NoError(t, err)
			assert.Contains(t, got.Answer, "ann lives in Hangzhou")
		}},
		{"add_tool_call_result", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			got, err := b.Tools().Record(ctx, &tool.RecordRequest{Calls: []tool.Call{{Tool: "search", Input: "tea", Output: "ten shops"}}})
			require.NoError(t, err)
			require.Len(t, got.Calls, 1)
			assert.Equal(t, backends.OutcomeAdded, got.Calls[0].Outcome)
		}},
		{"summary_tool_memory", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			_, err := b.Tools().Summarize(ctx, &tool.SummaryRequest{Tools: []string{"search"}, Force: true})
			require.NoError(t, err)
		}},
		{"retrieve_tool_memory", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			got, err := b.Tools().Retrieve(ctx, &tool.RetrieveRequest{Tools: []string{"search", "fetch"}})
			require.NoError(t, err)
			assert.Contains(t, got.Answer, "Use it with care.")
			assert.Equal(t, []string{"fetch"}, got.Unknown)
		}},
	} {
		t.Run(flow.name, func(t *testing.T) { flow.run(ctx, t, b) })
	}
}
