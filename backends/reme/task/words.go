// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// wordSet is what a text says without its order: its distinct words.
type wordSet map[string]struct{}

// wordsOf returns the words of a text, folded in width and case. Chinese, which
// has no spaces, counts as pairs of neighbours, and a character that stands alone
// as itself.
func wordsOf(text string) wordSet {
	set := wordSet{}
	for _, w := range split(text) {
		runes := []rune(w)
		if !unicode.Is(unicode.Han, runes[0]) || len(runes) == 1 {
			set[w] = struct{}{}
			continue
		}
		for i := range len(runes) - 1 {
			set[string(runes[i:i+2])] = struct{}{}
		}
	}
	return set
}

// split returns the runs of letters and digits of a text, and its runs of Han
// characters, in order.
func split(text string) []string {
	var out []string
	var run strings.Builder
	han := false
	flush := func() {
		if run.Len() > 0 {
			out = append(out, run.String())
			run.Reset()
		}
	}
	for _, r := range cases.Fold().String(norm.NFKC.String(text)) {
		isHan := unicode.Is(unicode.Han, r)
		switch {
		case !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r):
			flush()
			continue
		case isHan != han:
			flush()
		}
		han = isHan
		run.WriteRune(r)
	}
	flush()
	return out
}

// dice returns Dice's coefficient of two sets of words: twice what they share,
// divided by the sum of their sizes. Of two texts without words it is 0: nothing
// is known of them.
func dice(a, b wordSet) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	shared := 0
	for w := range a {
		if _, ok := b[w]; ok {
			shared++
		}
	}
	return 2 * float64(shared) / float64(len(a)+len(b))
}

// turning are the words that turn the sense of advice round, in which two texts
// may differ and look alike all the same.
var turning = map[string]bool{
	"no": true, "not": true, "never": true, "always": true, "without": true, "avoid": true, "unless": true, "don": true, "cannot": true,
	"before": true, "after": true, "only": true, "except": true, "instead": true, "rather": true, "fails": true, "succeeds": true,
	"failed": true, "succeeded": true, "failure": true, "success": true, "more": true, "less": true, "first": true, "last": true,
}

const turningHan = "不没别勿无非未莫免先后前只仅除失败成功多少"

// senseOf returns, in order, the numbers of a text and the words that turn its
// sense round.
func senseOf(text string) []string {
	var out []string
	for _, w := range split(text) {
		switch {
		case turning[w], strings.ContainsFunc(w, unicode.IsNumber):
			out = append(out, w)
		default:
			for _, r := range w {
				if strings.ContainsRune(turningHan, r) {
					out = append(out, string(r))
				}
			}
		}
	}
	return out
}

// sameSense reports whether two texts name the same numbers and turn their sense
// in the same places.
func sameSense(a, b string) bool { return slices.Equal(senseOf(a), senseOf(b)) }
