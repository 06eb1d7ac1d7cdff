// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package bullet

import (
	"strings"
	"unicode"
)

// clean makes the text of a memory safe to show to a model: one line of valid
// UTF-8 without control characters, invisible characters (zero width, text
// direction, tags) and angle brackets, which are escaped as in HTML, so that
// nothing in it ends the fence of a note or poses as another bullet.
func clean(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	space := false
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			space = true
			continue
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs), unicode.Is(unicode.Variation_Selector, r), blank(r):
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		switch {
		case strings.ContainsRune(opening, r):
			b.WriteString("&lt;")
		case strings.ContainsRune(closing, r):
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
	opening = "<＜﹤‹〈〈⟨❬❮❰⧼˂ᐸ≺≪⪡𝈶"
	closing = ">＞﹥›〉〉⟩❭❯❱⧽˃ᐳ≻≫⪢𝈷"
)

// blank reports the letters that show nothing.
func blank(r rune) bool {
	switch r {
	case '\u115F', '\u1160', '\u3164', '\uFFA0', '\u2800', '\u034F', '\u17B4', '\u17B5':
		return true
	}
	return false
}
