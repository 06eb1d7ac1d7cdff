// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/einomem/einomem/backends/working/budget"
)

func TestEstimateTokens(t *testing.T) {
	for name, tc := range map[string]struct {
		msg  *schema.Message
		want int
	}{
		"nil":        {nil, 0},
		"empty":      {schema.UserMessage(""), 4},
		"latin":      {schema.UserMessage(strings.Repeat("word", 100)), 104},
		"rounds up":  {schema.UserMessage("hello"), 6},
		"accents":    {schema.UserMessage(strings.Repeat("é", 8)), 8},
		"cyrillic":   {schema.UserMessage(strings.Repeat("ж", 8)), 8},
		"chinese":    {schema.UserMessage(strings.Repeat("记忆库", 10)), 24},
		"korean":     {schema.UserMessage(strings.Repeat("기", 30)), 24},
		"emoji":      {schema.UserMessage("🎉"), 5},
		"bad utf-8":  {schema.UserMessage("\xff\xff\xff\xff"), 7},
		"reasoning":  {&schema.Message{ReasoningContent: "12345678"}, 6},
		"tool call":  {schema.AssistantMessage("", []schema.ToolCall{{Function: schema.FunctionCall{Name: "find", Arguments: "12345678"}}}), 7},
		"text part":  {&schema.Message{UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "1234"}}}, 5},
		"image part": {&schema.Message{AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeImageURL}}}, 804},
		"old image":  {&schema.Message{MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeImageURL}}}, 804},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, budget.Estimate.Message(tc.msg)) })
	}
}
