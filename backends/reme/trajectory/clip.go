// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/einomem/einomem/backends/working/budget"
)

// Clip returns a text of at most limit tokens: the text itself, or its beginning and
// its end with a line between them that says how many characters are left out. Only a
// limit that has no room for that line is passed. A nil counter is budget.Estimate.
func Clip(text string, limit int, counter budget.Counter) string {
	clipped, _ := clip("", text, limit, orEstimate(counter))
	return clipped
}

// clip does so with a heading that stays, and returns how many characters it left out.
func clip(head, body string, limit int, counter budget.Counter) (string, int) {
	if whole := head + body; counter.Text(whole) <= limit {
		return whole, 0
	}
	runes := []rune(body)
	keep := sort.Search(len(runes), func(n int) bool { return counter.Text(head+cut(runes, n)) > limit })
	for keep--; keep > 0; keep -= 1 + keep/16 { // a tokenizer may count less for more
		if counter.Text(head+cut(runes, keep)) <= limit {
			break
		}
	}
	keep = max(keep, 0)
	return head + cut(runes, keep), len(runes) - kept(runes, keep)
}

// tailShare is the part of what is kept that is from the end: 1 in 3.
const tailShare = 3

// cut keeps about n characters of a text: from the beginning and from the end.
func cut(runes []rune, n int) string {
	front, back := ends(runes, n)
	left := len(runes) - front - back
	var sb strings.Builder
	if front > 0 {
		sb.WriteString(strings.TrimRightFunc(string(runes[:front]), unicode.IsSpace) + "\n")
	}
	fmt.Fprintf(&sb, "[… %d of %d characters left out …]\n", left, len(runes))
	if tail := strings.TrimLeftFunc(string(runes[len(runes)-back:]), unicode.IsSpace); tail != "" {
		sb.WriteString("  " + tail)
	}
	return sb.String()
}

func kept(runes []rune, n int) int {
	front, back := ends(runes, n)
	return front + back
}

// maxWord is how many characters of a word that would be cut are let go: half a
// number or name is a wrong one.
const maxWord = 24

// ends returns how many characters to keep at both ends, at most n together: whole
// words where words are set apart.
func ends(runes []rune, n int) (front, back int) {
	n = min(n, len(runes))
	back = n / tailShare
	front = n - back
	for i := front; i > max(front-maxWord, 0) && front < len(runes); i-- {
		if unicode.IsSpace(runes[i]) {
			front = i
			break
		}
	}
	for i := len(runes) - back; i < min(len(runes)-back+maxWord, len(runes)) && back > 0; i++ {
		if i > 0 && unicode.IsSpace(runes[i-1]) {
			back = len(runes) - i
			break
		}
	}
	return front, back
}

// Line returns the beginning of a text on one line, at most n characters of it, with
// how many more there are.
func Line(text string, n int) string {
	words := strings.Join(strings.Fields(strings.Map(plain, strings.ToValidUTF8(text, "\uFFFD"))), " ")
	size := utf8.RuneCountInString(words)
	if size <= n {
		return words
	}
	return fmt.Sprintf("%s… [%d characters more]", string([]rune(words)[:n]), size-n)
}

func orEstimate(c budget.Counter) budget.Counter {
	if c == nil {
		return budget.Estimate
	}
	return c
}
