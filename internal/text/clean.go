// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package text shortens, cleans, compares and counts texts: the one place for each of
// these. It knows nothing of memory and imports nothing of this module. All functions
// are pure.
package text

import (
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Clean returns s trimmed, as valid UTF-8 and without NUL: what a store takes.
func Clean(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", ""))
}

// HasWords reports whether s holds a letter or a digit.
func HasWords(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
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

// Bullet returns "- [id] time: said (when: use)", the line by which a model is shown a memory
// in a note and in a tool's answer alike; "" where nothing is said. What is empty is left out,
// and the time of day where only the day is known. Whatever the parts hold, the line is one
// line of valid UTF-8 that nothing in it can break out of: see [Inert].
func Bullet(id string, at time.Time, said, use string) string {
	if said = Inert(said); said == "" {
		return ""
	}
	if use = Inert(use); use != "" && use != said {
		said += " (when: " + use + ")"
	}
	line := "- "
	if id = Inert(id); id != "" {
		line += "[" + strings.NewReplacer("[", "(", "]", ")").Replace(id) + "] "
	}
	at = at.UTC()
	switch {
	case at.IsZero():
	case at.Equal(at.Truncate(24 * time.Hour)):
		line += at.Format(time.DateOnly) + ": "
	default:
		line += at.Format("2006-01-02 15:04") + ": "
	}
	return line + said
}

// Fold normalises a text for comparison alone: two texts have the same one if they differ
// in nothing but width, case, spaces between words and the mark at the sentence's end.
// Numbers always count, and so does a question mark.
func Fold(s string) string {
	s = strings.Map(foldCase, compatible(s))
	return withoutFinalMark(strings.Join(strings.Fields(s), " "))
}

// compatible returns the form NFKD, in which wide letters are narrow ones, and marks
// stand behind their letters. Signs that hold a number otherwise than as digits in a
// row stay: a square metre is not 2 metres long, and 10² is not 102.
func compatible(s string) string {
	if norm.NFKD.IsNormalString(s) {
		return s
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexFunc(s, holdsNumber)
		if i < 0 {
			i = len(s)
		}
		b.WriteString(norm.NFKD.String(s[:i]))
		s = s[i:]
		n := len(s) - len(strings.TrimLeftFunc(s, holdsNumber))
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String()
}

// holdsNumber reports whether a sign that is no digit becomes digits in NFKD.
func holdsNumber(r rune) bool {
	return r > unicode.MaxASCII && (r < firstHan || r > lastHan) && unicode.In(r, unicode.No, unicode.So) && strings.ContainsFunc(norm.NFKD.String(string(r)), unicode.IsDigit)
}

const (
	iotaBelow = '\u0345' // a mark whose capital is the letter iota

	// From the radicals to Yi, Chinese and kana among them, no letter has a case.
	firstUncased, lastUncased = '\u2e80', '\ua4cf'

	// The ideographs in common use.
	firstHan, lastHan = '\u3400', '\u9fff'
)

// foldCase returns the least of the letters that differ in case alone, as
// [strings.EqualFold] compares. So ß stays apart from ss: Maße are not Masse. A
// letter never becomes a mark: αί is not άι.
func foldCase(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return r - 'a' + 'A'
	case r <= unicode.MaxASCII, firstUncased <= r && r <= lastUncased:
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f < least && f != iotaBelow {
			least = f
		}
	}
	return least
}

// finalMarks are the marks at a sentence's end that leave its meaning as it is. The
// question mark does not, nor do signs that names end with.
const finalMarks = ".。!;,:、" // NFKD makes three of …

// withoutFinalMark removes marks from the last word. Marks that stand alone are no
// sentence's end: "git add ." is not "git add".
func withoutFinalMark(s string) string {
	t := strings.TrimRight(s, finalMarks)
	if t == "" || strings.HasSuffix(t, " ") {
		return s
	}
	return t
}
