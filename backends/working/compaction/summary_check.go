// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"regexp"
	"strings"
	"unicode"
)

// reference is what the reference of an archive looks like.
var reference = regexp.MustCompile(`\b(log-\d+(-\d+)?|a-[a-z2-7]{20})(#\d+)?\b`)

// withoutInvented takes the references out of a digest that are in nothing that
// the model was shown: it made them up.
func (d digest) withoutInvented(source string) digest {
	out := digest{}
	for part, texts := range d {
		for _, t := range texts {
			out.add(part, reference.ReplaceAllStringFunc(t, func(ref string) string {
				if strings.Contains(source, ref) {
					return ref
				}
				return ""
			}))
		}
	}
	return out
}

// Of the terms of a summary, this share must be in the messages, where both are in
// the same script: names, numbers and plain words are taken over, and a summary
// without any is not one of these messages. Of a shorter text nothing can be told.
const (
	groundedShare = 0.05
	enough        = 12 // terms
)

// grounded reports whether a digest can be of the source.
func (d digest) grounded(source string) bool {
	has := termsOf(source)
	for _, han := range []bool{false, true} {
		if len(has[han]) < enough {
			continue
		}
		said, found := 0, 0
		for _, texts := range d {
			for _, t := range texts {
				for term := range termsOf(t)[han] {
					said++
					if has[han][term] {
						found++
					}
				}
			}
		}
		if said >= enough && float64(found) < groundedShare*float64(said) {
			return false
		}
	}
	return true
}

// termsOf returns the words of at least four letters, the numbers, and the pairs
// of Han characters of a text, the latter under true.
func termsOf(s string) map[bool]map[string]bool {
	out := map[bool]map[string]bool{false: {}, true: {}}
	for _, word := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) || unicode.Is(unicode.Han, r) }) {
		if len([]rune(word)) >= 4 || strings.IndexFunc(word, unicode.IsDigit) == 0 {
			out[false][word] = true
		}
	}
	last := rune(0)
	for _, r := range s {
		if !unicode.Is(unicode.Han, r) {
			last = 0
			continue
		}
		if last != 0 {
			out[true][string([]rune{last, r})] = true
		}
		last = r
	}
	return out
}
