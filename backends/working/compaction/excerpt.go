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

// ellipsis ends a text that goes on.
const ellipsis = "…"

// oneLine returns the beginning of s on one line: at most n runes, and an ellipsis
// where something is left out.
func oneLine(s string, n int) string {
	s, more := beginning(s, 2*n)
	line := strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	line, cut := beginning(line, n)
	if more || cut {
		line = wholeWords(line) + ellipsis
	}
	return line
}

// quote returns the beginning of s, at most n runes of it, with a mark in front of
// each line, so that no line of it looks like one of ours. Blank lines are left
// out.
func quote(s string, n int) string {
	s, more := beginning(s, n)
	if more {
		s = wholeWords(s)
	}
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimRightFunc(strings.Map(printable, line), unicode.IsSpace); line != "" {
			lines = append(lines, "> "+line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	if more {
		lines[len(lines)-1] += ellipsis
	}
	return strings.Join(lines, "\n")
}

// printable makes a space of what could end a line or hide text.
func printable(r rune) rune {
	if r == '\t' || r == '\r' || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
		return ' '
	}
	return r
}

// beginning returns the first n runes of s, legal ones, and whether there are more.
func beginning(s string, n int) (string, bool) {
	at := 0
	for range n {
		if at >= len(s) {
			return strings.ToValidUTF8(s, "\uFFFD"), false
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return strings.ToValidUTF8(s[:at], "\uFFFD"), at < len(s)
}

// maxWord is how many bytes of a word that was cut are let go: no name of an
// archive is longer.
const maxWord = 48

// wholeWords returns s, which was cut, without the word that the cut went through:
// half a reference, number or name is a wrong one. Where words are not set apart
// it stays as it is.
func wholeWords(s string) string {
	at := strings.LastIndexFunc(s, unicode.IsSpace)
	if at <= 0 || len(s)-at > maxWord {
		return s
	}
	return strings.TrimRightFunc(s[:at], unicode.IsSpace)
}
