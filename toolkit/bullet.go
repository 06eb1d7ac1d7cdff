// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/bullet"
)

// What a result may hold, so that one call never fills a context: in runes.
const (
	maxMemoryRunes = 2000
	maxResultRunes = 32_000
	maxErrorRunes  = 600
)

// bullets shows hits, a line each, while they fit, and says how many did
// not.
func (k *kit) bullets(hits []backends.Hit) []string {
	var lines []string
	size := 0
	for i := range hits {
		line := clip(bullet.Of(&hits[i].Memory), maxMemoryRunes)
		if size += len([]rune(line)); size > maxResultRunes {
			return append(lines, fmt.Sprintf(k.text.HitsLeft, len(hits)-i))
		}
		lines = append(lines, line)
	}
	return lines
}

// breaks are the characters at which a reader sees a new line. Further lines are
// indented, so that no text can pose as a line of the answer.
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
