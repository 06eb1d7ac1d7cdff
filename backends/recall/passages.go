// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"math"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

// How long a passage is, in characters: enough to be understood alone, and a tenth of a long
// answer.
const (
	passageFrom   = 240
	passageUpto   = 400
	longestPiece  = passageUpto - passageFrom
	shortestPiece = 2 // "A." is no sentence
)

// Passages sets the Passage of those hits whose Text is longer than 400 characters: the
// sentences, 240 to 400 characters, that hold most of what the query asks for, with an ellipsis
// where the text goes on. A word counts the more the fewer sentences of the text have it. Where
// none has a word of the query, the passage is the beginning. Experience is shown whole: half
// of an advice is none.
func (r *Ranker) Passages(query string, hits []backends.Hit) {
	var terms []queryTerm
	for i := range hits {
		if hits[i].Kind.Traits().Timeless || utf8.RuneCountInString(hits[i].Text) <= passageUpto {
			continue
		}
		if terms == nil {
			terms = r.terms(query)
			terms = terms[:min(64, len(terms))] // as many as a set of bits has
		}
		hits[i].Passage = r.passage(hits[i].Text, terms)
	}
}

// piece is a sentence of a text, or a part of a long one.
type piece struct {
	start, end int    // bytes
	runes      int    // how many characters that are
	terms      uint64 // which terms of the query it has
}

func (r *Ranker) passage(text string, terms []queryTerm) string {
	pieces := piecesOf(text)
	holders := make([]float64, len(terms))
	for i := range pieces {
		p := &pieces[i]
		found, _ := r.analyzer.count(text[p.start:p.end])
		has := map[string]bool{}
		for _, t := range found {
			has[t.text] = true
		}
		for n, t := range terms {
			if has[t.text] {
				p.terms |= 1 << n
				holders[n]++
			}
		}
	}
	from, to := bestPieces(pieces, func(set uint64) float64 {
		sum := 0.0
		for ; set != 0; set &= set - 1 {
			sum += math.Log(1 + float64(len(pieces))/holders[bits.TrailingZeros64(set)])
		}
		return sum
	})
	passage := strings.TrimSpace(text[pieces[from].start:pieces[to-1].end])
	if from > 0 {
		passage = "… " + passage
	}
	if to < len(pieces) {
		passage += " …"
	}
	return passage
}

// bestPieces returns the stretch of pieces, as long as a passage, that is worth most. Of
// stretches in a row that are worth the same it takes the one in the middle: what matched
// stands in its context.
func bestPieces(pieces []piece, worth func(terms uint64) float64) (from, to int) {
	best, last := -1.0, 0
	for i := range pieces {
		end, terms := stretch(pieces, i)
		switch w := worth(terms); {
		case w > best:
			best, from, last = w, i, i
		case w == best && last == i-1 && w > 0:
			last = i
		}
		if end == len(pieces) {
			break
		}
	}
	from = (from + last + 1) / 2
	to, _ = stretch(pieces, from)
	for from > 0 && runesOf(pieces[from:to]) < passageFrom { // the text ends before
		from--
	}
	return from, to
}

func runesOf(pieces []piece) (sum int) {
	for i := range pieces {
		sum += pieces[i].runes
	}
	return sum
}

// stretch returns where a passage that begins with a piece ends, and the terms that it has.
func stretch(pieces []piece, from int) (end int, terms uint64) {
	runes := 0
	for end = from; end < len(pieces) && runes < passageFrom; end++ {
		runes += pieces[end].runes
		terms |= pieces[end].terms
	}
	return end, terms
}

// piecesOf splits a text behind its sentences and lines. A sentence that is too long is split
// between words, or where there are none in reach, between characters.
func piecesOf(text string) []piece {
	var pieces []piece
	p, space := piece{}, -1 // where the last word of p ended
	cut := func(end int) {
		pieces = append(pieces, piece{start: p.start, end: end, runes: utf8.RuneCountInString(text[p.start:end])})
		p, space = piece{start: end}, -1
	}
	for at, c := range text {
		next := at + utf8.RuneLen(c)
		p.runes++
		switch {
		case c == utf8.RuneError, p.runes < shortestPiece: // of one byte, where it is broken
		case c == '\n', strings.ContainsRune("。！？；…", c), strings.ContainsRune(".!?", c) && endsWord(text[next:]):
			cut(next)
		case p.runes >= longestPiece && space > p.start:
			rest := utf8.RuneCountInString(text[space:next])
			cut(space)
			p.runes = rest
		case p.runes >= longestPiece:
			cut(next)
		case unicode.IsSpace(c):
			space = next
		}
	}
	if p.start < len(text) {
		cut(len(text))
	}
	return pieces
}

// endsWord reports whether a word ends before the rest of a text.
func endsWord(rest string) bool {
	c, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || unicode.IsSpace(c) || strings.ContainsRune(`"'”’)）」』`, c)
}
