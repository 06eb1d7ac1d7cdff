// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package bullet shows a memory to a model, in a note and in a tool's answer
// alike: as one line that nothing in the memory can break out of.
package bullet

import (
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// Of returns "- [id] time: text", or "" for a memory without text. An id or a
// time that is missing is left out. Whatever the memory holds, the line is one
// line of valid UTF-8 without angle brackets.
func Of(m *backends.Memory) string {
	said := text.Inert(m.Text)
	if said == "" {
		return ""
	}
	if when := text.Inert(m.WhenToUse); when != "" && when != said {
		said += " (when: " + when + ")"
	}
	line := "- "
	if id := text.Inert(m.ID); id != "" {
		line += "[" + strings.NewReplacer("[", "(", "]", ")").Replace(id) + "] "
	}
	if t := timeOf(m); !t.IsZero() {
		line += t.UTC().Format(layout(t.UTC())) + ": "
	}
	return line + said
}

// timeOf returns the time that tells most of a memory: from when it holds, else
// when it was said, else when it was stored.
func timeOf(m *backends.Memory) time.Time {
	for _, t := range []time.Time{m.Valid, m.Observed} {
		if !t.IsZero() {
			return t
		}
	}
	return m.Created
}

// layout leaves the time of day out where a memory only knows the day.
func layout(t time.Time) string {
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return time.DateOnly
	}
	return "2006-01-02 15:04"
}
