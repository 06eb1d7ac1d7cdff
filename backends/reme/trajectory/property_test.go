// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/working/budget"
)

func drawMessage(rt *rapid.T) *schema.Message {
	text := rapid.SampledFrom([]string{"", "hello", "你好", "<a>&\u2028", "{\"a\":1}", "[1]"})
	m := &schema.Message{Role: rapid.SampledFrom([]schema.RoleType{schema.System, schema.User, schema.Assistant, schema.Tool}).Draw(rt, "role"), Name: text.Draw(rt, "name")}
	switch rapid.IntRange(0, 2).Draw(rt, "content") {
	case 0:
		m.Content = text.Draw(rt, "text")
	case 1:
		if m.Role == schema.Assistant {
			m.AssistantGenMultiContent = []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: text.Draw(rt, "text")}}
		} else {
			m.UserInputMultiContent = []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: text.Draw(rt, "text")},
				{Type: "image_url", Extra: map[string]any{"image_url": map[string]any{"url": "https://example.org"}}}}
		}
	}
	if m.Role == schema.Assistant {
		m.ReasoningContent = text.Draw(rt, "reasoning")
		for i := range rapid.IntRange(0, 2).Draw(rt, "calls") {
			m.ToolCalls = append(m.ToolCalls, schema.ToolCall{Index: &i, ID: text.Draw(rt, "id"), Type: "function", Function: schema.FunctionCall{Name: "f", Arguments: text.Draw(rt, "arguments")}})
		}
	}
	if m.Role == schema.Tool {
		m.ToolCallID, m.ToolName = text.Draw(rt, "id"), text.Draw(rt, "tool")
	}
	if rapid.Bool().Draw(rt, "extra") {
		m.Extra = map[string]any{"time_created": text.Draw(rt, "time"), "metadata": map[string]any{}, "n": 1.5}
	}
	return m
}

// A trajectory that is written and read is the same again.
func TestR4TrajectoriesSurviveTheirJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := trajectory.Trajectory{
			TaskID: rapid.SampledFrom([]string{"", "a", "7"}).Draw(rt, "task"), Query: rapid.SampledFrom([]string{"", "q"}).Draw(rt, "query"), Score: rapid.Float64Range(-2, 2).Draw(rt, "score"),
			Session: rapid.SampledFrom([]string{"", "s"}).Draw(rt, "session"), Turn: rapid.SampledFrom([]string{"", "t"}).Draw(rt, "turn"), Metadata: map[string]any{},
		}
		if in.Query != "" {
			in.Metadata["query"] = in.Query
		}
		if rapid.Bool().Draw(rt, "metadata") {
			in.Metadata["segments"] = []any{2.0}
		}
		if rapid.Bool().Draw(rt, "extra") {
			in.Extra = map[string]any{"run": 3.0}
		}
		if rapid.Bool().Draw(rt, "observed") {
			in.Observed = time.Date(2026, 3, 2, 9, 0, 0, 1000, time.UTC)
		}
		for range rapid.IntRange(0, 4).Draw(rt, "messages") {
			in.Messages = append(in.Messages, drawMessage(rt))
		}
		text, err := json.Marshal(&in)
		require.NoError(rt, err)
		var out trajectory.Trajectory
		require.NoError(rt, json.Unmarshal(text, &out))
		require.Equal(rt, in, out)
	})
}

// What stands together costs more than the sum with some tokenizers, less with others.
// The limit holds with all of them.
func TestChunksFitWithAnyCounter(t *testing.T) {
	for name, count := range map[string]func(string) int{
		"lines cost more together": func(s string) int { n := strings.Count(s, "\n"); return len(s)/4 + n*n/8 },
		"steps":                    func(s string) int { return (len(s) + 31) / 32 * 8 },
		"not monotone":             func(s string) int { return len(s)/4 + len(s)%7 },
		"words":                    func(s string) int { return len(strings.Fields(s)) },
	} {
		t.Run(name, func(t *testing.T) {
			counter := budget.Tokenizer(count)
			rapid.Check(t, func(rt *rapid.T) {
				tr := drawSteps(rt)
				limit := rapid.IntRange(trajectory.MinLimit, 800).Draw(rt, "limit")
				r := &trajectory.Rendering{Limit: limit, Counter: counter}
				steps := 0
				for _, c := range trajectory.Render(tr.Steps(), r) {
					require.LessOrEqual(rt, count(c.Text), limit)
					require.Equal(rt, steps+1, c.First)
					steps = c.Last
				}
				require.Len(rt, tr.Steps(), steps)
				segments, _ := tr.Segments(nil)
				require.LessOrEqual(rt, count(trajectory.Squeeze(segments, r).Text), limit)
			})
		})
	}
}

// Pairs of stretches are above the threshold, no more than asked for, the most similar
// first, and none that is left out is nearer than one that is there.
func TestMatchesAreTheNearest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		similar := trajectory.Similar{Threshold: 0.3, PerSide: rapid.IntRange(1, 4).Draw(rt, "side"), Pairs: rapid.IntRange(1, 4).Draw(rt, "pairs")}
		var sides [2][]trajectory.Segment
		for k := range sides {
			for range rapid.IntRange(0, 5).Draw(rt, "segments") {
				sides[k] = append(sides[k], segment(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "task"), "x"))
			}
		}
		near := map[string]float64{}
		for i := range sides[0] {
			for j := range sides[1] {
				near[fmt.Sprint(i, j)] = rapid.SampledFrom([]float64{0, 0.3, 0.31, 0.6, 0.9}).Draw(rt, "near")
			}
		}
		got := similar.Match(sides[0], sides[1], func(i, j int) float64 { return near[fmt.Sprint(i, j)] })
		allowed := 0
		least := 2.0
		for _, p := range got {
			require.Greater(rt, p.Similarity, 0.3)
			require.LessOrEqual(rt, p.Similarity, least)
			require.NotEqual(rt, p.Better.Trajectory.TaskID, p.Worse.Trajectory.TaskID)
			least = p.Similarity
		}
		above := 0
		for i := range min(len(sides[0]), similar.PerSide) {
			for j := range min(len(sides[1]), similar.PerSide) {
				if n := near[fmt.Sprint(i, j)]; n > 0.3 && sides[0][i].Trajectory.TaskID != sides[1][j].Trajectory.TaskID {
					allowed++
					if n > least {
						above++
					}
				}
			}
		}
		require.Len(rt, got, min(allowed, similar.Pairs))
		require.LessOrEqual(rt, above, len(got))
	})
}
