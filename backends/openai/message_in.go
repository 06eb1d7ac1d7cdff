// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"github.com/cloudwego/eino/schema"
	api "github.com/sashabaranov/go-openai"
)

// fromAnswer is the message of a complete answer's first choice.
func fromAnswer(resp *api.ChatCompletionResponse) *schema.Message {
	choice := resp.Choices[0]
	m := &schema.Message{
		Role:             schema.Assistant,
		Content:          choice.Message.Content,
		ReasoningContent: choice.Message.ReasoningContent,
		ToolCalls:        fromToolCalls(choice.Message.ToolCalls),
		ResponseMeta:     &schema.ResponseMeta{FinishReason: finish(choice.FinishReason), Usage: fromUsage(&resp.Usage)},
	}
	for _, p := range choice.Message.MultiContent { // some servers answer in parts
		m.Content += p.Text
	}
	if m.Content == "" {
		m.Content = choice.Message.Refusal
	}
	return m
}

// fromPiece is the message of one piece of a stream, nil when it carries nothing.
func fromPiece(resp *api.ChatCompletionStreamResponse) *schema.Message {
	m := &schema.Message{Role: schema.Assistant}
	carries := false
	if resp.Usage != nil {
		m.ResponseMeta = &schema.ResponseMeta{Usage: fromUsage(resp.Usage)}
		carries = true
	}
	for _, choice := range resp.Choices {
		if choice.Index != 0 {
			continue
		}
		m.Content = choice.Delta.Content + choice.Delta.Refusal
		m.ReasoningContent = choice.Delta.ReasoningContent
		m.ToolCalls = fromToolCalls(choice.Delta.ToolCalls)
		if reason := finish(choice.FinishReason); reason != "" {
			if m.ResponseMeta == nil {
				m.ResponseMeta = &schema.ResponseMeta{}
			}
			m.ResponseMeta.FinishReason = reason
		}
		carries = carries || m.Content != "" || m.ReasoningContent != "" || len(m.ToolCalls) > 0 || m.ResponseMeta != nil
	}
	if !carries {
		return nil
	}
	return m
}

// fromToolCalls keeps the index of the pieces of a stream: it tells which pieces
// belong together.
func fromToolCalls(calls []api.ToolCall) []schema.ToolCall {
	var out []schema.ToolCall
	for _, c := range calls {
		kind := string(c.Type)
		if kind == "" && c.ID != "" {
			kind = string(api.ToolTypeFunction)
		}
		out = append(out, schema.ToolCall{
			Index: c.Index, ID: c.ID, Type: kind,
			Function: schema.FunctionCall{Name: c.Function.Name, Arguments: c.Function.Arguments},
		})
	}
	return out
}

func finish(r api.FinishReason) string {
	if r == api.FinishReasonNull {
		return ""
	}
	return string(r)
}

func fromUsage(u *api.Usage) *schema.TokenUsage {
	out := &schema.TokenUsage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
	if u.PromptTokensDetails != nil {
		out.PromptTokenDetails.CachedTokens = u.PromptTokensDetails.CachedTokens
	}
	if u.CompletionTokensDetails != nil {
		out.CompletionTokensDetails.ReasoningTokens = u.CompletionTokensDetails.ReasoningTokens
	}
	return out
}
