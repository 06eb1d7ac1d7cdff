// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

const full = `{
	"task_id": "door", "score": 1, "session": "s", "turn": "t1", "observed": "2026-03-02T09:00:00Z", "attempt": 2,
	"metadata": {"query": "open the door", "segments": [2, 4]},
	"messages": [
		{"role": "system", "content": "You open doors."},
		{"role": "user", "name": "ann", "content": "Open it", "time_created": "2026-03-02 08:59:00", "metadata": {"k": [1]}},
		{"role": "assistant", "content": "", "reasoning_content": "a key first", "tool_calls": [
			{"index": 0, "id": "c1", "type": "function", "function": {"name": "find", "arguments": "{\"what\":\"key\"}"}},
			{"index": 1, "id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
		{"role": "tool", "content": "under the mat", "tool_call_id": "c1"},
		{"role": "tool", "content": "a door", "tool_call_id": "c2", "tool_name": "look"},
		{"role": "user", "content": [{"type": "text", "text": "and?"}, {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}]},
		{"role": "assistant", "content": [{"type": "text", "text": "open"}]}
	]}`

func read(t *testing.T, text string) trajectory.Trajectory {
	t.Helper()
	var out trajectory.Trajectory
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

func TestR4ATrajectoryIsReadWithAllThatItHolds(t *testing.T) {
	got := read(t, full)
	assert.Equal(t, "door", got.TaskID)
	assert.Equal(t, "open the door", got.Query)
	assert.InDelta(t, 1.0, got.Score, 0)
	assert.Equal(t, []string{"s", "t1"}, []string{got.Session, got.Turn})
	assert.Equal(t, time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), got.Observed)
	assert.Equal(t, map[string]any{"attempt": 2.0}, got.Extra)
	assert.Equal(t, []int{2, 4}, got.Points())
	require.Len(t, got.Messages, 7)
	assert.Equal(t, &schema.Message{
		Role: schema.User, Name: "ann", Content: "Open it",
		Extra: map[string]any{"time_created": "2026-03-02 08:59:00", "metadata": map[string]any{"k": []any{1.0}}},
	}, got.Messages[1])
	zero, one := 0, 1
	assert.Equal(t, []schema.ToolCall{
		{Index: &zero, ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "find", Arguments: `{"what":"key"}`}},
		{Index: &one, ID: "c2", Type: "function", Function: schema.FunctionCall{Name: "look", Arguments: "{}"}},
	}, got.Messages[2].ToolCalls)
	assert.Equal(t, "a key first", got.Messages[2].ReasoningContent)
	require.Len(t, got.Messages[5].UserInputMultiContent, 2)
	assert.Equal(t, "and?", got.Messages[5].UserInputMultiContent[0].Text)
	assert.Equal(t, "open", got.Messages[6].AssistantGenMultiContent[0].Text)
	require.NoError(t, got.Validate())
}

func TestR4WhatIsWrittenIsWhatWasRead(t *testing.T) {
	first := read(t, full)
	text, err := json.Marshal(first) // a value as well as a pointer
	require.NoError(t, err)
	assert.JSONEq(t, full, string(text))
	assert.Equal(t, first, read(t, string(text)))
}

