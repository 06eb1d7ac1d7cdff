// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/text"
)

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

// Estimate counts without any model's vocabulary: by the letters, digits, marks and
// spaces of a text (see text.Tokens), in one pass, without allocation.
// It never counts less for more text.
//
// It is fitted to o200k_base, the vocabulary of OpenAI's models since GPT-4o, and
// errs on the high side, because a budget is to hold. How far it is off, in percent,
// by "go run ./tokens" in examples/bench/peers, over the texts in testdata and the
// conversations of LoCoMo:
//
//	                      o200k_base  cl100k_base
//	LoCoMo, English         +3           -1
//	English                 +1           -1
//	Chinese                +12          -28
//	Chinese with English    +8          -11
//	Japanese                +9          -25
//	Korean                 +24          -28
//	Russian                +25          -32
//	German, French, Spanish +13 to +32   -6 to +1
//	Go                      +8           +8
//	JSON                    +4           +4
//	logs, tables             0           -1 to 0
//	numbers                 +8           +8
//	base64                  +3           -2
//	hexadecimal            +54          +55
//	emoji                  +13          -13
//
// Older vocabularies, as cl100k_base of GPT-4, split what is not English more: for
// these, or where the window is to be used to the last token, give a [Tokenizer],
// or a smaller [Budget.Window].
var Estimate Counter = Tokenizer(text.Tokens)

// Tokenizer returns a counter that counts texts with count, such as the length of
// what a tokenizer returns, and messages as their texts plus 4 for the message and
// 800 for each image, sound or file. count must be safe for concurrent use; it is
// called for every text of a context at every call of a model, which is slow for
// most tokenizers and long contexts: remember what they said.
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

func (t tokenizer) part(kind schema.ChatMessagePartType, s string) int {
	n := t(s)
	if kind != schema.ChatMessagePartTypeText && kind != "" {
		n += mediaTokens
	}
	return n
}
