// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode/utf8"
)

// minPart is the smallest limit that Divide keeps to.
const minPart = 32

// Divide returns s in parts, which joined are s: nothing of a long text is left out.
// count of each is at most limit, or a few tens where limit is less. It is cut between
// sentences where there are any, else between words, else between characters.
func Divide(s string, limit int, count func(string) int) []string {
	if utf8.RuneCountInString(s) < 2 || count(s) <= max(limit, minPart) {
		return []string{s}
	}
	at := middle(s)
	return append(Divide(s[:at], limit, count), Divide(s[at:], limit, count)...)
}

// middle returns where to cut a text in two, which are not empty: near its middle, and
// behind the end of a sentence if there is one.
func middle(s string) int {
	half := len(s) / 2
	low, high := len(s)/4, len(s)-len(s)/4
	for _, ends := range []string{"\n", "。！？!?…", ".;；", " \t，,、"} {
		before := strings.LastIndexAny(s[low:half], ends)
		after := strings.IndexAny(s[half:high], ends)
		switch {
		case before >= 0 && (after < 0 || half-low-before <= after):
			return behind(s, low+before)
		case after >= 0:
			return behind(s, half+after)
		}
	}
	if half = runeStart(s, half); half == 0 {
		return behind(s, 0)
	}
	return half
}

// behind returns the place after the character at i.
func behind(s string, i int) int {
	_, size := utf8.DecodeRuneInString(s[i:])
	return i + size
}
