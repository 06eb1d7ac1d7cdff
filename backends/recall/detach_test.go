// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// An embedder that reports to callbacks does not reach the handlers that the
// agent around it has installed.
func TestEmbedderCallsAreDetached(t *testing.T) {
	seen := 0
	handler := callbacks.NewHandlerBuilder().OnStartFn(
		func(ctx context.Context, _ *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			seen++
			return ctx
		}).Build()
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Name: "agent"}, handler)
	callbacks.OnStart(ctx, "probe")
	require.Equal(t, 1, seen, "the handler works")

	f := newFakeRecords()
	r := newRanker(t, f, withEmbedder(reporting{}))
	vectors, space, err := r.Embed(ctx, []string{"tea"})
	require.NoError(t, err)
	_, err = f.Apply(ctx, ann, &store.Batch{Embedding: space, Mutations: []store.Mutation{
		store.Put(&store.Record{Memory: backends.Memory{ID: "1", Text: "tea"}, Vector: vectors[0]})}})
	require.NoError(t, err)
	_, err = r.Search(ctx, ann, &backends.SearchRequest{Query: "tea"})
	require.NoError(t, err)
	require.Equal(t, 1, seen)
}

type reporting struct{}

func (reporting) EmbedStrings(ctx context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	callbacks.OnStart(ctx, &embedding.CallbackInput{Texts: texts})
	return [][]float64{{1, 2}}[:len(texts)], nil
}

func (reporting) GetType() string { return "Reporting" }
