// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/store"
)

// clean returns the copy of a message that is stored: every text redacted and
// legal, media as they are. What belongs to the provider and was not said (Extra,
// token counts) is left out; it need not be encodable.
func (m *Memory) clean(msg *schema.Message) *schema.Message {
	c := *msg
	c.Extra, c.ResponseMeta = nil, nil
	c.Content = m.text(c.Content)
	c.ReasoningContent = m.text(c.ReasoningContent)
	c.ToolCalls = slices.Clone(c.ToolCalls)
	for i := range c.ToolCalls {
		c.ToolCalls[i].Extra = nil
		c.ToolCalls[i].Function.Arguments = m.text(c.ToolCalls[i].Function.Arguments)
	}
	c.MultiContent = slices.Clone(c.MultiContent)
	for i := range c.MultiContent {
		c.MultiContent[i].Text = m.text(c.MultiContent[i].Text)
	}
	c.UserInputMultiContent = slices.Clone(c.UserInputMultiContent)
	for i := range c.UserInputMultiContent {
		c.UserInputMultiContent[i].Text = m.text(c.UserInputMultiContent[i].Text)
	}
	c.AssistantGenMultiContent = slices.Clone(c.AssistantGenMultiContent)
	for i := range c.AssistantGenMultiContent {
		c.AssistantGenMultiContent[i].Text = m.text(c.AssistantGenMultiContent[i].Text)
	}
	return &c
}

// text redacts, and makes any text one that a store can keep: one broken byte or
// one endless tool result must not cost the turn.
func (m *Memory) text(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToValidUTF8(m.cfg.Redact(s), "\uFFFD")
	if len(s) <= store.MaxText {
		return s
	}
	end := store.MaxText
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
