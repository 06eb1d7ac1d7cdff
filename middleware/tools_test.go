// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// The rows M24 to M30: the tools, as an agent calls them.

// use runs an agent whose model calls one tool, and returns the tool's result.
func use(t *testing.T, mem *middleware.MemoryMiddleware, name, arguments string) string {
	t.Helper()
	a := newAgent(t, mem, testkit.Call("call_1", name, arguments), testkit.Text("done"))
	require.Equal(t, "done", a.reply(asAnn(), "go"), "the run must go on")
	calls := a.model.Calls()
	last := calls[len(calls)-1]
	for i := len(last) - 1; i >= 0; i-- {
		if last[i].Role == schema.Tool {
			return last[i].Content
		}
	}
	t.Fatal("no tool was run")
	return ""
}

// agentControl returns a middleware whose agent alone asks the backend.
func agentControl(t *testing.T, f *fake, topK int) *middleware.MemoryMiddleware {
	return open(t, &middleware.Config{Backend: f, Mode: modes.AgentControl, TopK: topK})
}

func TestM24_SearchByTwoKeywords(t *testing.T) {
	f := &fake{onSearch: func(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
		return hits("about " + r.Query), nil
	}}
	out := use(t, agentControl(t, f, 0), "search_memory", `{"keywords":["tea","jazz"],"limit":3}`)
	require.Contains(t, out, "about tea")
	require.Contains(t, out, "about jazz")
	searches, _ := f.seen()
	require.Len(t, searches, 2)
	for _, s := range searches {
		require.Equal(t, ann, s.Scope)
		require.Equal(t, 3, s.TopK)
		require.Equal(t, backends.Eq("agent_id", "helper"), *s.Filter)
	}
}

// Upstream's default limit is 5 whatever top_k says, against its documentation;
// ours follows TopK.
func TestM25_ALimitIsForItsCallAlone(t *testing.T) {
	f := &fake{}
	mem := agentControl(t, f, 9)
	use(t, mem, "search_memory", `{"keywords":["a"],"limit":3}`)
	use(t, mem, "search_memory", `{"keywords":["a"]}`)
	searches, _ := f.seen()
	require.Equal(t, 3, searches[0].TopK)
	require.Equal(t, 9, searches[1].TopK)
}

// Upstream asks for permission before a tool; Eino's tools interrupt the run to
// ask. Ours never do.
func TestM26_TheToolsAskNobody(t *testing.T) {
	mem := agentControl(t, &fake{}, 0)
	tools, err := mem.Tools(context.Background())
	require.NoError(t, err)
	for i, arguments := range []string{`{"keywords":["a"]}`, `{"thinking":"t","content":["a"]}`} {
		out, err := tools[i].(tool.InvokableTool).InvokableRun(asAnn(), arguments)
		require.NoError(t, err, "an interrupt is an error")
		require.NotEmpty(t, out)
	}
}

func TestM27_AFactAppearsOnce(t *testing.T) {
	out := use(t, agentControl(t, &fake{memories: []string{"likes tea", "likes jazz"}}, 0), "search_memory", `{"keywords":["tea","jazz"]}`)
	require.Equal(t, 1, strings.Count(out, "] likes tea"))
	require.Equal(t, 1, strings.Count(out, "] likes jazz"))
}

func TestM28_ASearchToolThatFailsIsText(t *testing.T) {
	f := &fake{onSearch: func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		return nil, errors.New("disk on fire")
	}}
	out := use(t, agentControl(t, f, 0), "search_memory", `{"keywords":["tea"]}`)
	require.Contains(t, out, "Error retrieving memory")
	require.Contains(t, out, "disk on fire")
}

// Upstream fails all keywords when one does; ours shows what the others found.
func TestM28_OneKeywordThatFailsLeavesTheOthers(t *testing.T) {
	f := &fake{onSearch: func(_ context.Context, r *backends.SearchRequest) (*backends.SearchResponse, error) {
		if r.Query == "bad" {
			return nil, errors.New("disk on fire")
		}
		return hits("likes tea"), nil
	}}
	out := use(t, agentControl(t, f, 0), "search_memory", `{"keywords":["bad","tea"]}`)
	require.Contains(t, out, "likes tea")
	require.Contains(t, out, "disk on fire")
}

func TestM29_NothingExtractedIsStoredVerbatim(t *testing.T) {
	f := &fake{onAdd: func(_ context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
		if !r.Verbatim {
			return &backends.AddResponse{}, nil
		}
		return &backends.AddResponse{Items: []backends.Item{{Outcome: backends.OutcomeAdded, Memory: backends.Memory{ID: "1", Text: r.Messages[0].Content}}}}, nil
	}}
	out := use(t, agentControl(t, f, 0), "add_memory", `{"thinking":"t","content":["Ann likes tea","Ann likes jazz"]}`)
	require.True(t, strings.HasPrefix(out, "Successfully recorded"), out)
	_, adds := f.seen()
	require.Len(t, adds, 2)
	for i, r := range adds {
		require.Equal(t, i == 1, r.Verbatim)
		require.Equal(t, [][2]string{{"user", "Ann likes tea\nAnn likes jazz"}}, said(&r))
		require.Equal(t, ann, r.Scope)
	}
}

func TestM30_ThinkingIsNotStored(t *testing.T) {
	f := &fake{}
	out := use(t, agentControl(t, f, 0), "add_memory", `{"thinking":"because she insisted","content":["Ann likes tea"]}`)
	require.Contains(t, out, "because she insisted")
	_, adds := f.seen()
	require.Len(t, adds, 1)
	require.Contains(t, adds[0].Messages[0].Content, "Ann likes tea")
	require.NotContains(t, fmt.Sprintf("%+v %s", adds[0], adds[0].Messages[0].Content), "insisted")
}

// A backend's own model call must not become an answer of the agent, whether a
// hook or a tool made it (trap T3).
func TestTheBackendsModelSpeaksToNobody(t *testing.T) {
	inner := testkit.New(testkit.Text("INNER"))
	f := &fake{
		onSearch: func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
			_, err := inner.Generate(ctx, []*schema.Message{schema.UserMessage("rank")})
			return hits("likes tea"), err
		},
		onAdd: func(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
			_, err := inner.Generate(ctx, []*schema.Message{schema.UserMessage("extract")})
			return &backends.AddResponse{}, err
		},
	}
	mem := open(t, &middleware.Config{Backend: f, AwaitWrite: true})
	a := newAgent(t, mem, testkit.Call("1", "search_memory", `{"keywords":["tea"]}`), testkit.Call("2", "add_memory", `{"content":["x"]}`), testkit.Text("done"))
	events := a.runner.Query(asAnn(), "go")
	for {
		event, ok := events.Next()
		if !ok {
			break
		}
		require.NoError(t, event.Err)
		m, err := event.Output.MessageOutput.GetMessage()
		require.NoError(t, err)
		require.NotContains(t, m.Content, "INNER")
	}
	require.NotEmpty(t, inner.Calls())
}

func TestUpdateAndDeleteAreAskedFor(t *testing.T) {
	mem := open(t, &middleware.Config{Backend: &manager{}, UpdateTool: true, DeleteTool: true})
	a := newAgent(t, mem, testkit.Text("ok"))
	a.reply(asAnn(), "hi")
	require.Equal(t, []string{"search_memory", "add_memory", "update_memory", "delete_memory"}, a.tools)
}

type manager struct {
	fake
	backends.Manager
}
