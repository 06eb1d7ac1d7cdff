// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// clean returns the copy of a message that is stored, as the log would store it:
// every text redacted and legal, media as they are, without what belongs to the
// provider and was not said. Unlike the log, it cuts no text.
func (x *Archive) clean(m *schema.Message) *schema.Message {
	c := *m
	c.Extra, c.ResponseMeta = nil, nil
	c.Content = x.text(c.Content)
	c.ReasoningContent = x.text(c.ReasoningContent)
	c.ToolCalls = slices.Clone(c.ToolCalls)
	for i := range c.ToolCalls {
		c.ToolCalls[i].Extra = nil
		c.ToolCalls[i].Function.Arguments = x.text(c.ToolCalls[i].Function.Arguments)
	}
	c.MultiContent = slices.Clone(c.MultiContent)
	for i := range c.MultiContent {
		c.MultiContent[i].Text = x.text(c.MultiContent[i].Text)
	}
	c.UserInputMultiContent = slices.Clone(c.UserInputMultiContent)
	for i := range c.UserInputMultiContent {
		c.UserInputMultiContent[i].Text = x.text(c.UserInputMultiContent[i].Text)
	}
	c.AssistantGenMultiContent = slices.Clone(c.AssistantGenMultiContent)
	for i := range c.AssistantGenMultiContent {
		c.AssistantGenMultiContent[i].Text = x.text(c.AssistantGenMultiContent[i].Text)
	}
	return &c
}

func (x *Archive) text(s string) string {
	if s == "" {
		return s
	}
	if x.cfg.Redact != nil {
		s = x.cfg.Redact(s)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
