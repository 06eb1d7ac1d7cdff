// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"regexp"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// contextTag is what could open or close the fence around the context.
var contextTag = regexp.MustCompile(`(?i)<(\s*/?\s*context)`)

// contextMessage returns the message that shows the caller's context, or nil. It
// is memory's own, so that nothing records it as said.
func (w words) contextMessage(text string) *schema.Message {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	m := schema.UserMessage(w.context + "\n<context>\n" + contextTag.ReplaceAllString(text, "&lt;$1") + "\n</context>")
	m.Name = "context"
	einox.MarkSummary(m)
	return m
}
