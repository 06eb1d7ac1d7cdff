// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ellipsis ends a text that was truncated.
const Ellipsis = "…"

// maxWord is how many characters of a word a cut may drop: half a number or name is
// a wrong one. Where words are not set apart by spaces, the cut stays where it is.
const maxWord = 24

// Truncate returns the first runes characters of s, ended by whole words and an
// [Ellipsis] if something is left out.
func Truncate(s string, runes int) string {
	end, whole := runeEnd(s, runes)
	if whole {
		return s
	}
	return strings.TrimRightFunc(s[:wordEnd(s, end)], unicode.IsSpace) + Ellipsis
}

// TruncateBytes returns at most n bytes of s, whole characters, and an [Ellipsis]
// behind them if something is left out.
func TruncateBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:runeStart(s, n)] + Ellipsis
}

// Middle returns s with its middle left out if it has more than runes characters:
// two thirds of what is kept are from the beginning, one third from the end. Between
// them stands how many characters are missing.
func Middle(s string, runes int) string {
	if _, whole := runeEnd(s, runes); whole {
		return s
	}
	r := []rune(s)
	head, tail := runes-runes/3, runes/3
	for i := head; i > max(head-maxWord, 0); i-- {
		if unicode.IsSpace(r[i]) {
			head = i
			break
		}
	}
	for i := len(r) - tail; i < min(len(r)-tail+maxWord, len(r)); i++ {
		if unicode.IsSpace(r[i-1]) {
			tail = len(r) - i
			break
		}
	}
	return fmt.Sprintf("%s […%d…] %s", strings.TrimRightFunc(string(r[:head]), unicode.IsSpace), len(r)-head-tail, string(r[len(r)-tail:]))
}

// Fit returns s with its middle left out, as by [Middle], so that count(s) is at most
// limit; "" if not even a few characters fit. count is called some ten times.
func Fit(s string, limit int, count func(string) int) string {
	if count(s) <= limit {
		return s
	}
	n := utf8.RuneCountInString(s)
	fits := sort.Search(n, func(keep int) bool { return count(Middle(s, keep+1)) > limit })
	for ; fits > 0; fits -= 1 + fits/16 { // a tokenizer may count less for more
		if short := Middle(s, fits); count(short) <= limit {
			return short
		}
	}
	return ""
}

// Line returns s on one line: runs of white space and control characters are one
// space, and what is more than runes characters is truncated.
func Line(s string, runes int) string {
	end, whole := runeEnd(s, 4*runes) // more is never shown
	if !whole {
		s = s[:end]
	}
	fields := strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	line := strings.Join(fields, " ")
	if whole {
		return Truncate(line, runes)
	}
	return Truncate(line+" ", min(runes, utf8.RuneCountInString(line)))
}

// lineEnds are the characters at which a reader sees a new line.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Indent puts prefix in front of every line of s but the first, so that no line of it
// poses as one of the text around it.
func Indent(s, prefix string) string {
	return strings.ReplaceAll(strings.TrimSpace(lineEnds.Replace(s)), "\n", "\n"+prefix)
}

// runeEnd returns where the first n characters of s end, and whether that is all of s.
func runeEnd(s string, n int) (end int, whole bool) {
	if len(s) <= n {
		return len(s), true
	}
	for range max(n, 0) {
		if end >= len(s) {
			return len(s), true
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return end, end >= len(s)
}

// runeStart returns where the character begins that has the byte at.
func runeStart(s string, at int) int {
	for at = max(at, 0); at > 0 && at < len(s) && !utf8.RuneStart(s[at]); at-- {
	}
	return at
}

// wordEnd returns end, or the end of the word before it if end divides a short word.
func wordEnd(s string, end int) int {
	if end >= len(s) {
		return end
	}
	if r, _ := utf8.DecodeRuneInString(s[end:]); unicode.IsSpace(r) {
		return end
	}
	at := strings.LastIndexFunc(s[:end], unicode.IsSpace)
	if at <= 0 || end-at > 2*maxWord || utf8.RuneCountInString(s[at:end]) > maxWord {
		return end
	}
	return at
}

// minPart is the smallest limit that Divide keeps to.
const minPart = 32

// Divide returns s in parts, which joined are s: nothing of a long text is left out.
// count of each is at most limit, or a few tens where limit is less. It is cut between
// sentences where there are any, else between words, else between characters.
func Divide(s string, limit int, count func(string) int) []string {
	if utf8.RuneCountInString(s) < 2 || count(s) <= max(limit, minPart) {
		return []string{s}
	}
	at := middle(s)
	return append(Divide(s[:at], limit, count), Divide(s[at:], limit, count)...)
}

// middle returns where to cut a text in two, which are not empty: near its middle, and
// behind the end of a sentence if there is one.
func middle(s string) int {
	half := len(s) / 2
	low, high := len(s)/4, len(s)-len(s)/4
	for _, ends := range []string{"\n", "。！？!?…", ".;；", " \t，,、"} {
		before := strings.LastIndexAny(s[low:half], ends)
		after := strings.IndexAny(s[half:high], ends)
		switch {
		case before >= 0 && (after < 0 || half-low-before <= after):
			return behind(s, low+before)
		case after >= 0:
			return behind(s, half+after)
		}
	}
	if half = runeStart(s, half); half == 0 {
		return behind(s, 0)
	}
	return half
}

// behind returns the place after the character at i.
func behind(s string, i int) int {
	_, size := utf8.DecodeRuneInString(s[i:])
	return i + size
}
