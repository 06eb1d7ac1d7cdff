// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"unicode"
)

// shown is a text as models are shown it, and where each part of it comes from.
type shown struct {
	text   string
	source []int // shown byte → byte of the text, -1 inside of what stands for one rune; one more than text
}

// show makes the text of a block safe to show: line breaks stay, and nothing in it
// can close the tag around it or open another one. Angle brackets, and what looks
// like them, are escaped as in HTML; other spaces become plain ones; control
// characters and what shows nothing (zero width, text direction, tags) are left out.
func show(text string) shown {
	var b strings.Builder
	b.Grow(len(text))
	source := make([]int, 0, len(text)+1)
	for i, r := range text {
		b.WriteString(visible(r))
		for first := true; len(source) < b.Len(); first = false {
			if first {
				source = append(source, i)
			} else {
				source = append(source, -1)
			}
		}
	}
	return shown{b.String(), append(source, len(text))}
}

// visible returns what stands for a rune.
func visible(r rune) string {
	switch {
	case r == '\n' || r == '\t', r >= ' ' && r <= '~' && r != '<' && r != '>': // nearly all
		return string(r)
	case strings.ContainsRune("\r\v\f\u0085\u2028\u2029", r):
		return "\n"
	case unicode.IsSpace(r):
		return " "
	case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Variation_Selector), strings.ContainsRune(blank, r):
		return ""
	case strings.ContainsRune(opening, r):
		return "&lt;"
	case strings.ContainsRune(closing, r):
		return "&gt;"
	}
	return string(r)
}

const (
	// What looks like an angle bracket. Double ones are left alone: they are quotation
	// marks in several languages.
	opening = "<＜﹤‹〈〈⟨❬❮❰⧼˂ᐸ≺≪⪡𝈶"
	closing = ">＞﹥›〉〉⟩❭❯❱⧽˃ᐳ≻≫⪢𝈷"
	// Letters that show nothing.
	blank = "\u115F\u1160\u3164\uFFA0\u2800\u034F\u17B4\u17B5"
)

// find returns the bytes of the text of which part is what is shown, and how often
// it occurs, as [occurrences] counts.
func (s shown) find(part string) (from, to, n int) {
	for rest := 0; part != "" && n <= maxCount; {
		i := strings.Index(s.text[rest:], part)
		if i < 0 {
			break
		}
		start, end := s.source[rest+i], s.source[rest+i+len(part)]
		rest += i + 1
		if start < 0 || end < 0 { // within what stands for one rune
			continue
		}
		if n == 0 {
			from, to = start, end
		}
		n++
	}
	return from, to, n
}

// line returns a text as one line that is safe to show.
func line(text string) string { return strings.Join(strings.Fields(show(text).text), " ") }
