// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"math"
	"math/bits"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

// How long a passage is, in characters: enough to be understood alone, and a tenth of a long
// answer.
const (
	passageFrom     = 240
	passageUpto     = 400
	longestSentence = 280 // split divides a longer one
	longestPart     = passageUpto - passageFrom
	shortestPiece   = 2 // "A." is too short for a sentence
)

// Passages sets the Passage of the hits whose Text is longer than 400 characters. A passage is
// whole sentences or lines of code, some 240 to 400 characters, with most of the query's words. An
// ellipsis stands where the text goes on. Code has its fence. A word counts the more the fewer
// sentences of the text have it. If the text has none of the words, the passage is its beginning.
// Experience keeps its whole text: half of an advice is worth little.
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
	runes      int    // characters between start and end
	code       bool   // it begins within a fence of code
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
	if pieces[from].code {
		passage = fence + "\n" + passage
	}
	if to < len(pieces) && pieces[to].code && !strings.HasPrefix(text[pieces[to].start:], fence) {
		passage += "\n" + fence
	}
	if from > 0 {
		passage = "… " + passage
	}
	if to < len(pieces) {
		passage += " …"
	}
	return passage
}

// bestPieces returns the stretch of pieces, as long as a passage, that is worth most. Of equally
// good stretches in a row it takes the middle one, which shows the match in its context.
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
	for from > 0 && runesOf(pieces[from:to]) < passageFrom && runesOf(pieces[from-1:to]) <= passageUpto { // the text ends before
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
	for end = from; end < len(pieces) && runes < passageFrom && (end == from || runes+pieces[end].runes <= passageUpto); end++ {
		runes += pieces[end].runes
		terms |= pieces[end].terms
	}
	return end, terms
}

const (
	fence   = "```"
	marks   = ".!?。！？；…"
	closing = `"'”’)）」』`
)

// piecesOf splits a text behind its sentences and lines, and code behind its lines alone. A sentence
// that is too long is split.
func piecesOf(text string) (pieces []piece) {
	start, runes, code, within := 0, 0, false, false // within: the piece begins in code
	last := utf8.RuneError
	cut := func(end int) {
		pieces = append(pieces, split(text, piece{start: start, end: end, runes: runes, code: within})...)
		start, runes, within = end, 0, code
	}
	for end := 0; end < len(text); {
		c, size := utf8.DecodeRuneInString(text[end:])
		if c == '`' && last != c && strings.HasPrefix(text[end:], fence) {
			code = !code
		}
		at := end
		runes, end = runes+1, end+size
		if c == '\n' || !code && runes >= shortestPiece && endsSentence(text[start:at], last, c, text[end:]) {
			cut(end)
		}
		last = c
	}
	if start < len(text) {
		cut(len(text))
	}
	return pieces
}

// endsSentence reports whether a character ends a sentence: a mark, or the end of a quotation
// behind one. The point of "3.5", "e.g." or "Dr." is part of the sentence.
func endsSentence(before string, last, c rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch {
	case strings.ContainsRune(closing, next) && rest != "": // it belongs to the sentence
		return false
	case strings.ContainsRune(closing, c):
		return strings.ContainsRune(marks, last) && (rest == "" || unicode.IsSpace(next) || last >= utf8.RuneSelf)
	case !strings.ContainsRune(marks, c):
		return false
	case c >= utf8.RuneSelf:
		return true
	}
	return (rest == "" || unicode.IsSpace(next)) && (c != '.' || !abbreviation.MatchString(before[max(0, len(before)-12):]))
}

// abbreviation matches a text before a point that shortens or numbers.
var abbreviation = regexp.MustCompile(`(?i)(?:^|[\s("'“])(?:[a-z]|[a-z](?:\.[a-z])+|[dmj]r|mrs|ms|prof|st|vs|nr|fig|approx|cf)$|^\s*\d{1,3}$`)

// split divides a sentence that is too long: behind a comma, or else between words, or else, where
// both are out of reach, between characters.
func split(text string, p piece) (parts []piece) {
	for p.runes > longestSentence {
		end, comma, space := p.start, 0, 0
		for n := range longestPart {
			c, size := utf8.DecodeRuneInString(text[end:])
			switch end += size; {
			case strings.ContainsRune(",;:，：、", c) && n > longestPart/2:
				comma = end
			case unicode.IsSpace(c):
				space = end
			}
		}
		end = cmp.Or(comma, space, end)
		part := piece{start: p.start, end: end, runes: utf8.RuneCountInString(text[p.start:end]), code: p.code}
		parts, p.start, p.runes = append(parts, part), end, p.runes-part.runes
	}
	return append(parts, p)
}
