// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// minVariant is the shortest term, in characters, that has variants, and minTypo the shortest one
// that may be another word with a typing error.
const (
	minVariant = 5
	minTypo    = 6
)

// rareShare bounds the words that an unknown word may be with a typing error: one in so many
// memories holds them, at most.
const rareShare = 50

// opening is the first two bytes of a term.
type opening [2]byte

func openingOf(term string) (s opening) {
	copy(s[:], term)
	return s
}

// variants returns the numbers of the terms that are likely other forms of a word, for
// each of the given terms that has any: "allergi" and "allerg", which the stemmer makes
// of "allergies" and "allergic". Without any it returns the rare words that differ by one typing
// error: "necklase" finds "necklace".
func (v *vocabulary) variants(of []string, isRare func(n int32) bool) map[string][]int32 {
	found := map[string][]int32{}
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, term := range of {
		length := utf8.RuneCountInString(term)
		if length < minVariant || strings.ContainsAny(term, "0123456789") { // one digit makes another thing
			continue
		}
		for _, n := range v.byOpening[openingOf(term)] {
			if isVariant(term, v.terms[n]) {
				found[term] = append(found[term], n)
			}
		}
		if len(found[term]) > 0 || length < minTypo || strings.ContainsFunc(term, func(c rune) bool { return !unicode.IsLetter(c) || isUnspaced(c) }) {
			continue
		}
		for second := range 256 {
			for _, n := range v.byOpening[opening{term[0], byte(second)}] {
				if other := v.terms[n]; isTypo(term, other) && isRare(n) {
					found[term] = append(found[term], n)
				}
			}
		}
	}
	return found
}

// isVariant reports whether two terms with the same first minVariant characters are
// likely forms of one word: the longer one is the shorter with up to three characters
// more, or they differ in their last two and agree in three quarters.
func isVariant(a, b string) bool {
	shared, prefix := 0, 0 // characters and bytes
	for prefix < min(len(a), len(b)) {
		x, size := utf8.DecodeRuneInString(a[prefix:])
		if y, _ := utf8.DecodeRuneInString(b[prefix:]); x != y {
			break
		}
		shared, prefix = shared+1, prefix+size
	}
	if shared < minVariant {
		return false
	}
	x, y := utf8.RuneCountInString(a[prefix:]), utf8.RuneCountInString(b[prefix:])
	if min(x, y) == 0 {
		return max(x, y) <= 3
	}
	return max(x, y) <= 2 && 4*shared >= 3*(shared+max(x, y))
}

// isTypo reports whether two words of at least minTypo letters differ by one typing error behind
// the first letter: a letter too many or too few, another letter, or two that changed places
// (Damerau, A technique for computer detection and correction of spelling errors, 1964).
func isTypo(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > utf8.UTFMax || len(a) < minTypo {
		return false
	}
	x, y := []rune(a), []rune(b)
	if len(x) < minTypo || len(y)-len(x) > 1 || len(x) > len(y) || x[0] != y[0] {
		return false
	}
	from := 0
	for from < len(x) && x[from] == y[from] {
		from++
	}
	x, y = x[from:], y[from:]
	same := func(x, y []rune) bool { return string(x) == string(y) }
	switch {
	case len(x) < len(y):
		return same(x, y[1:])
	case len(x) > 1 && x[0] == y[1] && x[1] == y[0]:
		return same(x[2:], y[2:])
	}
	return len(x) > 0 && same(x[1:], y[1:])
}
