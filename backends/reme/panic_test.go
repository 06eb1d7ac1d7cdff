// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/internal/testkit"
)

// wild is an embedder that panics once it is let loose.
type wild struct {
	testkit.Embedder
	loose atomic.Bool
}

func (w *wild) EmbedStrings(ctx context.Context, texts []string, o ...embedding.Option) ([][]float64, error) {
	if w.loose.Load() {
		panic("wild")
	}
	return w.Embedder.EmbedStrings(ctx, texts, o...)
}

// A panic in a goroutine of ours would end the program: nobody who called could
// recover it.
func TestPanicsInGoroutinesAreErrors(t *testing.T) {
	embedder := &wild{Embedder: testkit.Embedder{Dim: 8}}
	b, _ := newBackend(t, open(t), func(c *reme.Config) {
		c.Embedder, c.EmbeddingModel = embedder, "wild"
	})
	ctx := t.Context()
	require.NoError(t, only(b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said("FACT ann drinks tea")})))
	require.NoError(t, only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{refund(1)}})))

	embedder.loose.Store(true)
	require.ErrorContains(t, only(b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "refunding tea"})), "wild")
	require.ErrorContains(t, only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{attempted("selling tea", "weigh it", 1)}})), "wild")
	embedder.loose.Store(false)
	require.NoError(t, only(b.Personal().Retrieve(ctx, &reme.PersonalRetrieveRequest{SearchRequest: backends.SearchRequest{Scope: ann, Query: "tea"}})))
	assert.Len(t, find(t, b, ann, "refunding tea"), 2, "and all goes on")
}
