// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// folded finds s in any case, as strings.EqualFold compares: without copying the
// text, whose lower case may have other lengths.
func folded(s string) pattern {
	first, _ := utf8.DecodeRuneInString(s)
	forms := formsOf(first)
	return func(ctx context.Context, text string) func(int) (int, int, bool) {
		next := make([]int, len(forms)) // where each form of the first character is next
		for i := range next {
			next[i] = -1
		}
		return func(from int) (int, int, bool) {
			for tried := 1; tried%1024 != 0 || ctx.Err() == nil; tried++ {
				at := len(text)
				for i, form := range forms {
					if next[i] < from {
						next[i] = indexFrom(text, form, from)
					}
					at = min(at, next[i])
				}
				if at == len(text) {
					return 0, 0, false
				}
				if n := foldPrefix(text[at:], s); n > 0 {
					return at, at + n, true
				}
				from = at + 1
			}
			return 0, 0, false
		}
	}
}

// formsOf returns a character in all its cases.
func formsOf(r rune) []string {
	forms := []string{string(r)}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		forms = append(forms, string(f))
	}
	return forms
}

func indexFrom(text, s string, from int) int {
	if i := strings.Index(text[from:], s); i >= 0 {
		return from + i
	}
	return len(text)
}

// foldPrefix returns how many bytes of text are s in whatever case, or 0.
func foldPrefix(text, s string) int {
	n := 0
	for _, want := range s {
		if n == len(text) {
			return 0
		}
		got, size := utf8.DecodeRuneInString(text[n:])
		if got != want && !sameLetter(got, want) {
			return 0
		}
		n += size
	}
	return n
}

func sameLetter(a, b rune) bool {
	for f := unicode.SimpleFold(a); f != a; f = unicode.SimpleFold(f) {
		if f == b {
			return true
		}
	}
	return false
}
