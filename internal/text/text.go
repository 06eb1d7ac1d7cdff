// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package text shortens, cleans, compares and counts texts: the one place for each of
// these. It stands alone: it imports no other package of this module. All functions are
// pure.
package text

import (
	_ "embed"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// Clean returns s trimmed, as valid UTF-8 and without NUL, as stores take it.
func Clean(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", ""))
}

// Rename returns s with the keys of names replaced by their values.
func Rename(s string, names map[string]string) string {
	var pairs []string
	for from, to := range names {
		pairs = append(pairs, from, to)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// HasWords reports whether s holds a letter or a digit.
func HasWords(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// Inert returns s as one line of valid UTF-8 that cannot end a fence or pose as another
// line. It drops control characters and invisible characters (zero width, text direction,
// tags). It escapes everything that looks like an angle bracket as in HTML.
func Inert(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Variation_Selector), strings.ContainsRune(blanks, r):
			return -1
		case strings.ContainsRune(openingBrackets, r):
			return '<'
		case strings.ContainsRune(closingBrackets, r):
			return '>'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return escapes.Replace(strings.Join(strings.Fields(s), " "))
}

var escapes = strings.NewReplacer("<", "&lt;", ">", "&gt;")

// The characters that look like an angle bracket. Double ones are left alone: they are
// quotation marks in several languages.
const (
	openingBrackets = "<＜﹤‹〈\u2329⟨❬❮❰⧼˂ᐸ≺≪⪡𝈶"
	closingBrackets = ">＞﹥›〉\u232a⟩❭❯❱⧽˃ᐳ≻≫⪢𝈷"
)

// blanks are the letters that are invisible.
const blanks = "\u115F\u1160\u3164\uFFA0\u2800\u034F\u17B4\u17B5"

// Bullet returns "- [id] head: said", the line by which a model is shown a memory in a note and
// in a tool's answer alike; "" for an empty text. Empty parts are left out. Code and lists keep
// their lines, indented below the first. The parts cannot break out of the line, whatever they
// hold: see [Inert].
func Bullet(id, head, said string) string {
	if said = inLines(said); said == "" {
		return ""
	}
	line := "- "
	if id = Inert(id); id != "" {
		line += "[" + strings.NewReplacer("[", "(", "]", ")").Replace(id) + "] "
	}
	if head = Inert(head); head != "" {
		line += head + ": "
	}
	return line + said
}

// layout matches a text that needs its lines: a fence of code, or two items of a list.
var layout = regexp.MustCompile("(?s)```|" + item + ".*" + item)

const item = `(?:^|\n)[ \t]*(?:[-*+•]\s|\d{1,3}[.)]\s|[\d一二三四五六七八九十]{1,3}、)`

// inLines returns s inert, as one line, or with the lines of code and lists.
func inLines(s string) string {
	if s = lineEnds.Replace(s); !layout.MatchString(s) {
		return Inert(s)
	}
	var lines []string
	for line := range strings.Lines(s) {
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		if line = Inert(line); line != "" {
			lines = append(lines, strings.Repeat(" ", min(indent, maxIndent))+line)
		}
	}
	return Indent(strings.Join(lines, "\n"), "  ")
}

// maxIndent is how far a line of code is indented, at most.
const maxIndent = 40

// Fold normalises a text for comparison alone. Two texts have the same form if they
// differ only in width, case, spaces between words and the mark at the sentence's end.
// Numbers always count, and so does a question mark.
func Fold(s string) string {
	out := make([]byte, 0, len(s))
	for _, r := range compatible(s) {
		switch {
		case 'a' <= r && r <= 'z': // most are
			out = append(out, byte(r-'a'+'A'))
		case ' ' < r && r < utf8.RuneSelf:
			out = append(out, byte(r))
		case !unicode.IsSpace(r):
			out = utf8.AppendRune(out, foldCase(r))
		case len(out) > 0 && out[len(out)-1] != ' ':
			out = append(out, ' ')
		}
	}
	return withoutFinalMark(strings.TrimSuffix(string(out), " "))
}

// compatible returns the form NFKD, in which wide letters are narrow ones, and marks
// stand behind their letters. Signs that hold a number in another form than digits in a
// row stay: a square metre differs from 2 metres, and 10² from 102.
func compatible(s string) string {
	if norm.NFKD.IsNormalString(s) {
		return s
	}
	s, _, _ = transform.String(runes.If(runes.Predicate(holdsNumber), nil, norm.NFKD), s) // it always succeeds
	return s
}

// holdsNumber reports whether a sign other than a digit becomes digits in NFKD.
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
// [strings.EqualFold] compares. So ß stays apart from ss: Maße are not Masse. A letter
// never becomes a mark: αί is not άι.
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
// question mark changes it, and so do signs that names end with.
const finalMarks = ".。!;,:、" // NFKD makes three of …

// withoutFinalMark removes marks from the last word. Marks that stand alone stay: "git
// add ." differs from "git add".
func withoutFinalMark(s string) string {
	t := strings.TrimRight(s, finalMarks)
	if t == "" || strings.HasSuffix(t, " ") {
		return s
	}
	return t
}

// Ellipsis ends a text that was truncated.
const Ellipsis = "…"

// maxWord is how many characters of a word a cut may drop: half a number or name is a
// wrong one. In scripts without spaces the cut stays where it is.
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
	return s[:RuneStart(s, n)] + Ellipsis
}

// Middle returns s with its middle left out if it has more than runes characters. Two
// thirds of the rest are from the beginning, one third from the end. The number of
// missing characters stands between them.
func Middle(s string, runes int) string {
	count := utf8.RuneCountInString(s)
	if count <= runes {
		return s
	}
	end, _ := runeEnd(s, runes-runes/3)
	from, _ := runeEnd(s, count-runes/3)
	head, tail := s[:wordEnd(s, end)], s[from:]
	if i := strings.IndexFunc(tail, unicode.IsSpace); i >= 0 && i <= maxWord && !unicode.IsSpace(rune(s[from-1])) {
		tail = tail[i+1:]
	}
	missing := count - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	return fmt.Sprintf("%s […%d…] %s", strings.TrimRightFunc(head, unicode.IsSpace), missing, tail)
}

// Ends returns a text of up to size bytes as it is. From a longer one it takes size bytes, half from
// the beginning and half from the end: a question stands before or after what was pasted with it.
func Ends(s string, size int) string {
	if len(s) <= size {
		return s
	}
	head, tail := s[:size/2], s[len(s)-size/2:]
	return strings.ToValidUTF8(head, "") + "\n" + strings.ToValidUTF8(tail, "")
}

// Fit returns s with its middle left out, as by [Middle], so that count(s) is at most
// limit; "" if even a few characters are too many. The function count is called some ten
// times.
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

// Line returns s on one line: runs of white space and control characters become one
// space, and a text of more than runes characters is truncated.
func Line(s string, runes int) string {
	fields := strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	return Truncate(strings.Join(fields, " "), runes)
}

// lineEnds are the characters at which a reader sees a new line.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Indent puts prefix in front of every line of s but the first, so each of them differs
// from the lines of the text around it.
func Indent(s, prefix string) string {
	return strings.ReplaceAll(strings.TrimSpace(lineEnds.Replace(s)), "\n", "\n"+prefix)
}

// runeEnd returns where the first n characters of s end, and whether they are all of s.
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

// RuneStart returns where the character begins that has the byte at; at itself beyond s.
func RuneStart(s string, at int) int {
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

// Divide returns s in parts, which joined are the whole s. count of each is at most
// limit, or a few tens where limit is less. It cuts between sentences if there are any,
// else between words, else between characters.
func Divide(s string, limit int, count func(string) int) []string {
	if utf8.RuneCountInString(s) < 2 || count(s) <= max(limit, minPart) {
		return []string{s}
	}
	at := middle(s)
	return append(Divide(s[:at], limit, count), Divide(s[at:], limit, count)...)
}

// middle returns where to cut a text in two non-empty parts: near its middle, and behind
// the end of a sentence if there is one.
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
	if half = RuneStart(s, half); half == 0 {
		return behind(s, 0)
	}
	return half
}

// behind returns the offset after the character at i.
func behind(s string, i int) int {
	_, size := utf8.DecodeRuneInString(s[i:])
	return i + size
}

// timeLayouts are the forms in which programs and models write times.
var timeLayouts = []string{
	time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04", "2006-01-02 15:04",
	time.DateOnly, "2006/01/02", "2006-01", "2006",
}

// Time reads a time, or the beginning of a day, a month or a year, as programs and models
// write it. It is in the zone in, unless the text names one. An unreadable time is zero.
func Time(s string, in *time.Location) time.Time {
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, s, in); err == nil && t.Year() > 0 {
			return t.UTC()
		}
	}
	return time.Time{}
}

// InOrder reports whether one list has all elements of part, in their order.
func InOrder[E comparable](part, list []E) bool {
	for _, e := range list {
		if len(part) > 0 && part[0] == e {
			part = part[1:]
		}
	}
	return len(part) == 0
}

// characters are pairs: a traditional character, and the simplified one. They are from the dictionary
// TSCharacters of OpenCC (https://github.com/BYVoid/OpenCC, Copyright 2010-2020 Carbo Kuo, Apache
// License 2.0), first choices of the block CJK Unified Ideographs.
//
//go:embed simplified.txt
var characters string

var simplify = strings.NewReplacer(strings.Split(strings.ReplaceAll(characters, "\n", ""), "")...)

// Simplified returns s with simplified characters in place of traditional ones, of as many bytes.
// Rules in simplified characters read traditional ones by it. Of 792 sentences in testdata of package
// speech, which OpenCC turned into those of Taiwan, 790 are judged as before.
func Simplified(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= firstHan }) { // most
		return s
	}
	return simplify.Replace(s)
}
