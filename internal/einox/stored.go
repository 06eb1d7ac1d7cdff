// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"slices"

	"github.com/cloudwego/eino/schema"
)

// Stored returns the copy of a message that is stored: text has been applied to
// all that was said, media are as they are. What belongs to the provider and was
// not said (Extra, token counts) is left out; it need not be encodable.
func Stored(m *schema.Message, text func(string) string) *schema.Message {
	c := *m
	c.Extra, c.ResponseMeta = nil, nil
	c.Content = text(c.Content)
	c.ReasoningContent = text(c.ReasoningContent)
	c.ToolCalls = slices.Clone(c.ToolCalls)
	for i := range c.ToolCalls {
		c.ToolCalls[i].Extra = nil
		c.ToolCalls[i].Function.Arguments = text(c.ToolCalls[i].Function.Arguments)
	}
	c.MultiContent = slices.Clone(c.MultiContent)
	for i := range c.MultiContent {
		c.MultiContent[i].Text = text(c.MultiContent[i].Text)
	}
	c.UserInputMultiContent = slices.Clone(c.UserInputMultiContent)
	for i := range c.UserInputMultiContent {
		c.UserInputMultiContent[i].Text = text(c.UserInputMultiContent[i].Text)
	}
	c.AssistantGenMultiContent = slices.Clone(c.AssistantGenMultiContent)
	for i := range c.AssistantGenMultiContent {
		c.AssistantGenMultiContent[i].Text = text(c.AssistantGenMultiContent[i].Text)
	}
	return &c
}
