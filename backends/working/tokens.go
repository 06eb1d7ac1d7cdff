// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
)

// TokenCounter counts the tokens of a message. It must be safe for concurrent
// use, and should be cheap: every message that is appended goes through it.
type TokenCounter func(*schema.Message) int

// What EstimateTokens counts beside text.
const (
	messageTokens = 4   // role and separators of one message
	mediaTokens   = 800 // an image, an audio or a file: the order of magnitude of a picture of 1024 by 1024
)

// EstimateTokens estimates the size of a message without any model's vocabulary:
// 4 bytes of text a token, 1.5 Chinese, Japanese or Korean characters a token, 4
// for the message itself, and 800 for each part that is no text. It is meant for
// budgets; against real vocabularies it is off by a quarter or so.
func EstimateTokens(m *schema.Message) int {
	if m == nil {
		return 0
	}
	n := messageTokens + textTokens(m.Content) + textTokens(m.ReasoningContent)
	for _, c := range m.ToolCalls {
		n += textTokens(c.Function.Name) + textTokens(c.Function.Arguments)
	}
	for i := range m.MultiContent {
		n += partTokens(m.MultiContent[i].Type, m.MultiContent[i].Text)
	}
	for i := range m.UserInputMultiContent {
		n += partTokens(m.UserInputMultiContent[i].Type, m.UserInputMultiContent[i].Text)
	}
	for i := range m.AssistantGenMultiContent {
		n += partTokens(m.AssistantGenMultiContent[i].Type, m.AssistantGenMultiContent[i].Text)
	}
	return n
}

func partTokens(t schema.ChatMessagePartType, text string) int {
	if t == schema.ChatMessagePartTypeText {
		return textTokens(text)
	}
	return mediaTokens
}

// textTokens rounds up, in twelfths of a token: a byte is 3 of them, a CJK
// character 8.
func textTokens(s string) int {
	twelfths := 0
	for _, r := range s {
		if isCJK(r) {
			twelfths += 8
		} else {
			twelfths += 3 * max(utf8.RuneLen(r), 1)
		}
	}
	return (twelfths + 11) / 12
}

func isCJK(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
