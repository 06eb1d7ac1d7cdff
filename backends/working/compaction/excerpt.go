// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is how many runes of a tool's name are shown.
const maxName = 64

// oneLine returns at most n runes of the beginning of s on one line, with an
// ellipsis where something is left out.
func oneLine(s string, n int) string {
	s = strings.ToValidUTF8(s[:prefix(s, 4*n)], "\uFFFD")
	var b strings.Builder
	space, runes := false, 0
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
			runes++
		}
		if runes++; runes > n {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// prefix returns the length of the longest beginning of s that has at most n bytes
// and splits no rune.
func prefix(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}
