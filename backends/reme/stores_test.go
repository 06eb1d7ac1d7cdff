// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

// story lives through a workspace's whole life on a store, by two backends as of two
// processes, and returns what can be seen of it.
func story(t *testing.T, db store.Store) string {
	clock := func() time.Time { return annual }
	one, _ := newBackend(t, db, func(c *reme.Config) { c.Clock, c.Tools.NoRefresh = clock, true })
	two, _ := newBackend(t, db, func(c *reme.Config) { c.Clock, c.Tools.NoRefresh = clock, true })
	ctx := t.Context()
	var told strings.Builder

	lessons := []string{"LESSON refunding an order | check the payment first", "LESSON 退款 | 先核对付款", "LESSON shipping tea abroad | fill in form 7"}
	for i, lesson := range lessons {
		_, err := one.Task().Summarize(ctx, &task.SummaryRequest{Scope: ann, Trajectories: []task.Trajectory{{
			Score: float64(i % 2), Observed: annual, Messages: []*schema.Message{schema.UserMessage("do it"), schema.AssistantMessage(lesson, nil)},
		}}})
		require.NoError(t, err)
	}
	found, err := two.Task().Retrieve(ctx, &task.RetrieveRequest{Scope: ann, Query: "refunding an order of tea 退款", TopK: 10})
	require.NoError(t, err)
	require.Len(t, found.Hits, 3)

	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			b := []*reme.Backend{one, two}[i%2]
			_, err := b.Task().Record(ctx, &task.RecordRequest{Scope: ann, IDs: found.IDs()[:1], AllUseful: i%4 == 0, IdempotencyKey: fmt.Sprint("use ", i)})
			assert.NoError(t, err)
			assert.NoError(t, b.RecordCalls(ctx, &backends.RecordCallsRequest{Scope: ann, Calls: []backends.ToolCall{{ID: fmt.Sprint("call ", i), Tool: "ship/海运", Arguments: `{"to":"x"}`, Result: "ok", Time: annual.Add(time.Duration(i) * time.Second)}}}))
		})
	}
	all.Wait()
	require.NoError(t, one.Flush(ctx))
	require.NoError(t, two.Flush(ctx))
	tools, err := one.Tools().Retrieve(ctx, &tool.RetrieveRequest{Scope: ann, Tools: []string{"ship/海运"}})
	require.NoError(t, err)
	require.EqualValues(t, 100, tools.Tools[0].Statistics.Total)
	_, err = one.Tools().Summarize(ctx, &tool.SummaryRequest{Scope: ann, Force: true})
	require.NoError(t, err)

	forgotten, err := two.Task().Forget(ctx, &task.ForgetRequest{Scope: ann, DryRun: true})
	require.NoError(t, err)
	require.Len(t, forgotten.Deleted, 1)
	fmt.Fprintln(&told, "would forget", forgotten.Deleted[0].Text, forgotten.Deleted[0].Freq, forgotten.Deleted[0].Utility)

	copied := backends.Scope{Workspace: "copy"}
	var file bytes.Buffer
	_, err = one.Library().Dump(ctx, &reme.DumpRequest{Scope: ann}, &file)
	require.NoError(t, err)
	_, err = two.Library().Load(ctx, &reme.LoadRequest{Scope: copied}, &file)
	require.NoError(t, err)
	for _, s := range []backends.Scope{ann, copied} {
		resp, err := two.Search(ctx, &backends.SearchRequest{Scope: s, Query: "order, tea, 退款, ship", TopK: 10})
		require.NoError(t, err)
		for i := range resp.Hits {
			h := &resp.Hits[i]
			fmt.Fprintf(&told, "%s %.9f %s %v %v\n", h.ID, h.Score, strings.ReplaceAll(h.Text, "\n", "/"), h.Metadata[task.MetaFreq], h.Metadata[task.MetaUtility])
		}
	}
	return told.String()
}

// A workspace lives the same life on every store, to the last score.
func TestR26AWorkspaceIsTheSameOnEveryStore(t *testing.T) {
	want := story(t, open(t))
	require.Contains(t, want, "would forget")
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		db, err := redisstore.New(t.Context(), open(t), &redisstore.Config{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		assert.Equal(t, want, story(t, db))
	})
}
