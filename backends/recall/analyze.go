// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/segment"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const maxTerm = 256 // bytes

// analyzer turns text into index terms. One analyzer serves documents and
// queries, so that both sides meet. It is safe for concurrent use.
type analyzer struct {
	languages []language
}

func newAnalyzer() (*analyzer, error) {
	languages, err := loadLanguages()
	if err != nil {
		return nil, err
	}
	return &analyzer{languages: languages}, nil
}

// memo remembers the terms of words that were met before. It saves most of the
// time of a load, and is not safe for concurrent use. Nil remembers nothing.
type memo map[string][]string

// terms calls emit for each term of text, in order, repeats included. Words are
// the words of UAX #29, width-folded (NFKC), case-folded, without the words of the
// stop list of their language, and stemmed. Scripts without spaces between words
// have no boundaries to split at, and Hangul glues particles to its words: there
// each character is a term, and each pair of neighbours.
func (a *analyzer) terms(text string, known memo, emit func(term string)) {
	folded := cases.Fold().String(norm.NFKC.String(strings.ToValidUTF8(text, " ")))
	var run unspacedRun
	words := segment.NewWordSegmenterDirect([]byte(folded))
	for words.Segment() {
		terms, ok := known[string(words.Bytes())]
		if !ok {
			word := string(words.Bytes())
			if strings.ContainsFunc(word, unspaced) {
				a.word(word, &run, emit)
				continue
			}
			if words.Type() != segment.None {
				a.word(word, &unspacedRun{}, func(term string) { terms = append(terms, term) })
			}
			if known != nil {
				known[word] = terms
			}
		}
		run.flush(emit)
		for _, term := range terms {
			emit(term)
		}
	}
	run.flush(emit)
}

// word emits the terms of one word of UAX #29.
func (a *analyzer) word(word string, run *unspacedRun, emit func(term string)) {
	for _, part := range splitWord(word) {
		if r, _ := utf8.DecodeRuneInString(part); unspaced(r) {
			run.add(part)
			continue
		}
		run.flush(emit)
		if term, ok := a.term(part); ok {
			emit(term)
		}
	}
}

// bag returns the distinct terms of text with their counts.
func (a *analyzer) bag(text string, known memo) bag {
	var b bag
	at := map[string]int{}
	a.terms(text, known, func(term string) {
		b.length++
		i, seen := at[term]
		if !seen {
			i = len(b.terms)
			at[term] = i
			b.terms, b.counts = append(b.terms, term), append(b.counts, 0)
		}
		b.counts[i]++
	})
	return b
}

// term returns the term of a folded word, and false for one that is in the stop
// list of its language.
func (a *analyzer) term(word string) (string, bool) {
	if len(word) > maxTerm { // a checksum, an encoded file: its beginning tells it apart
		word = strings.ToValidUTF8(word[:maxTerm], "")
	}
	word = strings.ReplaceAll(word, "’", "'")
	word = strings.Trim(strings.TrimSuffix(word, "'s"), "'")
	r, _ := utf8.DecodeRuneInString(word)
	for i := range a.languages {
		if l := &a.languages[i]; unicode.Is(l.script, r) {
			if l.stop[word] {
				return "", false
			}
			return l.stemmed(word), true
		}
	}
	return word, word != ""
}

// splitWord cuts a word of UAX #29 where it joins what belongs apart: Hangul and
// Latin, the parts of a dotted or underscored name, sentences without a space
// between them.
func splitWord(word string) []string {
	var parts []string
	start, kind := 0, -1
	for i, r := range word {
		k := kindOf(r, word[:i])
		if k == kind {
			continue
		}
		if kind > 0 {
			parts = append(parts, word[start:i])
		}
		start, kind = i, k
	}
	if kind > 0 {
		parts = append(parts, word[start:])
	}
	return parts
}

// kindOf returns 0 for a separator, 1 for part of a word, 2 for a character of a
// script without spaces.
func kindOf(r rune, before string) int {
	switch {
	case unspaced(r):
		return 2
	case r == '_' || r == ':':
		return 0
	case r == '.' || r == ',' || r == ';':
		if last, _ := utf8.DecodeLastRuneInString(before); unicode.IsDigit(last) {
			return 1
		}
		return 0
	}
	return 1
}

// unspaced reports whether r is of a script that is not written as words between
// spaces, or of Hangul.
func unspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer) || r == 'ー'
}

// unspacedRun collects neighbouring characters.
type unspacedRun struct{ chars []string }

func (u *unspacedRun) add(part string) {
	for _, r := range part {
		u.chars = append(u.chars, string(r))
	}
}

// flush emits the characters and their pairs, and forgets them.
func (u *unspacedRun) flush(emit func(string)) {
	for i, s := range u.chars {
		emit(s)
		if i > 0 {
			emit(u.chars[i-1] + s)
		}
	}
	u.chars = u.chars[:0]
}