// Clients of ReMe send less than the protocol has.
func TestR4ClientsAreTakenAsTheyAre(t *testing.T) {
	for name, tc := range map[string]struct {
		in    string
		check func(*testing.T, trajectory.Trajectory)
	}{
		"the README's": {`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"score":1.0}`, func(t *testing.T, got trajectory.Trajectory) {
			assert.Equal(t, "q", got.Task())
			assert.Empty(t, got.TaskID)
			assert.Nil(t, got.Extra)
		}},
		"a query beside the metadata": {`{"query":"q","messages":[]}`, func(t *testing.T, got trajectory.Trajectory) {
			assert.Equal(t, "q", got.Query)
			assert.Nil(t, got.Extra)
		}},
		"no role, null content": {`{"messages":[{"content":null}]}`, func(t *testing.T, got trajectory.Trajectory) {
			assert.Equal(t, schema.UserMessage(""), got.Messages[0])
		}},
		"older names of roles": {`{"messages":[{"role":"developer","content":"x"},{"role":"function","name":"f","content":"y"}]}`, func(t *testing.T, got trajectory.Trajectory) {
			assert.Equal(t, schema.System, got.Messages[0].Role)
			assert.Equal(t, schema.Tool, got.Messages[1].Role)
			assert.Equal(t, "f", got.Steps()[0].Tool)
		}},
		"a result without the id of its call": {`{"messages":[{"role":"assistant","tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"find","arguments":"{}"}}]},{"role":"tool","content":"r"}]}`,
			func(t *testing.T, got trajectory.Trajectory) {
				assert.Empty(t, got.Messages[1].ToolCallID)
				assert.Equal(t, "find", got.Steps()[1].Tool)
			}},
		"arguments that are an object": {`{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":{"a": [1, 2]}}},{"id":"d","name":"g","arguments":{"b":1}}]}]}`,
			func(t *testing.T, got trajectory.Trajectory) {
				assert.Equal(t, schema.ToolCall{ID: "c", Type: "function", Function: schema.FunctionCall{Name: "f", Arguments: `{"a":[1,2]}`}}, got.Messages[0].ToolCalls[0])
				assert.Equal(t, schema.FunctionCall{Name: "g", Arguments: `{"b":1}`}, got.Messages[0].ToolCalls[1].Function)
			}},
		"a score that is a truth": {`{"messages":[],"score":true}`, func(t *testing.T, got trajectory.Trajectory) { assert.InDelta(t, 1, got.Score, 0) }},
		"a score that is a text":  {`{"messages":[],"score":" 0.5 "}`, func(t *testing.T, got trajectory.Trajectory) { assert.InDelta(t, 0.5, got.Score, 0) }},
		"an id that is a number":  {`{"messages":[],"task_id":7,"score":null}`, func(t *testing.T, got trajectory.Trajectory) { assert.Equal(t, "7", got.TaskID) }},
		"the time of the last message": {`{"messages":[{"time_created":"2026-03-02 08:00:00"},{"time_created":"2026-03-02T09:30:00+01:00"},{"content":"x"}]}`, func(t *testing.T, got trajectory.Trajectory) {
			assert.Equal(t, time.Date(2026, 3, 2, 8, 30, 0, 0, time.UTC), got.Observed)
		}},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, read(t, tc.in)) })
	}
}

func TestWhatIsNoTrajectoryIsInvalid(t *testing.T) {
	for _, in := range []string{
		`{"messages":"x"}`, `{"messages":[1]}`, `{"messages":[null]}`, `{"messages":[{"content":{"a":1}}]}`, `{"messages":[],"score":"good"}`, `{"messages":[],"score":[1]}`,
		`{"messages":[{"tool_calls":{}}]}`, `{"messages":[],"metadata":[]}`, `{"messages":[],"observed":"yesterday"}`, `[]`,
	} {
		var out trajectory.Trajectory
		require.ErrorIs(t, json.Unmarshal([]byte(in), &out), backends.ErrInvalid, in)
		assert.Equal(t, trajectory.Trajectory{}, out, in)
	}
}

// A message that an agent made, with images that OpenAI's form does not hold, comes
// back as it was.
func TestEinoPartsComeBack(t *testing.T) {
	url := "https://example.org/a.mp4"
	in := trajectory.Trajectory{Messages: []*schema.Message{
		{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeVideoURL, Video: &schema.MessageInputVideo{MessagePartCommon: schema.MessagePartCommon{URL: &url}}}}},
		{Role: schema.User, MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeText, Text: "x"}}},
		{Role: schema.Assistant, Content: "y", ResponseMeta: &schema.ResponseMeta{FinishReason: "stop"}, Extra: map[string]any{"_einomem_turn": "t"}},
	}}
	text, err := json.Marshal(in)
	require.NoError(t, err)
	out := read(t, string(text))
	assert.Equal(t, in.Messages, out.Messages)
}

func TestToolCallsAreWrittenWithTheirIndex(t *testing.T) {
	in := trajectory.Trajectory{Messages: []*schema.Message{schema.AssistantMessage("", []schema.ToolCall{{ID: "a"}, {ID: "b"}})}}
	text, err := json.Marshal(in)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"","arguments":""}},{"index":1,"id":"b",`)
	assert.Nil(t, in.Messages[0].ToolCalls[0].Index, "what was given is as it was")
}

func TestANilMessageIsNotWritten(t *testing.T) {
	_, err := json.Marshal(&trajectory.Trajectory{Messages: []*schema.Message{nil}})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// Whatever is read is written so that it reads the same.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{full, `{"messages":[{}]}`, `null`, `{"messages":null,"query":3}`, `{"metadata":{"query":"q"},"query":"p"}`, `{"messages":[{"extra":{"a":1},"b":2}]}`,
		`{"messages":[{"content":[{"type":"x","text":null,"y":{}}]}]}`, `{"score":1e400}`, `{"task_id":"\u0000"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second trajectory.Trajectory
		if json.Unmarshal(data, &first) != nil {
			return
		}
		_ = first.Validate()
		trajectory.Render(first.Steps(), nil)
		once, err := json.Marshal(first)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(once, &second))
		twice, err := json.Marshal(second)
		require.NoError(t, err)
		require.JSONEq(t, string(once), string(twice))
	})
}
