// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/toolmem"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// load puts the memory of a tool into the workspace as a library of ReMe's is loaded.
func (r *rig) load(t testing.TB, tool, text, results string) {
	t.Helper()
	p, err := team.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	var list []any
	require.NoError(t, json.Unmarshal([]byte(results), &list))
	_, err = r.keeper.Commit(ctx, p, &store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{
		ID: keeper.ContentID(p, backends.KindTool, tool), Kind: backends.KindTool, WhenToUse: tool, Text: text, Scope: team, Metadata: object("tool_call_results", list),
	}})}}, nil)
	require.NoError(t, err)
}

func TestALoadedMemoryOfAToolIsKnownWithItsCalls(t *testing.T) {
	m := writer(t)
	r := newRig(t, setup{model: m})
	r.load(t, "search", "Search with few words.", `[
		{"create_time":"2025-01-02 03:04:05","tool_name":"search","input":{"q":"tea","password":"hunter2Zq9"},"output":"found","token_cost":10,"success":true,"time_cost":1.0,"score":1.0},
		{"create_time":"2025-01-02 03:04:06","tool_name":"search","input":"milk","output":"timeout","token_cost":-1,"success":false,"time_cost":3.0,"score":0.0},
		{"input":7}, "nonsense"]`)
	found, err := r.Names(ctx, team)
	require.NoError(t, err)
	assert.Equal(t, []string{"search"}, found)
	got := r.tool(t, "search")
	assert.Equal(t, "Search with few words.", got.Guideline)
	require.Len(t, got.Calls, 3)
	assert.Equal(t, 0.6667, got.Statistics.SuccessRate)
	assert.EqualValues(t, 3, got.Statistics.Total)
	assert.Zero(t, got.New, "its guideline knows of them")
	all, err := r.Summarize(ctx, &toolmem.SummaryRequest{Scope: team})
	require.NoError(t, err, "its calls are kept")
	require.Len(t, all.Tools, 1)
	assert.Equal(t, toolmem.OutcomeUnchanged, all.Tools[0].Outcome)
	r.record(t, calls("search", 0, 10)...)
	got = r.tool(t, "search")
	assert.Len(t, got.Calls, 13)
	assert.EqualValues(t, 10, got.New)
	resp, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, ToolNames: "search", Since: start.Add(-time.Hour)})
	require.NoError(t, err)
	assert.Equal(t, 10, resp.Tools[0].Statistics.Calls)
	r.force(t, "search")
	user := m.Calls()[0][1].Content
	assert.NotContains(t, user, secret)
	assert.Len(t, callsIn(t, user), 13)
	assert.Equal(t, `"Search with few words."`, inside(t, user, "guideline_so_far"))
	require.Len(t, r.memories(t), 1)
	assert.EqualValues(t, 13, r.tool(t, "search").Statistics.Total)
	assert.Contains(t, r.memories(t)[0].Metadata, "tool_call_results", "what was loaded stays")
	found2, err := r.Retrieve(ctx, &toolmem.RetrieveRequest{Scope: team, Query: "guideline of search"})
	require.NoError(t, err)
	assert.Len(t, found2.Tools, 1)
}
