// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

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
