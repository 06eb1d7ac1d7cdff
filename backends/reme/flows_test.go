// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
)

// Every flow of the package comment's table that is this package's, in the process and
// without a server, each by what it leaves behind.
func TestR25EveryFlowInTheProcess(t *testing.T) {
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
		{"retrieve_task_memory_simple", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			got, err := b.Task().Retrieve(ctx, &task.RetrieveRequest{Query: "refunding", Simple: true})
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
			_, err := b.Tools().Summarize(ctx, &tool.SummaryRequest{ToolNames: "search", Force: true})
			require.NoError(t, err)
		}},
		{"retrieve_tool_memory", func(ctx context.Context, t *testing.T, b *reme.Backend) {
			got, err := b.Tools().Retrieve(ctx, &tool.RetrieveRequest{ToolNames: "search, fetch"})
			require.NoError(t, err)
			assert.Contains(t, got.Answer, "Use it with care.")
			assert.Equal(t, []string{"fetch"}, got.Unknown)
		}},
	} {
		t.Run(flow.name, func(t *testing.T) { flow.run(ctx, t, b) })
	}
}
