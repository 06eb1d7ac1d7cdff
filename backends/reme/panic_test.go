// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/internal/testkit"
)

// A panic in a goroutine of ours would end the program: nobody who called could
// recover it.
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
	require.ErrorContains(t, only(b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "refunding tea"})), "wild")
	require.ErrorContains(t, only(b.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{attempted("selling tea", "weigh it", 1)}})), "wild")
	loose.Store(false)
	require.NoError(t, only(b.Personal().Retrieve(ctx, &reme.PersonalRetrieveRequest{SearchRequest: backends.SearchRequest{Scope: ann, Query: "tea"}})))
	assert.Len(t, find(t, b, ann, "refunding tea"), 2, "and all goes on")
}
