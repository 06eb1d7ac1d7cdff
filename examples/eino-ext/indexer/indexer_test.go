// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einomem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	ub "github.com/cloudwego/eino/utils/callbacks"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	einomem "github.com/einomem/einomem/examples/eino-ext/indexer"
	"github.com/einomem/einomem/middleware"
)

// A handler of Eino's sees each call once, in a graph and outside of one: the component calls it, and
// the graph leaves that to it.
func TestCallbacksAreTheComponentsOwn(t *testing.T) {
	db, err := sqlitestore.Open(t.Context(), ":memory:", nil)
	require.NoError(t, err)
	facts, err := mem0.New(t.Context(), &mem0.Config{Store: db})
	require.NoError(t, err)
	mem, err := middleware.New(t.Context(), &middleware.Config{Backend: facts})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, errors.Join(mem.Close(context.Background()), facts.Close(context.Background()), db.Close()))
	})
	user := "ann"
	x, err := einomem.NewIndexer(t.Context(), &einomem.IndexerConfig{Memory: mem, Scope: func(context.Context) (middleware.Scope, error) {
		if user == "" {
			return middleware.Scope{}, errors.New("nobody is signed in")
		}
		return middleware.Scope{UserID: user}, nil
	}})
	require.NoError(t, err)
	require.Equal(t, "Einomem", x.GetType())
	kind, ok := components.GetType(x)
	require.True(t, ok)
	require.Equal(t, "Einomem", kind)
	require.True(t, components.IsCallbacksEnabled(x))

	var seen []string
	handler := ub.NewHandlerHelper().Indexer(&ub.IndexerCallbackHandler{
		OnStart: func(ctx context.Context, info *callbacks.RunInfo, in *indexer.CallbackInput) context.Context {
			seen = append(seen, fmt.Sprint(info.Type, " ", info.Component, " gets ", in.Docs[0].ID))
			return ctx
		},
		OnEnd: func(ctx context.Context, _ *callbacks.RunInfo, out *indexer.CallbackOutput) context.Context {
			seen = append(seen, fmt.Sprint("stored ", len(out.IDs)))
			return ctx
		},
		OnError: func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
			seen = append(seen, err.Error())
			return ctx
		},
	}).Handler()
	docs := []*schema.Document{{ID: "d", Content: "The office in Hangzhou closes at six."}}
	alone := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Type: "Einomem", Component: components.ComponentOfIndexer}, handler)
	_, err = x.Store(alone, docs)
	require.NoError(t, err)
	once := []string{"Einomem Indexer gets d", "stored 1"}
	require.Equal(t, once, seen)

	g := compose.NewGraph[[]*schema.Document, []string]()
	require.NoError(t, g.AddIndexerNode("memory", x))
	require.NoError(t, g.AddEdge(compose.START, "memory"))
	require.NoError(t, g.AddEdge("memory", compose.END))
	chain, err := g.Compile(t.Context())
	require.NoError(t, err)
	seen = nil
	ids, err := chain.Invoke(t.Context(), docs, compose.WithCallbacks(handler))
	require.NoError(t, err)
	require.Len(t, ids, 1)
	require.Equal(t, once, seen)
	user = ""
	_, err = chain.Invoke(t.Context(), docs, compose.WithCallbacks(handler))
	require.ErrorContains(t, err, "nobody is signed in")
	require.Equal(t, "[einomem indexer] scope: nobody is signed in", seen[len(seen)-1])
}
