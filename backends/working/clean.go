// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"strings"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
)

// clean returns the copy of a message that is stored: every text redacted and
// legal.
func (m *Memory) clean(msg *schema.Message) *schema.Message { return einox.Stored(msg, m.text) }

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
