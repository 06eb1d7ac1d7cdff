// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import "github.com/cloudwego/eino/schema"

// The tokens of a message beside its texts.
const (
	messageTokens = 4   // role and separators
	mediaTokens   = 800 // an image, an audio or a file: the order of magnitude of a picture of 1024 by 1024
)

// Tokens counts a message as it goes to the provider: its texts by count, reasoning, tool calls and
// media. A nil message counts 0.
func Tokens(m *schema.Message, count func(string) int) int {
	if m == nil {
		return 0
	}
	n := messageTokens + count(m.Content) + count(m.ReasoningContent)
	for i := range m.ToolCalls {
		n += count(m.ToolCalls[i].Function.Name) + count(m.ToolCalls[i].Function.Arguments)
	}
	for _, p := range Parts(m) {
		n += count(p.Text)
		if p.Media != "" {
			n += mediaTokens
		}
	}
	return n
}
