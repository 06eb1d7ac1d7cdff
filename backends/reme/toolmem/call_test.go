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
)

func TestCallsOfTheContractAreConverted(t *testing.T) {
	for name, tc := range map[string]struct {
		in   backends.ToolCall
		want toolmem.Call
	}{
		"an object": {backends.ToolCall{ID: "1", Tool: "x", Arguments: `{"n":1.50}`, Result: "ok", Time: start, Took: time.Second, Tokens: 3},
			toolmem.Call{ID: "1", Tool: "x", Input: object("n", json.Number("1.50")), Output: "ok", Time: start, Took: time.Second, Tokens: 3}},
		"no object":      {backends.ToolCall{Tool: "x", Arguments: `[1]`, Result: "ok"}, toolmem.Call{Tool: "x", Input: "[1]", Output: "ok"}},
		"no JSON":        {backends.ToolCall{Tool: "x", Arguments: `{"n":`, Result: "ok"}, toolmem.Call{Tool: "x", Input: `{"n":`, Output: "ok"}},
		"two values":     {backends.ToolCall{Tool: "x", Arguments: `{} {}`, Result: "ok"}, toolmem.Call{Tool: "x", Input: `{} {}`, Output: "ok"}},
		"a failure":      {backends.ToolCall{Tool: "x", Arguments: `q`, Error: "boom"}, toolmem.Call{Tool: "x", Input: "q", Output: "boom", Error: "boom", Failed: true}},
		"half a result":  {backends.ToolCall{Tool: "x", Arguments: `q`, Result: "half", Error: "boom"}, toolmem.Call{Tool: "x", Input: "q", Output: "half", Error: "boom", Failed: true}},
		"no arguments":   {backends.ToolCall{Tool: "x", Result: "ok"}, toolmem.Call{Tool: "x", Input: "", Output: "ok"}},
		"empty argument": {backends.ToolCall{Tool: "x", Arguments: "{}"}, toolmem.Call{Tool: "x", Input: object()}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, toolmem.FromToolCall(&tc.in))
			r := newRig(t, setup{})
			assert.Equal(t, 1, r.record(t, toolmem.FromToolCall(&tc.in)).Tools[0].Added)
		})
	}
}

// FuzzCall reads any line as a call: what is read can be recorded or is refused with a
// reason, and what was recorded reads back as it was written.
func FuzzCall(f *testing.F) {
	for _, s := range []string{
		`{"tool_name":"x","input":{"a":[1,2.0,{"b":null}]},"output":"o","success":false,"time_cost":1e300,"token_cost":-9,"score":7}`,
		`{"tool_name":"x","input":"","output":""}`, `{"tool_name":" ","input":1}`, `{"tool_name":"a/b!","input":[],"metadata":{"password":"hunter2"}}`,
		`{"create_time":"2026-03-11T10:00:00Z","tool_name":"长","input":"\ud800","call_hash":"\u0000"}`, `{"tool_name":"x","output":"Error: boom","id":"` + "é" + `"}`, `[]`, `{"input":1e999,"tool_name":"n"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var c toolmem.Call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return
		}
		r := newRig(t, setup{})
		resp, err := r.Record(ctx, &toolmem.RecordRequest{Scope: team, Calls: []toolmem.Call{c}})
		require.NoError(t, err)
		require.Equal(t, 1, len(resp.Tools)+len(resp.Rejected))
		for _, x := range resp.Rejected {
			require.Error(t, x.Why)
			return
		}
		got := r.tool(t, resp.Tools[0].Tool)
		require.Len(t, got.Calls, 1)
		stored := got.Calls[0]
		text, err := json.Marshal(stored)
		require.NoError(t, err)
		var back toolmem.Call
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, stored, back)
		require.NotNil(t, stored.Score)
		r.force(t, got.Name)
		require.NotEmpty(t, r.tool(t, got.Name).Guideline)
	})
}
