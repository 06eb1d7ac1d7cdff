// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"github.com/einomem/einomem/backends"
)

// reader analyses texts one after the other. It remembers the terms of the words
// that it met, which saves most of the time of a load. It is not safe for
// concurrent use.
type reader struct {
	analyzer   *analyzer
	vocabulary *vocabulary
	words      wordTable          // short word → number of its term, or noTerm
	stretches  map[string][]int32 // stretch with more than ASCII → numbers of its terms
	wide       wideReader

	sequence []int32     // the terms of the text that was read last
	counted  []termCount // of the texts that were tallied
	places   []int32     // number → where in counted it was counted last
}

const (
	// maxStretch is how long, in bytes, a stretch is that a reader remembers.
	maxStretch = 64
	// maxStretches is how many it remembers before it forgets all.
	maxStretches = 1 << 15
)

func newReader(a *analyzer, v *vocabulary) *reader {
	return &reader{analyzer: a, vocabulary: v, stretches: map[string][]int32{}, wide: wideReader{fold: cases.Fold()}}
}

// read returns the numbers of the terms of the texts in order, repeats included.
// They are valid until the next call.
func (r *reader) read(texts ...string) []int32 {
	r.sequence = r.sequence[:0]
	for _, text := range texts {
		r.text(text)
	}
	return r.sequence
}

// memory reads the text of a memory: that of IndexText, whose lines are stretches
// of their own.
func (r *reader) memory(m *backends.Memory) []int32 {
	return r.read(m.Origin.Speaker, spokenDate(m), m.WhenToUse, m.WhenToUse, m.Text)
}

// text reads on. Where a text is not ASCII alone, white space parts the stretches
// that are from those that are not: no word, no folding and no pair of neighbours
// reaches across it.
func (r *reader) text(text string) {
	if isASCII(text) {
		r.ascii(text)
		return
	}
	for len(text) > 0 {
		end := strings.IndexAny(text, " \n\t\r") + 1
		if end == 0 {
			end = len(text)
		}
		switch stretch := text[:end]; {
		case isASCII(stretch):
			r.ascii(stretch)
		case isHanText(stretch):
			r.han(stretch)
		default:
			r.stretch(stretch)
		}
		text = text[end:]
	}
}

func isASCII(s string) bool {
	var all byte
	for i := range len(s) {
		all |= s[i]
	}
	return all < utf8.RuneSelf
}

// stretch reads what has characters of any sort in it.
func (r *reader) stretch(text string) {
	if numbers, ok := r.stretches[text]; ok {
		r.sequence = append(r.sequence, numbers...)
		return
	}
	start := len(r.sequence)
	r.wide.read(text, r)
	if len(text) > maxStretch {
		return
	}
	if len(r.stretches) >= maxStretches {
		clear(r.stretches)
	}
	r.stretches[strings.Clone(text)] = slices.Clone(r.sequence[start:])
}

// word notes the term of a folded word.
func (r *reader) word(word string) {
	if term, ok := r.analyzer.term(word); ok {
		r.term(term)
	}
}

func (r *reader) term(term string) { r.note(r.vocabulary.number(term)) }

func (r *reader) note(number int32) {
	if number != noTerm {
		r.sequence = append(r.sequence, number)
	}
}

// tally is an analysed text: its distinct terms in order of first appearance.
type tally struct {
	terms  []termCount // by the numbers of a vocabulary
	length int32       // terms, repeats included
}

// tally counts the terms of a text. What it returns is valid until counted is cut.
func (r *reader) tally(sequence []int32) tally {
	start := len(r.counted)
	for _, n := range sequence {
		for int(n) >= len(r.places) {
			r.places = append(r.places, 0)
		}
		at := int(r.places[n])
		if at < start || at >= len(r.counted) || r.counted[at].term != n {
			at = len(r.counted)
			r.places[n] = int32(at)
			r.counted = append(r.counted, termCount{term: n})
		}
		r.counted[at].count++
	}
	return tally{terms: r.counted[start:], length: int32(len(sequence))}
}

// settle moves the terms that were tallied for entries into memory of their own,
// which is just large enough.
func (r *reader) settle(entries []entry) {
	own := slices.Clone(r.counted)
	for i := range entries {
		t := &entries[i].text
		n := len(t.terms)
		t.terms, own = own[:n:n], own[n:]
	}
}
