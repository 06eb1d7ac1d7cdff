// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/working/budget"
)

// ReMeCounter counts as ReMe does by default: a quarter of the characters of
// content and reasoning, rounded up for each message. It knows neither calls of
// tools nor what a protocol adds, takes a list of parts for as many characters as
// it has parts, and counts Chinese several times too low. Use it to reproduce what
// ReMe does; else budget.Estimate.
var ReMeCounter budget.Counter = remeCounter{}

type remeCounter struct{}

// Text implements [budget.Counter].
func (remeCounter) Text(s string) int { return (utf8.RuneCountInString(s) + 3) / 4 }

// Message implements [budget.Counter].
func (remeCounter) Message(m *schema.Message) int {
	if m == nil {
		return 0
	}
	n := len(m.MultiContent) + len(m.UserInputMultiContent) + len(m.AssistantGenMultiContent)
	if n == 0 {
		n = utf8.RuneCountInString(m.Content)
	}
	return (n + utf8.RuneCountInString(m.ReasoningContent) + 3) / 4
}
