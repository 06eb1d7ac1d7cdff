// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
)

// What an agent's model is sent in made-up turns of an agent with tools, with and without
// compaction, in estimated tokens. With EINOMEM_LONG there are 200 turns and a window of 32,000
// tokens: -v prints the table of examples/bench.
func TestWhatCompactionSaves(t *testing.T) {
	turns, b := 25, compaction.Budget{Window: 8000}
	if testkit.Long() {
		turns, b = 200, compaction.Budget{Window: 32_000}
	}
	b, err := b.WithDefaults()
	require.NoError(t, err)
	summaries, asked := 0, 0
	// Summaries are as long as those that models write: an eighth of the question, 150 to 600 tokens.
	summariser := testkit.New(func(_ context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		tokens := 0
		for _, m := range in {
			tokens += compaction.Estimate.Message(m)
		}
		summaries, asked = summaries+1, asked+tokens
		words := strings.Fields(in[len(in)-1].Content)
		facts := make([]string, max(1, min(max(tokens/8, 150), 600)/24)) // of twelve words each, from all of it
		for i := range facts {
			from := i * max(0, len(words)-12) / len(facts)
			facts[i] = strings.Join(words[from:min(from+12, len(words))], " ")
		}
		answer, err := json.Marshal(map[string]any{
			"goal": "finish the reports", "directives": []string{"be brief"}, "next": []string{"read the next report"},
			"facts": facts, "failed": []string{}, "open": []string{},
		})
		require.NoError(t, err)
		out := schema.AssistantMessage(string(answer), nil)
		if len(opts.Tools) > 0 {
			out = schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: opts.Tools[0].Name, Arguments: string(answer)}}})
		}
		asked += compaction.Estimate.Message(out)
		return out, nil
	})
	params := compaction.DefaultParams()
	params.MaxTotalTokens = min(params.MaxTotalTokens, b.Limit())
	params.Budget, params.Model = b, summariser
	auto, err := compaction.ReMe(params)
	require.NoError(t, err)
	none := 0
	for _, way := range []struct {
		name   string
		config *compaction.Config
	}{
		{"none", &compaction.Config{Budget: b, Steps: []compaction.Step{}}},
		{"free steps", &compaction.Config{Budget: b, Steps: compaction.Free()}},
		{"free steps, Trigger 0.5", &compaction.Config{Budget: b, Steps: compaction.Free(), Trigger: 0.5}},
		{"all steps", &compaction.Config{Budget: b, Steps: compaction.Default(summariser)}},
		{"ReMe, auto", auto},
	} {
		compactor, err := compaction.New(way.config)
		require.NoError(t, err)
		keep, messages, over := newShelf(t), []*schema.Message(nil), 0
		sent := 0
		summaries, asked = 0, 0
		for _, turn := range transcript.Task(transcript.Seed(1), turns) {
			fits := true
			for _, m := range turn {
				if m.Role == schema.Assistant { // the model is asked for it
					result, err := compactor.Compact(t.Context(), &compaction.Request{Messages: messages, Archive: keep})
					if errors.As(err, new(*compaction.OverError)) {
						fits, err = false, nil
					}
					require.NoError(t, err)
					require.NoError(t, transcript.Check(result.Messages))
					messages, sent = result.Messages, sent+result.After.Tokens
				}
				messages = append(messages, m)
			}
			if !fits {
				over++
			}
		}
		if way.name == "none" {
			none = sent
			require.Positive(t, over)
		} else {
			require.Zero(t, over, way.name)
			require.Less(t, sent+asked, none/2, way.name)
		}
		t.Logf("| %s | %d | %.1f M | %d (%d) | %.1f %% | %d |", way.name, sent/turns, float64(sent)/1e6, summaries, asked, 100-100*float64(sent+asked)/float64(none), over)
	}
}
