// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxTerm = 256 // bytes

// analyzer turns text into index terms. One analyzer serves documents and
// queries, so that both sides meet. It is safe for concurrent use; the work is
// done by a reader.
//
// Words are the words of UAX #29, width-folded (NFKC), case-folded, without the
// words of the stop list of their language, and stemmed. Scripts without spaces
// between words have no boundaries to split at, and Hangul glues particles to its
// words: there each character is a term, and each pair of neighbours.
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

// bag is an analysed text: its distinct terms in order of first appearance.
type bag struct {
	terms  []string
	counts []int32
	length int32
}

// bag returns the distinct terms of text with their counts. A reader that is nil
// is a new one.
func (a *analyzer) bag(text string, r *reader) bag {
	if r == nil {
		r = newReader(a, newVocabulary())
	}
	t := r.tally(r.read(text))
	b := bag{terms: make([]string, len(t.terms)), counts: make([]int32, len(t.terms)), length: t.length}
	for i, c := range t.terms {
		b.terms[i], b.counts[i] = r.vocabulary.names[c.term], c.count
	}
	return b
}

// term returns the term of a folded word, and false for one that is in the stop
// list of its language.
func (a *analyzer) term(word string) (string, bool) {
	if len(word) > maxTerm { // a checksum, an encoded file: its beginning tells it apart
		word = strings.ToValidUTF8(word[:maxTerm], "")
	}
	word = strings.TrimLeft(word, " \t") // to which a mark without a letter clings
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
// between them. It calls emit for each part word[start:end].
func splitWord(word string, emit func(start, end, kind int)) {
	start, kind := 0, separator
	for i, r := range word {
		k := kindOf(r, word[:i])
		if k == kind {
			continue
		}
		if kind != separator {
			emit(start, i, kind)
		}
		start, kind = i, k
	}
	if kind != separator {
		emit(start, len(word), kind)
	}
}

// The kinds of characters in a word of UAX #29.
const (
	separator = iota
	lettering
	character // of a script without spaces
)

func kindOf(r rune, before string) int {
	switch {
	case unspaced(r):
		return character
	case r == '_' || r == ':':
		return separator
	case r == '.' || r == ',' || r == ';':
		if last, _ := utf8.DecodeLastRuneInString(before); unicode.IsDigit(last) {
			return lettering
		}
		return separator
	}
	return lettering
}

// unspaced reports whether r is of a script that is not written as words between
// spaces, or of Hangul.
func unspaced(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r >= 0x4E00 && r <= 0x9FFF: // nearly all Han characters
		return true
	}
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer)
}
