// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"strings"
	"unicode/utf8"
)

// least is the smallest room that a text is divided for, in tokens.
const least = 32

// divide returns a text in pieces of at most room tokens each, which joined are the
// text: nothing of a long message is left out. It is cut between sentences where
// there are any, else between words, else between characters.
func divide(text string, room int, count func(string) int) []string {
	if utf8.RuneCountInString(text) < 2 || count(text) <= max(room, least) {
		return []string{text}
	}
	at := middle(text)
	return append(divide(text[:at], room, count), divide(text[at:], room, count)...)
}

// middle returns where to cut a text in two, which are not empty: near its middle,
// and behind the end of a sentence if there is one.
func middle(text string) int {
	half := len(text) / 2
	low, high := len(text)/4, len(text)-len(text)/4
	for _, ends := range []string{"\n", "。！？!?…", ".;；", " \t，,、"} {
		before := strings.LastIndexAny(text[low:half], ends)
		after := strings.IndexAny(text[half:high], ends)
		switch {
		case before >= 0 && (after < 0 || half-low-before <= after):
			return behind(text, low+before)
		case after >= 0:
			return behind(text, half+after)
		}
	}
	for half > 0 && !utf8.RuneStart(text[half]) {
		half--
	}
	if half == 0 {
		return behind(text, 0)
	}
	return half
}

// behind returns the place after the character at i.
func behind(text string, i int) int {
	_, size := utf8.DecodeRuneInString(text[i:])
	return i + size
}
