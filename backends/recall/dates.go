// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/einomem/einomem/internal/period"
	"github.com/einomem/einomem/internal/text"
)

// How much the time of a memory counts for a query that names one. These are round numbers on a
// plateau: each halved or doubled moves recall@5 by at most 4 points. The measurement takes the 90
// questions of LoCoMo that name a day or a month, asked as "yesterday" or "last month".
const (
	timeTerm  = 0.25 // a time against a word that as many memories have
	timeAlone = 0.5  // the same where the query asks for a time alone
	timeWords = 0.3  // the words by which the query names a time, where memories are of it
	weekAfter = 0.5  // a memory of the week after: people report some days later
)

const (
	aWeek     = int64(7 * 24 * time.Hour)
	maxTimed  = 1 << 10 // bytes of a query to look through for times: see text.Ends
	datesName = "dates"
)

// span is a stretch of time that a query names.
type span struct {
	from, until int64       // Unix nanoseconds
	text        string      // the words of the query for it
	words       []queryTerm // the terms of text
}

// spans returns the times that a query names, as they are meant at the current time.
func (r *Ranker) spans(asked string) []span {
	var out []span
	if r.signals.dates {
		for _, p := range period.Find(text.Ends(asked, maxTimed), r.config.Clock()) {
			named := newSpan(p.From, p.Until)
			named.text = p.Text
			named.words, _ = r.analyzer.count(p.Text)
			out = append(out, named)
		}
	}
	return out
}

func newSpan(from, until time.Time) span {
	return span{from: max(nanos(from), math.MinInt64+1), until: nanos(until)} // math.MinInt64 stays free for memories whose time is unknown
}

// namesTime reports whether a query names a time, or a month in other words.
func (r *Ranker) namesTime(q *query) bool {
	return len(q.spans) > 0 || slices.ContainsFunc(q.terms, func(t queryTerm) bool { return slices.Contains(r.analyzer.months, t.text) })
}

// onlyTimes reports whether a query asks for the times that it names and for little else.
func (r *Ranker) onlyTimes(text string, named []span) bool {
	text = norm.NFKC.String(text)
	for i := range named {
		text = strings.ReplaceAll(text, named[i].text, " ")
	}
	return !slices.ContainsFunc(r.terms(text), func(t queryTerm) bool { return !isFunction(t.text) && !r.analyzer.isLight(t.text) })
}

// holds returns 1 if a memory was said or happened in the span, [weekAfter] if it was said
// in the week after, and else 0.
func (s *span) holds(d *doc) float64 {
	how := 0.0
	if since := d.time - s.until; 0 <= since && since < aWeek {
		how = weekAfter
	}
	if d.memory != nil && (s.in(d.time) || s.in(nanos(d.memory.Valid))) {
		how = 1
	}
	if how == 0 || d.memory == nil || d.memory.Kind.Traits().Timeless {
		return 0
	}
	return how
}

func (s *span) in(t int64) bool { return s.from <= t && t < s.until }

func (f *ranking) namesTime() bool { return len(f.s.spans) > 0 }

func (f *ranking) ofTheTime(slot int32) float64 { return f.s.ofTheTime(&f.x.docs[slot]) }

// ofTheTime returns how much a memory is of the times that the query names.
func (s *scratch) ofTheTime(d *doc) float64 {
	most := 0.0
	for i := range s.spans {
		most = max(most, s.spans[i].holds(d))
	}
	return most
}

// date sets the times of the query that memories are of, and returns these memories, by slot, and
// the terms of the query. Words that name these times count less, and so do all terms where the
// query asks for a time alone. A time must have memories to count: "Who read 1984?" may ask for a
// book.
func (x *index) date(q *query, s *scratch) (terms []queryTerm, of []int32) {
	s.spans = s.spans[:0]
	for _, named := range q.spans {
		if slices.ContainsFunc(x.docs, func(d doc) bool { return named.holds(&d) > 0 }) {
			s.spans = append(s.spans, named)
		}
	}
	if len(s.spans) == 0 {
		return q.terms, nil
	}
	for slot := range x.docs {
		if s.ofTheTime(&x.docs[slot]) > 0 {
			of = append(of, int32(slot))
		}
	}
	for _, t := range q.terms {
		if q.ofTime {
			t.count *= timeWords / float64(len(q.terms))
		} else if namedBy(s.spans, t) {
			t.count *= timeWords
		}
		terms = append(terms, t)
	}
	return terms, of
}

// namedBy reports whether a term is a word by which a query names one of the times.
func namedBy(spans []span, t queryTerm) bool {
	return slices.ContainsFunc(spans, func(s span) bool {
		return slices.ContainsFunc(s.words, func(word queryTerm) bool { return word.text == t.text })
	})
}

// datesLast puts the terms that name a time behind the others. A memory that has such a term
// in its date alone is not found by it. A single character finds none: 月 is in every month.
func (r *Ranker) datesLast(q *query, terms []weighedTerm) {
	for i := range terms {
		word := terms[i].words[0]
		switch names := slices.Contains(r.analyzer.months, word) || namedBy(q.spans, queryTerm{text: word}); {
		case names && utf8.RuneCountInString(word) == 1:
			terms[i].least = math.MaxInt32
		case names:
			terms[i].least = whole
		}
	}
	slices.SortStableFunc(terms, func(a, b weighedTerm) int { return cmp.Compare(min(a.least, 1), min(b.least, 1)) })
}

// addTime adds to the scores of the memories of a time, as for a term that they hold. A time raises
// memories that other words found. Only a query for a time alone finds memories by it: "the weather
// in March" would bring all of March.
func (x *index) addTime(q *query, s *scratch, of []int32) {
	weight := timeTerm * x.lexicon.idf(len(of))
	if q.ofTime {
		weight = timeAlone * max(math.Ln2, x.lexicon.idf(len(of)))
	}
	for _, slot := range of {
		if s.scores[slot] == 0 {
			if !q.ofTime {
				continue
			}
			s.matched = append(s.matched, slot)
		}
		s.scores[slot] += weight * s.ofTheTime(&x.docs[slot])
	}
}
