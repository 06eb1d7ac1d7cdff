// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import "github.com/cloudwego/eino/schema"

// Counter counts tokens. It must be safe for concurrent use, and should be cheap:
// every message of a context goes through it at every call of a model.
type Counter interface {
	// Text counts the tokens of a text alone.
	Text(s string) int
	// Message counts a message as it goes to the provider: its texts, reasoning,
	// tool calls, media, and what the protocol adds.
	Message(m *schema.Message) int
}

// What a message costs beside its texts.
const (
	messageTokens = 4   // role and separators of one message
	mediaTokens   = 800 // an image, an audio or a file: the order of magnitude of a picture of 1024 by 1024
)

// Estimate counts without any model's vocabulary.
var Estimate Counter = Tokenizer(estimateText)

// Tokenizer returns a counter that counts texts with count, such as the length of
// what a tokenizer returns, and messages as text plus the costs above.
func Tokenizer(count func(text string) int) Counter { return tokenizer(count) }

type tokenizer func(string) int

// Text implements [Counter].
func (t tokenizer) Text(s string) int { return t(s) }

// Message implements [Counter].
func (t tokenizer) Message(m *schema.Message) int {
	if m == nil {
		return 0
	}
	n := messageTokens + t(m.Content) + t(m.ReasoningContent)
	for i := range m.ToolCalls {
		n += t(m.ToolCalls[i].Function.Name) + t(m.ToolCalls[i].Function.Arguments)
	}
	for i := range m.MultiContent {
		n += t.part(m.MultiContent[i].Type, m.MultiContent[i].Text)
	}
	for i := range m.UserInputMultiContent {
		n += t.part(m.UserInputMultiContent[i].Type, m.UserInputMultiContent[i].Text)
	}
	for i := range m.AssistantGenMultiContent {
		n += t.part(m.AssistantGenMultiContent[i].Type, m.AssistantGenMultiContent[i].Text)
	}
	return n
}

func (t tokenizer) part(kind schema.ChatMessagePartType, text string) int {
	if kind == schema.ChatMessagePartTypeText {
		return t(text)
	}
	return mediaTokens
}
