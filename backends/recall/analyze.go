// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/ar"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/porter"
	"github.com/blevesearch/snowballstem/russian"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// reader turns texts into index terms. It splits a text into the words of UAX #29 and folds their
// width (NFKC) and case. Then it drops the stop words of their language and stems the rest. Some
// scripts have no spaces between words, and Hangul attaches particles to its words: there each
// character is a term, and each pair of neighbours. A reader treats queries and memories alike, so
// that both meet.
//
// A reader remembers the term of each word that it met, which saves most of the time of a load. It
// is not safe for concurrent use.
type reader struct {
	analyzer   *analyzer
	vocabulary *vocabulary
	fold       cases.Caser
	short      map[uint64]int32 // text of up to eight bytes, packed → number of its term, or noTerm
	long       map[string]int32 // the same for longer ones, which are few

	sequence []int32     // the terms of the text under way
	beside   []int32     // other forms of them: see words.go
	counted  []termCount // the same, counted
	cells    []int32     // hash table of count: 1 + where in counted a term is; 0: empty
}

// mostRemembered is how many terms a reader of single texts remembers before it begins anew.
const mostRemembered = 4096

// count returns the distinct terms of texts in order of first appearance, and how many there
// are with repeats.
func (a *analyzer) count(texts ...string) (terms []queryTerm, length int) {
	return a.counted(func(r *reader) bag { return r.read(texts...) })
}

// counted counts the terms of the bag that read makes with one of the readers.
func (a *analyzer) counted(read func(*reader) bag) (terms []queryTerm, length int) {
	r, _ := a.readers.Get().(*reader)
	if r == nil || len(r.vocabulary.terms) > mostRemembered {
		r = newReader(a, newVocabulary())
	}
	defer a.readers.Put(r)
	found := read(r)
	terms = make([]queryTerm, 0, len(found.terms)+len(r.beside))
	known := make(map[int32]bool, cap(terms))
	for _, t := range found.terms {
		known[t.term] = true
		terms = append(terms, queryTerm{text: r.vocabulary.terms[t.term], count: float64(t.count)})
	}
	for _, n := range r.beside {
		if !known[n] {
			known[n] = true
			terms = append(terms, queryTerm{text: r.vocabulary.terms[n], count: besideWeight, beside: true})
		}
	}
	return terms, int(found.length)
}

// noTerm is the number of a word that stays out of the index.
const noTerm = -1

func newReader(a *analyzer, v *vocabulary) *reader {
	return &reader{analyzer: a, vocabulary: v, fold: cases.Fold(), short: map[uint64]int32{}, long: map[string]int32{}}
}

// termCount is a term of a text, by its number, and how often it occurs there.
type termCount struct{ term, count int32 }

// bag is an analysed text: its distinct terms in order of first appearance. The bag of a memory
// counts in halves.
type bag struct {
	terms  []termCount
	length int32 // terms, repeats included
}

// whole is how many halves a term counts, unless it is a keyword.
const whole = 2

// indexed returns the texts of a memory that a search looks at: who said it, when it was said, when
// it helps, and what it says. WhenToUse counts twice: a question describes the situation that its
// author is in, and resembles a description of that situation more than it resembles the advice.
// The date counts half, and so do the keywords of a fact, which only stand for other words of it.
func indexed(m *backends.Memory) (texts, halves []string) {
	if m.Kind.Traits().Keywords {
		return []string{m.Origin.Speaker, theUser.ReplaceAllString(m.Text, "")}, []string{spokenDate(m), m.WhenToUse}
	}
	return []string{m.Origin.Speaker, m.WhenToUse, m.WhenToUse, m.Text}, []string{spokenDate(m)}
}

// theUser opens most facts, and is cut off: a query that asks about users asks for others.
var theUser = regexp.MustCompile(`^(?:The user(?:'s)? |用户)`)

// memory analyses the searched texts of a memory, and counts them in halves.
func (r *reader) memory(m *backends.Memory) bag {
	texts, halves := indexed(m)
	r.scan(texts...)
	full := len(r.sequence)
	r.more(halves...)
	r.sequence, r.beside = append(r.sequence, r.beside...), r.beside[:0]
	return r.count(full)
}

