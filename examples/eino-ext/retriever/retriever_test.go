// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einomem_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	ub "github.com/cloudwego/eino/utils/callbacks"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	indexing "github.com/einomem/einomem/examples/eino-ext/indexer"
	einomem "github.com/einomem/einomem/examples/eino-ext/retriever"
	"github.com/einomem/einomem/middleware"
)

func memory(t *testing.T) *middleware.MemoryMiddleware {
	t.Helper()
	db, err := sqlitestore.Open(t.Context(), ":memory:", nil)
	require.NoError(t, err)
	facts, err := mem0.New(t.Context(), &mem0.Config{Store: db})
	require.NoError(t, err)
	mem, err := middleware.New(t.Context(), &middleware.Config{Backend: facts})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, mem.Close(context.Background()))
		require.NoError(t, facts.Close(context.Background()))
		require.NoError(t, db.Close())
	})
	return mem
}

type person struct{}

// as is a call for a person; scope reads it.
func as(t *testing.T, user string) context.Context {
	return context.WithValue(t.Context(), person{}, user)
}

func scope(ctx context.Context) (middleware.Scope, error) {
	user, ok := ctx.Value(person{}).(string)
	if !ok {
		return middleware.Scope{}, errors.New("nobody is signed in")
	}
	return middleware.Scope{UserID: user}, nil
}

// In a graph of Eino's one person's documents and words are found, nobody else's, and a callback
// sees each call.
func TestInAGraph(t *testing.T) {
	mem := memory(t)
	x, err := indexing.NewIndexer(t.Context(), &indexing.IndexerConfig{Memory: mem, Scope: scope})
	require.NoError(t, err)
	r, err := einomem.NewRetriever(t.Context(), &einomem.RetrieverConfig{Memory: mem, Scope: scope})
	require.NoError(t, err)
	kind, ok := components.GetType(r)
	require.True(t, ok)
	require.Equal(t, "Einomem", kind)
	require.True(t, components.IsCallbacksEnabled(r))
	ids, err := x.Store(as(t, "ann"), []*schema.Document{{ID: "d", Content: "The office in Hangzhou closes at six."}})
	require.NoError(t, err)
	require.Len(t, ids, 1)
	ann := middleware.WithScope(t.Context(), middleware.Scope{UserID: "ann", SessionID: "s"})
	require.NoError(t, mem.Finish(ann, []*schema.Message{schema.UserMessage("My office key is with Ben."), schema.AssistantMessage("Noted.", nil)}))
	require.NoError(t, mem.Flush(t.Context()))

	g := compose.NewGraph[string, []*schema.Document]()
	require.NoError(t, g.AddRetrieverNode("memory", r))
	require.NoError(t, g.AddEdge(compose.START, "memory"))
	require.NoError(t, g.AddEdge("memory", compose.END))
	chain, err := g.Compile(t.Context())
	require.NoError(t, err)
	var seen []string
	handler := ub.NewHandlerHelper().Retriever(&ub.RetrieverCallbackHandler{
		OnStart: func(ctx context.Context, info *callbacks.RunInfo, in *retriever.CallbackInput) context.Context {
			seen = append(seen, info.Type+" asks "+in.Query)
			return ctx
		},
		OnEnd: func(ctx context.Context, _ *callbacks.RunInfo, out *retriever.CallbackOutput) context.Context {
			seen = append(seen, "it found "+out.Docs[0].Content)
			return ctx
		},
		OnError: func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
			seen = append(seen, err.Error())
			return ctx
		},
	}).Handler()
	docs, err := chain.Invoke(as(t, "ann"), "When does the Hangzhou office close?", compose.WithCallbacks(handler))
	require.NoError(t, err)
	require.Equal(t, "The office in Hangzhou closes at six.", docs[0].Content)
	require.Positive(t, docs[0].Score())
	require.Equal(t, []string{"Einomem asks When does the Hangzhou office close?", "it found The office in Hangzhou closes at six."}, seen)
	one, err := r.Retrieve(as(t, "ann"), "my office", retriever.WithTopK(1))
	require.NoError(t, err)
	require.Len(t, one, 1)

	docs, err = chain.Invoke(as(t, "bob"), "When does the Hangzhou office close?")
	require.NoError(t, err)
	require.Empty(t, docs)
	_, err = chain.Invoke(t.Context(), "office", compose.WithCallbacks(handler))
	require.ErrorContains(t, err, "nobody is signed in")
	require.True(t, strings.HasSuffix(seen[len(seen)-1], "nobody is signed in"))
}

func TestAMemoryIsRequired(t *testing.T) {
	_, err := einomem.NewRetriever(t.Context(), nil)
	require.ErrorContains(t, err, "memory not provided")
	_, err = indexing.NewIndexer(t.Context(), &indexing.IndexerConfig{})
	require.ErrorContains(t, err, "memory not provided")
}
