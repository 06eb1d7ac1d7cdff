// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"fmt"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
)

// What a result may hold, so that one call never fills a context: in runes.
const (
	maxMemoryRunes = 2000
	maxResultRunes = 32_000
	maxErrorRunes  = 600
)

// bullets shows hits as "- [id] date: text" while they fit, and says how many did
// not.
func (k *kit) bullets(hits []backends.Hit) []string {
	var lines []string
	size := 0
	for i := range hits {
		line := bullet(&hits[i].Memory)
		if size += len([]rune(line)); size > maxResultRunes {
			return append(lines, fmt.Sprintf(k.text.HitsLeft, len(hits)-i))
		}
		lines = append(lines, line)
	}
	return lines
}

// bullet shows one memory. Further lines of its text are indented, so that no
// memory can pose as another one.
func bullet(m *backends.Memory) string {
	line := "- "
	if m.ID != "" {
		line += "[" + m.ID + "] "
	}
	if day := dayOf(m); !day.IsZero() {
		line += day.UTC().Format(time.DateOnly) + ": "
	}
	line += clip(m.Text, maxMemoryRunes)
	if m.WhenToUse != "" {
		line += " (when: " + clip(m.WhenToUse, maxMemoryRunes) + ")"
	}
	return indent(line)
}

// dayOf returns the time that tells most of a memory: from when it holds, else
// when it was said, else when it was stored.
func dayOf(m *backends.Memory) time.Time {
	for _, t := range []time.Time{m.Valid, m.Observed} {
		if !t.IsZero() {
			return t
		}
	}
	return m.Created
}

// breaks are the characters at which a reader sees a new line.
var breaks = strings.NewReplacer("\r\n", "\n  ", "\n", "\n  ", "\r", "\n  ", "\u2028", "\n  ", "\u2029", "\n  ", "\u0085", "\n  ", "\v", "\n  ", "\f", "\n  ")

func indent(s string) string { return breaks.Replace(s) }

// clip cuts s after so many runes, and shows that it did.
func clip(s string, runes int) string {
	if len(s) <= runes {
		return s
	}
	n := 0
	for i := range s {
		if n == runes {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
