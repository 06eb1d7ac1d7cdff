// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/segment"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// NaiveTerms returns the terms of a text in order, by the letter of what the
// analyzer promises: the whole text is folded and segmented, nothing is
// remembered, and no character is special. It is what readers are compared with.
func (a Analyzer) NaiveTerms(text string) (out []string) {
	folded := cases.Fold().String(norm.NFKC.String(strings.ToValidUTF8(text, " ")))
	var run []string
	flush := func() {
		for i, s := range run {
			out = append(out, s)
			if i > 0 {
				out = append(out, run[i-1]+s)
			}
		}
		run = nil
	}
	words := segment.NewWordSegmenterDirect([]byte(folded))
	for words.Segment() {
		word := words.Text()
		if !strings.ContainsFunc(word, naiveUnspaced) {
			flush()
			if words.Type() == segment.None {
				continue
			}
		}
		for _, part := range naiveParts(word) {
			if r, _ := utf8.DecodeRuneInString(part); naiveUnspaced(r) {
				run = append(run, strings.Split(part, "")...)
				continue
			}
			flush()
			if term, ok := a.term(part); ok {
				out = append(out, term)
			}
		}
	}
	flush()
	return out
}

func naiveParts(word string) []string {
	var parts []string
	start, kind := 0, -1
	for i, r := range word {
		k := 1
		last, _ := utf8.DecodeLastRuneInString(word[:i])
		switch {
		case naiveUnspaced(r):
			k = 2
		case strings.ContainsRune("_:", r), strings.ContainsRune(".,;", r) && !unicode.IsDigit(last):
			k = 0
		}
		if k == kind {
			continue
		}
		if kind > 0 {
			parts = append(parts, word[start:i])
		}
		start, kind = i, k
	}
	if kind > 0 {
		parts = append(parts, word[start:])
	}
	return parts
}

func naiveUnspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer) || r == 'ー'
}
