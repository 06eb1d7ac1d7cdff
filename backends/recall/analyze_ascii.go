// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import "strings"

// class is what an ASCII character means for the words of UAX #29.
type class byte

const (
	other class = iota
	letter
	digit
	quote // joins letters, or digits
	point // joins digits; between letters it parts names
)

var classes = func() (table [128]class) {
	for c := range table {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			table[c] = letter
		case c >= '0' && c <= '9':
			table[c] = digit
		case c == '\'':
			table[c] = quote
		case c == '.' || c == ',' || c == ';':
			table[c] = point
		}
	}
	return table
}()

// ascii notes the terms of a text of ASCII characters. It does what wideReader
// does in one pass: of the rules of UAX #29 few concern ASCII, and the colons, the
// underscores and the points between letters, which join words there, part them
// again in splitWord.
func (r *reader) ascii(text string) {
	for start := 0; start < len(text); start++ {
		if k := classes[text[start]&0x7f]; k < letter || k > digit {
			continue
		}
		end := asciiWord(text, start)
		if end-start > maxShort {
			r.word(strings.ToLower(text[start:end]))
		} else {
			r.short(text, start, end)
		}
		start = end
	}
}

// asciiWord returns the end of the word that begins at start.
func asciiWord(text string, start int) int {
	for end := start; end < len(text); end++ {
		if k := classes[text[end]&0x7f]; k >= letter && k <= digit {
			continue
		} else if k == other || end+1 == len(text) || !joins(k, classes[text[end-1]&0x7f], classes[text[end+1]&0x7f]) {
			return end
		}
	}
	return len(text)
}

// short notes the term of the word text[start:end] of at most maxShort characters.
func (r *reader) short(text string, start, end int) {
	key := keyOf(text, start, end)
	number, ok := r.words.get(key)
	if !ok {
		number = noTerm
		if term, indexed := r.analyzer.term(strings.ToLower(text[start:end])); indexed {
			number = r.vocabulary.number(term)
		}
		r.words.put(key, number)
	}
	r.note(number)
}

// joins reports whether a character between two others makes them one word.
func joins(k, before, after class) bool {
	switch k {
	case quote:
		return before == after && (before == letter || before == digit)
	case point:
		return before == digit && after == digit
	}
	return false
}