// spokenDate returns the month in which a memory was observed, in UTC and as a question would name
// it. A text with Han characters also gets it in Chinese. It leaves out the day: "17 times 23"
// would find what was said on a 23rd. Days belong to the signal dates. The result is empty where
// the time is unknown, and for timeless kinds: see [backends.KindTraits].
func spokenDate(m *backends.Memory) string {
	if m.Kind.Traits().Timeless || m.Observed.IsZero() {
		return ""
	}
	at := m.Observed.UTC()
	date := at.Format("January 2006")
	if hasHan(m.Text) {
		date += "\n" + at.Format("1月")
	}
	return date
}

// read analyses texts as one.
func (r *reader) read(texts ...string) bag {
	r.scan(texts...)
	return r.count(0)
}

// scan sets the sequence to the terms of texts, in order.
func (r *reader) scan(texts ...string) {
	r.sequence, r.beside = r.sequence[:0], r.beside[:0]
	r.more(texts...)
}

// more adds the terms of texts to the sequence.
func (r *reader) more(texts ...string) {
	for _, s := range texts {
		if isASCII(s) {
			r.folded(s)
			continue
		}
		for stretch := range strings.FieldsSeq(s) { // mostly ASCII
			r.folded(text.Simplified(norm.NFKC.String(stretch)))
		}
	}
}

func isASCII(s string) bool {
	var all byte
	for i := range len(s) {
		all |= s[i]
	}
	return all < utf8.RuneSelf
}

// count counts the terms of the sequence, each of the first so many as [whole], the rest as one.
// Its hash table has more than twice as many cells. The numbers of terms serve as hashes, because
// frequent terms have small numbers.
func (r *reader) count(full int) bag {
	size := 1 << bits.Len(uint(2*len(r.sequence)))
	r.cells = slices.Grow(r.cells[:0], size)[:size]
	clear(r.cells)
	r.counted = r.counted[:0]
	for i, n := range r.sequence {
		at := int(n) & (size - 1)
		for r.cells[at] != 0 && r.counted[r.cells[at]-1].term != n {
			at = (at + 1) & (size - 1)
		}
		if r.cells[at] == 0 {
			r.counted = append(r.counted, termCount{term: n})
			r.cells[at] = int32(len(r.counted))
		}
		if r.counted[r.cells[at]-1].count++; i < full {
			r.counted[r.cells[at]-1].count += whole - 1
		}
	}
	return bag{terms: slices.Clone(r.counted), length: int32(len(r.sequence) + (whole-1)*full)}
}

// folded adds the terms of a text whose width is folded, in order. It finds the words that UAX #29
// finds in ordinary text, in one pass for all scripts. It divides names at the points, colons and
// underscores by which UAX #29 joins them.
func (r *reader) folded(text string) {
	word, before, run := -1, -1, 0 // where the word under way begins, and the character before (-1: none); see word
	var size int
	for at := 0; at < len(text); at += size {
		c := rune(text[at])
		if size = 1; c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(text[at:])
		}
		class := classOf(c)
		if class == letter || class == digit || word >= 0 && (class == mark || joins(c, text[:at], text[at+size:])) {
			if word < 0 {
				word, before = at, -1
			}
			continue
		}
		if word >= 0 {
			run = r.word(text, word, at, run)
			word = -1
		}
		if class != character {
			before = -1
			continue
		}
		r.add(text[at:at+size], false)
		if before >= 0 {
			r.add(text[before:at+size], false)
		}
		before = at
	}
	if word >= 0 {
		r.word(text, word, len(text), run)
	}
}

// add adds the term of a word, or one or two characters, which are terms as they are.
func (r *reader) add(text string, isWord bool) {
	if n := r.find(text, isWord); n != noTerm {
		r.sequence = append(r.sequence, n)
	}
}

// find returns the number of the term, or noTerm.
func (r *reader) find(text string, isWord bool) int32 {
	var n int32
	var known bool
	if len(text) <= 8 {
		var b [8]byte
		copy(b[:], text)
		key := binary.LittleEndian.Uint64(b[:]) // no word has a zero byte
		if n, known = r.short[key]; !known {
			n = r.number(text, isWord)
			r.short[key] = n
		}
	} else if n, known = r.long[text]; !known {
		n = r.number(text, isWord)
		r.long[strings.Clone(text)] = n // it may be a part of a long text
	}
	return n
}

