// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/einomem/einomem/backends/working/budget"
)

func TestWhatAMessageCounts(t *testing.T) {
	call := schema.ToolCall{Function: schema.FunctionCall{Name: "find", Arguments: "red shoes"}}
	for name, tc := range map[string]struct {
		msg  *schema.Message
		want int // by a counter of bytes
	}{
		"nil":         {nil, 0},
		"empty":       {schema.UserMessage(""), 4},
		"content":     {schema.UserMessage("hello"), 9},
		"reasoning":   {&schema.Message{Content: "ab", ReasoningContent: "cde"}, 9},
		"tool calls":  {schema.AssistantMessage("", []schema.ToolCall{call, call}), 4 + 2*13},
		"tool result": {schema.ToolMessage("12345", "call-1"), 9},
		"text part":   {&schema.Message{UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "1234"}}}, 8},
		"image part":  {&schema.Message{AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeImageURL}}}, 804},
		"old image":   {&schema.Message{MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeImageURL}}}, 804},
		"no type":     {&schema.Message{MultiContent: []schema.ChatMessagePart{{Text: "1234"}}}, 8},
		"old text":    {&schema.Message{MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeText, Text: "1234"}}}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			counter := budget.Tokenizer(func(s string) int { return len(s) })
			assert.Equal(t, tc.want, counter.Message(tc.msg))
		})
	}
	assert.Equal(t, 4+2, budget.Estimate.Message(schema.UserMessage("hello world")))
	assert.Equal(t, 11, budget.Tokenizer(func(s string) int { return len(s) }).Text("hello world"))
}
