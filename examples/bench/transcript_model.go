// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working/compaction"
)

// summariser stands in for a model that writes summaries: what it says is taken
// from what it is asked, and is as long as such answers are, an eighth of the
// question and at least 150 tokens, at most 600. It counts what it would cost.
type summariser struct {
	tools []*schema.ToolInfo
	spent *spending
}

// spending is what calls of a model cost.
type spending struct{ calls, in, out int }

var _ model.ToolCallingChatModel = (*summariser)(nil)

// Generate implements model.BaseChatModel.
func (s *summariser) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	asked := 0
	for _, m := range in {
		asked += compaction.Estimate.Message(m)
	}
	answer, err := json.Marshal(map[string]any{
		"goal": "finish the reports", "directives": []string{"be brief"}, "facts": excerpts(in[len(in)-1].Content, min(max(asked/8, 150), 600)),
		"failed": []string{}, "open": []string{}, "next": []string{"read the next report"},
	})
	if err != nil {
		return nil, err
	}
	m := schema.AssistantMessage(string(answer), nil)
	if len(s.tools) > 0 {
		m = schema.AssistantMessage("", []schema.ToolCall{{ID: "summary", Type: "function", Function: schema.FunctionCall{Name: s.tools[0].Name, Arguments: string(answer)}}})
	}
	said := compaction.Estimate.Message(m)
	m.ResponseMeta = &schema.ResponseMeta{FinishReason: "stop", Usage: &schema.TokenUsage{PromptTokens: asked, CompletionTokens: said, TotalTokens: asked + said}}
	s.spent.calls++
	s.spent.in += asked
	s.spent.out += said
	return m, nil
}

// Stream implements model.BaseChatModel.
func (s *summariser) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := s.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}

// WithTools implements model.ToolCallingChatModel.
func (s *summariser) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return &summariser{tools: tools, spent: s.spent}, nil
}

// excerpts are pieces of a text, from its begin to its end, with so many tokens in
// all.
func excerpts(text string, tokens int) []string {
	const each = 12 // words
	words := strings.Fields(text)
	n := max(1, tokens/(2*each))
	out := make([]string, 0, n)
	for i := range n {
		from := i * max(0, len(words)-each) / n
		out = append(out, strings.Join(words[from:min(from+each, len(words))], " "))
	}
	return out
}
