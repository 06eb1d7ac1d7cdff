// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/toolkit/flows"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everything opens any scope.
func everything(s backends.Scope, _ bool) (backends.Scope, error) { return s.Normalize() }

// newFlows returns flows over a backend whose model learns by marks.
func newFlows(t testing.TB, change func(*flows.Config), script ...testkit.Reply) *flows.Flows {
	t.Helper()
	if len(script) == 0 {
		script = []testkit.Reply{testkit.Learn}
	}
	model := testkit.New(script...)
	b, err := reme.New(t.Context(), &reme.Config{Store: testkit.SQLite(t), Model: model})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	cfg := &flows.Config{Backend: b, Model: model, Workspace: "default"}
	if change != nil {
		change(cfg)
	}
	f, err := flows.New(cfg)
	require.NoError(t, err)
	return f
}

// call runs a flow and returns its answer as JSON decodes it.
func call(t testing.TB, f *flows.Flows, name, body string) map[string]any {
	t.Helper()
	r, err := f.Call(t.Context(), name, everything, "", json.RawMessage(body))
	require.NoError(t, err)
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

func TestQuick(t *testing.T) {
	f := newFlows(t, nil)
	for _, s := range [][2]string{
		{"summary_task_memory", `{"workspace_id":"w","trajectories":[{"messages":[{"role":"user","content":"Help me"},{"role":"assistant","content":"LESSON planning a project | list the goal first"}],"score":1.0}]}`},
		{"retrieve_task_memory", `{"workspace_id":"w","query":"How to plan a project","top_k":1}`},
		{"retrieve_task_memory_simple", `{"workspace_id":"w","query":"How to plan a project","top_k":1}`},
		{"delete_task_memory", `{"workspace_id":"w","freq_threshold":1,"utility_threshold":0.5}`},
		{"summary_personal_memory", `{"workspace_id":"w","trajectories":[{"messages":[{"role":"user","content":"FACT I like tea"}],"score":1.0}]}`},
		{"retrieve_personal_memory", `{"workspace_id":"w","query":"tea","top_k":1}`},
		{"add_tool_call_result", `{"workspace_id":"w","tool_call_results":[{"create_time":"2025-10-21 10:30:00","tool_name":"web_search","input":{"query":"Python asyncio tutorial","max_results":10},"output":"Found 10 relevant results...","token_cost":150,"success":true,"time_cost":2.3}]}`},
		{"add_tool_call_result", `{"workspace_id":"w","tool_call_results":[{"create_time":"2025-10-21 10:30:00","tool_name":"web_search","input":{"query":"Python asyncio tutorial","max_results":10},"output":"Found 10 relevant results...","token_cost":150,"success":true,"time_cost":2.3}]}`},
		{"summary_tool_memory", `{"workspace_id":"w","tool_names":"web_search"}`},
		{"retrieve_tool_memory", `{"workspace_id":"w","tool_names":"web_search,nix"}`},
	} {
		b, _ := json.MarshalIndent(call(t, f, s[0], s[1]), "", " ")
		t.Logf("%s\n%s", s[0], b)
	}
}