func (r *reader) number(text string, isWord bool) int32 {
	term := text
	switch {
	case isWord && isASCII(text):
		term = r.analyzer.term(strings.ToLower(text))
	case isWord:
		term = r.analyzer.term(r.fold.String(text))
	}
	if term == "" {
		return noTerm
	}
	return r.vocabulary.number(term)
}

// class is what a character means for the words of a text.
type class byte

const (
	separator class = iota
	letter
	digit
	mark      // continues a word
	character // of a script that writes words together, or of Hangul
)

func classOf(c rune) class {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return letter
	case c >= '0' && c <= '9':
		return digit
	case c < utf8.RuneSelf:
		return separator
	case isUnspaced(c):
		return character
	case unicode.IsLetter(c):
		return letter
	case unicode.IsNumber(c):
		return digit
	case unicode.In(c, unicode.M, unicode.Cf):
		return mark
	}
	return separator
}

// isUnspaced reports whether c is of a script that writes its words together, or of Hangul.
func isUnspaced(c rune) bool {
	switch {
	case c < 0x0E00:
		return false
	case c >= 0x4E00 && c <= 0x9FFF: // nearly all Han characters
		return true
	}
	return c == 'ー' || unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer)
}

// joins reports whether a character makes what stands before and after it one word:
// an apostrophe between letters, a point between digits.
func joins(c rune, before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	from, to := classOf(last), classOf(next)
	switch c {
	case '\'', '’', '·':
		return to == letter && from != digit || to == digit && from == digit
	case '.', ',', ';':
		return to == digit && from == digit
	case '"': // in acronyms
		return unicode.Is(unicode.Hebrew, last) && unicode.Is(unicode.Hebrew, next)
	}
	return false
}

// maxTerm is the longest term in bytes. A longer word (a checksum, an encoded file) counts by its
// beginning.
const maxTerm = 256

// analyzer maps words to index terms. It is safe for concurrent use.
type analyzer struct {
	languages []language
	groups    map[string][]string // see related
	light     map[string]bool     // terms of light and of months
	months    []string            // terms
	readers   sync.Pool           // of *reader, for count
}

// language says which words of one script are stop words and how its words are stemmed. The script
// alone decides the language: a question is too short to guess by, and a wrong guess on one side
// only would keep a question from its answer. So Latin text gets the stems of English (Porter 1980)
// and Cyrillic text the stems of Russian. Words of scripts that are missing here stay as they are.
type language struct {
	script *unicode.RangeTable
	stop   analysis.TokenMap
	stem   func(*snowballstem.Env) bool
}

func newAnalyzer() (*analyzer, error) {
	a := &analyzer{languages: []language{
		{unicode.Latin, analysis.NewTokenMap(), porter.Stem},
		{unicode.Cyrillic, analysis.NewTokenMap(), russian.Stem},
		{unicode.Arabic, analysis.NewTokenMap(), arabic.Stem},
	}}
	for i, words := range [][]byte{en.EnglishStopWords, ru.RussianStopWords, ar.ArabicStopWords} {
		if err := a.languages[i].stop.LoadBytes(words); err != nil {
			return nil, fmt.Errorf("recall: reading a list of stop words: %w", err)
		}
	}
	a.groups, a.light, a.months = a.relate(), map[string]bool{}, a.terms(months)
	for _, term := range append(a.terms(light), a.months...) {
		a.light[term] = true
	}
	return a, nil
}

// term returns the term of a folded word, without accents, empty for a stop word of its language.
func (a *analyzer) term(word string) string {
	if len(word) > maxTerm {
		word = strings.ToValidUTF8(word[:maxTerm], "")
	}
	if !isASCII(word) {
		word = plain(strings.ReplaceAll(word, "’", "'"))
	}
	word = strings.Trim(strings.TrimSuffix(word, "'s"), "'")
	first, _ := utf8.DecodeRuneInString(word)
	for i := range a.languages {
		if l := &a.languages[i]; unicode.Is(l.script, first) {
			if l.stop[word] {
				return ""
			}
			return l.stemmed(word)
		}
	}
	return word
}

// stemmed returns the stem of a folded word.
func (l *language) stemmed(word string) string {
	env := snowballstem.NewEnv(word)
	l.stem(env)
	if stem := env.Current(); stem != "" {
		return stem
	}
	return word
}
