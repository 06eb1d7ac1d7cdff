// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ann    = backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s1", Workspace: "lab"}
	annual = time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
)

func open(t testing.TB) store.Store { return testkit.SQLite(t) }

// newBackend returns a backend whose model learns by marks.
func newBackend(t testing.TB, db store.Store, change func(*reme.Config)) (*reme.Backend, *testkit.Chat) {
	t.Helper()
	learner := testkit.New(testkit.Learn)
	cfg := &reme.Config{Store: db, Model: learner, OnError: func(_ context.Context, err error) { t.Errorf("beside a call: %v", err) }}
	if change != nil {
		change(cfg)
	}
	b, err := reme.New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	return b, learner
}

// turn is what was said in a turn, as the log holds it.
func turn(id string, messages ...*schema.Message) []backends.Message {
	out := make([]backends.Message, len(messages))
	for i, m := range messages {
		out[i] = backends.Message{ID: fmt.Sprintf("%s/%d", id, i), Turn: id, Time: annual.Add(time.Duration(i) * time.Second), Message: m}
	}
	return out
}

func find(t testing.TB, b *reme.Backend, s backends.Scope, query string, kinds ...backends.Kind) []string {
	t.Helper()
	resp, err := b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: query, Kinds: kinds})
	require.NoError(t, err)
	require.NoError(t, resp.Degraded)
	return testkit.Texts(resp.Hits)
}

func search(t testing.TB, b *reme.Backend, s backends.Scope, query string) []backends.Hit {
	t.Helper()
	resp, err := b.Search(t.Context(), &backends.SearchRequest{Scope: s, Query: query})
	require.NoError(t, err)
	return resp.Hits
}

func summary(s backends.Scope, trajectories ...task.Trajectory) *task.SummaryRequest {
	return &task.SummaryRequest{Scope: s, Trajectories: trajectories}
}

func said(text string) []backends.Message { return turn("t7", schema.UserMessage(text)) }

func saying(text string) *backends.AddRequest {
	return &backends.AddRequest{Scope: ann, Messages: said(text)}
}

func calls(n int, id string) []tool.Call {
	out := make([]tool.Call, n)
	for i := range out {
		out[i] = tool.Call{ID: fmt.Sprint(id, i), Tool: []string{"search", "搜索"}[i%2], Input: fmt.Sprint("tea ", i), Output: "ten shops", Time: annual}
	}
	return out
}

// attempted is a trajectory that teaches an experience.
func attempted(when, what string, score float64) task.Trajectory {
	return task.Trajectory{TaskID: when, Score: score, Observed: annual, Messages: []*schema.Message{
		schema.UserMessage("do it"), schema.AssistantMessage("LESSON "+when+" | "+what, nil),
	}}
}

func only[T any](_ T, err error) error { return err }
