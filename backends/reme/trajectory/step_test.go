// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/reme/trajectory"
)

func call(id, name, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}

func TestResultsAreNamedByTheirCalls(t *testing.T) {
	tr := &trajectory.Trajectory{Messages: []*schema.Message{
		schema.SystemMessage("s"), note("n"),
		schema.AssistantMessage("", []schema.ToolCall{call("1", "find", "{}"), call("2", "look", "{}"), call("3", "open", "{}")}),
		schema.ToolMessage("b", "2"), schema.ToolMessage("a", ""), schema.ToolMessage("c", "", schema.WithToolName("own")),
		schema.ToolMessage("d", "unknown"), {Role: schema.Tool, Name: "last", Content: "e"},
		schema.AssistantMessage("", []schema.ToolCall{call("1", "again", "{}")}), schema.ToolMessage("f", "1"),
	}}
	var names []string
	for i, s := range tr.Steps() {
		assert.Equal(t, i+1, s.Number)
		if s.Message.Role == schema.Tool {
			names = append(names, s.Tool)
		}
	}
	assert.Equal(t, []string{"look", "find", "own", "", "last", "again"}, names)
}

func TestPointsOfTheMetadata(t *testing.T) {
	for name, tc := range map[string]struct {
		in   any
		want []int
	}{
		"none":         {nil, nil},
		"no list":      {"3", nil},
		"numbers":      {[]any{1.0, 2, json.Number("3"), json.Number("4.0")}, []int{1, 2, 3, 4}},
		"not numbers":  {[]any{"x", 2.5, nil, 1e300, json.Number("z"), []any{1.0}}, []int{0, 0, 0, 0, 0, 0}},
		"an empty one": {[]any{}, []int{}},
		"in Go":        {[]int{2, 1}, []int{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := trajectory.Trajectory{Metadata: map[string]any{"segments": tc.in}}
			assert.Equal(t, tc.want, tr.Points())
		})
	}
}

func said(texts ...string) *trajectory.Trajectory {
	t := &trajectory.Trajectory{}
	for _, text := range texts {
		t.Messages = append(t.Messages, schema.AssistantMessage(text, nil))
	}
	return t
}

func TestDEF12SegmentsEndAtThePointsGiven(t *testing.T) {
	tr := said("a", "b", "c", "d", "e")
	for name, tc := range map[string]struct {
		points  []int
		lengths []int
		ignored int
	}{
		"none":            {nil, []int{5}, 0},
		"two":             {[]int{2, 4}, []int{2, 2, 1}, 0},
		"in any order":    {[]int{4, 2}, []int{2, 2, 1}, 0},
		"with the end":    {[]int{3, 5}, []int{3, 2}, 0},
		"what is none":    {[]int{0, -1, 6, 3, 3}, []int{3, 2}, 4},
		"all of them":     {[]int{1, 2, 3, 4, 5}, []int{1, 1, 1, 1, 1}, 0},
		"only what isn't": {[]int{99}, []int{5}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			segments, ignored := tr.Segments(tc.points)
			var lengths []int
			for i, s := range segments {
				lengths = append(lengths, len(s.Steps))
				assert.Equal(t, []int{i + 1, len(segments)}, []int{s.Number, s.Of})
				assert.Same(t, tr, s.Trajectory)
			}
			assert.Equal(t, tc.lengths, lengths)
			assert.Equal(t, tc.ignored, ignored)
		})
	}
	segments, ignored := (&trajectory.Trajectory{}).Segments([]int{1})
	assert.Empty(t, segments)
	assert.Equal(t, 1, ignored)
}

func TestSegmentsAreTheStepsInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tr := said(rapid.SliceOfN(rapid.Just("x"), 1, 12).Draw(rt, "steps")...)
		points := rapid.SliceOfN(rapid.IntRange(-2, 14), 0, 8).Draw(rt, "points")
		before := append([]int(nil), points...)
		segments, ignored := tr.Segments(points)
		var all []trajectory.Step
		for _, s := range segments {
			require.NotEmpty(rt, s.Steps)
			all = append(all, s.Steps...)
		}
		require.Equal(rt, tr.Steps(), all)
		require.Equal(rt, before, append([]int(nil), points...))
		used := len(points) - ignored
		require.Contains(rt, []int{used, used + 1}, len(segments))
	})
}

// Whichever calls are answered in whichever order: each result is that of the first
// call still open that it may be of.
func TestResultsAreOfTheFirstOpenCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := &trajectory.Trajectory{}
		var open []schema.ToolCall
		var want []string
		id := rapid.SampledFrom([]string{"", "1", "2", "3"})
		for i := range rapid.IntRange(0, 30).Draw(t, "messages") {
			if rapid.Bool().Draw(t, "calls") {
				c := call(id.Draw(t, "id"), string(rune('a'+i)), "{}")
				open = append(open, c)
				tr.Messages = append(tr.Messages, schema.AssistantMessage("", []schema.ToolCall{c}))
				continue
			}
			m, name := schema.ToolMessage("r", id.Draw(t, "of")), ""
			at := slices.IndexFunc(open, func(c schema.ToolCall) bool { return m.ToolCallID == "" || c.ID == m.ToolCallID })
			if at >= 0 {
				name = open[at].Function.Name
				open = slices.Delete(open, at, at+1)
			}
			tr.Messages, want = append(tr.Messages, m), append(want, name)
		}
		var got []string
		for _, s := range tr.Steps() {
			if s.Message.Role == schema.Tool {
				got = append(got, s.Tool)
			}
		}
		require.Equal(t, want, got)
	})
}

func BenchmarkStepsOfManyOpenCalls(b *testing.B) {
	tr := &trajectory.Trajectory{}
	const n = 20_000
	for i := range n {
		tr.Messages = append(tr.Messages, schema.AssistantMessage("", []schema.ToolCall{call(strconv.Itoa(i), "f", "{}")}))
	}
	for i := range n {
		tr.Messages = append(tr.Messages, schema.ToolMessage("r", strconv.Itoa(i)))
	}
	for b.Loop() {
		tr.Steps()
	}
}
