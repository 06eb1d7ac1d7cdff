// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/segment"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// wideReader analyses text of any characters.
type wideReader struct {
	fold  cases.Caser
	bytes []byte
	words [][]byte
	types []int
	run   run
}

// run are neighbouring characters of scripts without spaces.
type run struct{ chars []extent }

// extent is where a character stands in the folded text.
type extent struct{ start, end int }

// read notes the terms of text with r, in order.
func (w *wideReader) read(text string, r *reader) {
	folded := w.fold.String(norm.NFKC.String(strings.ToValidUTF8(text, " ")))
	w.bytes = append(w.bytes[:0], folded...)
	// Whatever it cannot read ends the text, as it does everywhere.
	w.words, w.types, _, _ = segment.SegmentWordsDirect(w.bytes, w.words[:0], w.types[:0])
	at := 0
	for i, word := range w.words {
		w.word(folded, at, at+len(word), w.types[i] != segment.None, r)
		at += len(word)
	}
	w.run.flush(folded, r)
}

// word notes the terms of one word of UAX #29, folded[start:end].
func (w *wideReader) word(folded string, start, end int, isWord bool, r *reader) {
	word := folded[start:end]
	isUnspaced := strings.ContainsFunc(word, unspaced)
	if !isUnspaced {
		w.run.flush(folded, r)
		if !isWord {
			return
		}
	}
	splitWord(word, func(from, to int, k int) {
		if k == character {
			w.run.add(folded, start+from, start+to)
			return
		}
		w.run.flush(folded, r)
		r.word(word[from:to])
	})
}

// add takes the characters folded[start:end] into the run.
func (u *run) add(folded string, start, end int) {
	for start < end {
		_, size := utf8.DecodeRuneInString(folded[start:])
		u.chars = append(u.chars, extent{start, start + size})
		start += size
	}
}

// flush notes the characters and their pairs, and forgets them.
func (u *run) flush(folded string, r *reader) {
	for i, c := range u.chars {
		r.term(folded[c.start:c.end])
		if i == 0 {
			continue
		}
		before := u.chars[i-1]
		if before.end == c.start {
			r.term(folded[before.start:c.end])
			continue
		}
		r.term(folded[before.start:before.end] + folded[c.start:c.end])
	}
	u.chars = u.chars[:0]
}
