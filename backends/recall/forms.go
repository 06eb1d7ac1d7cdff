// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A word may have several forms: with and without accents, whole and in parts, in traditional and
// in simplified characters. One of them is the term by which texts meet. The others stand beside
// it: they count half, and a query attains its best score without them.

// hasHan reports whether a text has Chinese characters.
func hasHan(text string) bool {
	return !isASCII(text) && strings.ContainsFunc(text, func(c rune) bool { return unicode.Is(unicode.Han, c) })
}

// letters are Latin and Cyrillic letters that do not decompose into a letter and an accent.
var letters = strings.NewReplacer("ø", "o", "ł", "l", "đ", "d", "ħ", "h", "ı", "i", "æ", "ae", "œ", "oe", "ð", "d", "þ", "th", "ё", "е")

// plain returns a folded word without its accents. Only Latin and Greek letters lose theirs: in
// other scripts a mark makes another letter.
func plain(word string) string {
	var out strings.Builder
	accented := false // the letter before
	for _, c := range norm.NFD.String(word) {
		if !unicode.Is(unicode.Mn, c) {
			accented = unicode.In(c, unicode.Latin, unicode.Greek)
		} else if accented {
			continue
		}
		out.WriteRune(c)
	}
	return letters.Replace(norm.NFC.String(out.String()))
}

// word adds the word at text[from:to] and what stands beside it. A number of several groups, such
// as 138-0013-8000, is one term with its groups beside it: run is the end of the number under way.
func (r *reader) word(text string, from, to, run int) int {
	word := text[from:to]
	switch first, last := isDigit(word[0]), isDigit(word[len(word)-1]); {
	case from < run:
		r.part(word)
	case !isASCII(word):
		r.add(word, true)
		r.accented(word)
	case !first && !last:
		if sign := sign(text, from, to); sign == "" {
			r.add(word, true)
		} else {
			r.add(sign, true)
			r.part(word)
		}
	case first && last:
		if number, end := grouped(text, from); number != "" {
			r.add(number, true)
			r.part(word)
			return end
		}
		r.add(word, true)
	default: // BA249, iPhone15, 10km
		r.add(word, true)
		if at := strings.IndexFunc(word, func(c rune) bool { return isDigit(byte(c)) != first }); oneSort(word[at:]) {
			r.part(word[:at])
			r.part(word[at:])
		}
	}
	return run
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// oneSort reports whether a word has digits alone, or letters alone.
func oneSort(word string) bool {
	return !strings.ContainsFunc(word, func(c rune) bool { return classOf(c) != classOf(rune(word[0])) })
}

// part adds a part of a word beside it. A single character says too little.
func (r *reader) part(word string) {
	if len(word) == 1 {
		return
	}
	if n := r.find(word, true); n != noTerm {
		r.beside = append(r.beside, n)
	}
}

// accented adds the term of a word with its accents, if it has any.
func (r *reader) accented(word string) {
	folded := r.fold.String(word)
	if len(folded) <= maxTerm && plain(folded) != folded {
		r.beside = append(r.beside, r.vocabulary.number(folded))
	}
}

// sign returns a short name with its sign, as in C#, C++ and .NET, or "".
func sign(text string, from, to int) string {
	word, after := text[from:to], text[to:]
	switch {
	case len(word) == 1 && strings.HasPrefix(after, "++"):
		return word + "++"
	case len(word) == 1 && strings.HasPrefix(after, "#"):
		return word + "#"
	case strings.EqualFold(word, "net") && from > 0 && text[from-1] == '.' && (from == 1 || text[from-2] >= utf8.RuneSelf || classOf(rune(text[from-2])) == separator):
		return "." + word
	}
	return ""
}

// fewestDigits is how many digits make one number of several groups: fewer are a score or a date.
const fewestDigits = 7

// grouped returns the digits of the number that begins in a text, without the hyphens between its
// groups, and its end. Dates and spans of years stay apart.
func grouped(text string, from int) (number string, end int) {
	end = from
	for end < len(text) && (isDigit(text[end]) || text[end] == '-' && isDigit(text[end-1]) && end+1 < len(text) && isDigit(text[end+1])) {
		end++
	}
	groups := strings.Split(text[from:end], "-")
	number = strings.Join(groups, "")
	isDate := slices.ContainsFunc(groups, func(g string) bool { return len(g) == 4 && (g[:2] == "19" || g[:2] == "20") })
	if len(groups) == 1 || len(number) < fewestDigits || isDate && len(number) <= fewestDigits+1 {
		return "", 0
	}
	return number, end
}
