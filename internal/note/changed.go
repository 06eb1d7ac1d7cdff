// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package note

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/einomem/einomem/internal/text"
)

// changed returns the part of an old statement that the new one replaced. It is the replaced
// words, as "Beijing" of "lives in Beijing" and "lives in Shanghai", if they are whole and
// make sense alone; else the whole old statement. It is empty if the new statement has all
// of the old one: a list that grew replaced nothing.
func changed(old, new string) string {
	old = strings.TrimRight(strings.TrimSpace(old), ".。!！")
	if strings.ContainsFunc(old+new, isUnspaced) {
		if text.InOrder([]rune(strings.NewReplacer("和", "", "、", "", "，", "", "与", "", "及", "").Replace(old)), []rune(new)) {
			return ""
		}
		return predicate(old)
	}
	a, b := strings.Fields(old), strings.Fields(new)
	from, to := replaced(a, b)
	if from < 0 {
		return ""
	}
	alike := from
	if from > 0 && conjunctions.MatchString(a[from-1]) {
		alike--
	}
	if isComplement(a, to) && shared(a, b) >= max(alike, leastShared) {
		return strings.Trim(strings.Join(a[from:to], " "), ",;")
	}
	return predicate(old)
}

// isUnspaced reports the letters of scripts that write words without spaces.
func isUnspaced(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// leastShared is how many words two statements must begin with alike before only the rest is
// shown: a subject and a verb.
const leastShared = 3

var (
	conjunctions = regexp.MustCompile(`(?i)^(?:and|or|&|also)$`)
	negations    = regexp.MustCompile(`(?i)^(?:not|no|never|only|.*n't)$`)
	follows      = regexp.MustCompile(`(?i)^(?:and|or|but|with|in|at|on|for|since|until|from|to|near|because|as|by)$`)
)

// replaced returns the range of the words of a that b lacks, with the words between them;
// from is -1 if b has them all. Conjunctions are left out.
func replaced(a, b []string) (from, to int) {
	from = -1
	for i, w := range a {
		same := func(other string) bool { return text.Fold(other) == text.Fold(w) }
		if slices.ContainsFunc(b, same) || conjunctions.MatchString(w) {
			continue
		}
		if from < 0 {
			from = i
		}
		to = i + 1
	}
	for from > 1 && isName(a[from]) && isName(a[from-1]) { // New York, of New Delhi
		from--
	}
	return from, to
}

func isName(w string) bool { return unicode.IsUpper([]rune(w)[0]) }

// isComplement reports whether words of a statement that end at an offset make sense alone.
// They must end the statement, or a new part follows, and no negation may stand before.
func isComplement(a []string, to int) bool {
	ends := to == len(a) || strings.HasSuffix(a[to-1], ",") || follows.MatchString(a[to])
	return ends && !slices.ContainsFunc(a[:to], negations.MatchString)
}

// shared returns how many words two statements begin with alike.
func shared(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && text.Fold(a[n]) == text.Fold(b[n]) {
		n++
	}
	return n
}
