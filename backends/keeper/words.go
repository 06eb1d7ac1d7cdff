// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// sameWords brings texts that are made of the same words to one form.
func sameWords(s string) string {
	s = compatible(s)
	s = compatible(strings.Map(foldCase, s)) // some letters fall apart only in the other case
	s = strings.Join(strings.Fields(s), " ")
	return withoutFinalMark(s)
}

// compatible returns the form NFKC, in which wide letters are narrow ones. Signs
// that hold a number otherwise than as digits in a row stay: a square metre is not
// 2 metres long, and 10² is not 102.
func compatible(s string) string {
	if norm.NFKC.IsNormalString(s) {
		return s
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexFunc(s, holdsNumber)
		if i < 0 {
			i = len(s)
		}
		b.WriteString(norm.NFKC.String(s[:i]))
		s = s[i:]
		n := len(s) - len(strings.TrimLeftFunc(s, holdsNumber))
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String()
}

// holdsNumber reports whether a sign that is no digit becomes digits in NFKC.
func holdsNumber(r rune) bool {
	return r > unicode.MaxASCII && !unicode.IsDigit(r) && strings.ContainsFunc(norm.NFKC.String(string(r)), unicode.IsDigit)
}

// foldCase returns the least of the letters that differ in case alone, as
// [strings.EqualFold] compares. So ß stays apart from ss: Maße are not Masse.
func foldCase(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// finalMarks are the marks at a sentence's end that leave its meaning as it is. The
// question mark does not, nor do signs that names end with.
const finalMarks = ".。!;,:、" // NFKC makes … three of them

// withoutFinalMark removes marks from the last word. Marks that stand alone are no
// sentence's end: "git add ." is not "git add".
func withoutFinalMark(s string) string {
	t := strings.TrimRight(s, finalMarks)
	if t == "" || strings.HasSuffix(t, " ") {
		return s
	}
	return t
}
