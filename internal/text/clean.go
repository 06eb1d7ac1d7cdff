// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode"
)

// Clean returns s trimmed, as valid UTF-8 and without NUL: what a store takes.
func Clean(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", ""))
}

// HasWords reports whether s holds a letter or a digit.
func HasWords(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// IsHan reports whether r is a Chinese character.
func IsHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// MostlyHan reports whether three letters in ten of the texts, or more, are Chinese
// characters. Of a long text the first 2,000 bytes decide.
func MostlyHan(texts ...string) bool {
	han, letters := 0, 0
	for _, s := range texts {
		for _, r := range s[:runeStart(s, min(len(s), 2000))] {
			if unicode.IsLetter(r) {
				letters++
			}
			if IsHan(r) {
				han++
			}
		}
	}
	return han > 0 && han*10 >= letters*3
}

// Inert returns s as one line of valid UTF-8 that can end no fence and pose as no
// other line: without control characters and invisible characters (zero width, text
// direction, tags), and with everything that looks like an angle bracket escaped as
// in HTML.
func Inert(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			space = true
			continue
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs), unicode.Is(unicode.Variation_Selector, r), isBlank(r):
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		switch {
		case strings.ContainsRune(openingBrackets, r):
			b.WriteString("&lt;")
		case strings.ContainsRune(closingBrackets, r):
			b.WriteString("&gt;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// What looks like an angle bracket. Double ones are left alone: they are
// quotation marks in several languages.
const (
	openingBrackets = "<＜﹤‹〈〈⟨❬❮❰⧼˂ᐸ≺≪⪡𝈶"
	closingBrackets = ">＞﹥›〉〉⟩❭❯❱⧽˃ᐳ≻≫⪢𝈷"
)

// isBlank reports the letters that show nothing.
func isBlank(r rune) bool {
	switch r {
	case '\u115F', '\u1160', '\u3164', '\uFFA0', '\u2800', '\u034F', '\u17B4', '\u17B5':
		return true
	}
	return false
}
