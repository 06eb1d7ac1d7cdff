// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
)

func TestTheRetriever(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.Threshold = 0.1; c.SearchByAgent = true })
	m.backend.texts = nil
	m.backend.hits = []backends.Hit{{Score: 0.7, Memory: backends.Memory{
		ID: "m1", Kind: backends.KindFact, Text: tea, WhenToUse: "ordering", Observed: day(2), Valid: day(1), Scope: ann,
		Metadata: map[string]any{"source": "chat"}, Origin: backends.Origin{Speaker: "Ann"},
	}}}
	r := m.AsRetriever()
	name, ok := components.GetType(r)
	require.True(t, ok)
	require.Equal(t, "Memory", name)
	require.True(t, components.IsCallbacksEnabled(r))

	docs, err := r.Retrieve(context.Background(), "drinks", retriever.WithTopK(9), retriever.WithScoreThreshold(0.4),
		retriever.WithDSLInfo(map[string]any{"source": "chat"}))
	require.NoError(t, err)
	require.Len(t, docs, 1)
	require.Equal(t, "m1", docs[0].ID)
	require.Equal(t, tea, docs[0].Content)
	require.InDelta(t, 0.7, docs[0].Score(), 0)
	for key, want := range map[string]any{"source": "chat", "kind": "fact", "when_to_use": "ordering", "speaker": "Ann",
		"user_id": "ann", "agent_id": "bot", "session_id": "s1", "observed": "2026-01-02T00:00:00Z", "valid": "2026-01-01T00:00:00Z"} {
		require.Equal(t, want, docs[0].MetaData[key], key)
	}
	docs[0].MetaData["source"] = "changed"
	require.Equal(t, "chat", m.backend.hits[0].Metadata["source"])

	req := m.backend.searches[0]
	require.Equal(t, 9, req.TopK)
	require.InDelta(t, 0.4, req.Threshold, 0)
	require.Equal(t, ann, req.Scope)
	match, err := req.Filter.Compile()
	require.NoError(t, err)
	require.True(t, match(&backends.Memory{Scope: ann, Metadata: map[string]any{"source": "chat"}}))
	require.False(t, match(&backends.Memory{Scope: ann}))
	require.False(t, match(&backends.Memory{Metadata: map[string]any{"source": "chat"}}))

	_, err = r.Retrieve(context.Background(), "drinks")
	require.NoError(t, err)
	require.Equal(t, 5, m.backend.searches[1].TopK)
	require.InDelta(t, 0.1, m.backend.searches[1].Threshold, 0)
}

func TestTheRetrieverReturnsErrors(t *testing.T) {
	m := newMemory(t, func(c *hooks.Config) { c.Scope = backends.Scope{} })
	_, err := m.AsRetriever().Retrieve(context.Background(), "x")
	require.ErrorIs(t, err, backends.ErrNoScope)
	ctx := backends.WithScope(context.Background(), ann)
	_, err = m.AsRetriever().Retrieve(ctx, "x", retriever.WithDSLInfo(map[string]any{"a": map[string]any{"like": "b"}}))
	require.ErrorIs(t, err, backends.ErrInvalid)
	m.backend.find = func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		return nil, backends.ErrUnavailable
	}
	_, err = m.AsRetriever().Retrieve(ctx, "x")
	require.ErrorIs(t, err, backends.ErrUnavailable)
}

func TestTheRetrieverInAGraphReportsToCallbacks(t *testing.T) {
	m := newMemory(t, nil)
	g := compose.NewGraph[string, []*schema.Document]()
	require.NoError(t, g.AddRetrieverNode("memory", m.AsRetriever()))
	require.NoError(t, g.AddEdge(compose.START, "memory"))
	require.NoError(t, g.AddEdge("memory", compose.END))
	r, err := g.Compile(context.Background())
	require.NoError(t, err)
	var seen []any
	h := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			if info.Component == components.ComponentOfRetriever {
				seen = append(seen, in)
			}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			if info.Component == components.ComponentOfRetriever {
				seen = append(seen, out)
			}
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
			if info.Component == components.ComponentOfRetriever {
				seen = append(seen, err)
			}
			return ctx
		}).Build()
	docs, err := r.Invoke(context.Background(), "drinks", compose.WithCallbacks(h))
	require.NoError(t, err)
	require.Len(t, seen, 2, "started and ended once")
	require.Equal(t, "drinks", retriever.ConvCallbackInput(seen[0]).Query)
	require.Equal(t, docs, retriever.ConvCallbackOutput(seen[1]).Docs)

	m.backend.find = func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
		return nil, backends.ErrUnavailable
	}
	_, err = r.Invoke(context.Background(), "drinks", compose.WithCallbacks(h))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorIs(t, seen[3].(error), backends.ErrUnavailable)
}
