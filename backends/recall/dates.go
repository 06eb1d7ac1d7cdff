// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"math"
	"slices"
	"time"

	"github.com/einomem/einomem/internal/period"
)

// How much the time of a memory counts for a query that names one. These are round numbers on
// a plateau: each halved or doubled moves recall@5 of the 90 questions of LoCoMo that name a day
// or a month, asked as "yesterday" or "last month", by at most 4 points.
const (
	timeTerm  = 0.5 // a time against a word that as many memories have
	timeWords = 0.3 // the words by which the query names a time, where memories are of it
	weekAfter = 0.5 // a memory of the week after: what happened is reported some days later
)

const (
	aWeek     = int64(7 * 24 * time.Hour)
	maxTimed  = 1 << 10 // bytes of a query that are looked through for times: see shorten
	datesName = "dates"
)

// span is a stretch of time that a query names.
type span struct {
	from, until int64       // Unix nanoseconds
	words       []queryTerm // by which the query names it
}

// spans returns the times that a query names, as they are meant now.
func (r *Ranker) spans(text string) []span {
	var out []span
	if r.signals.dates {
		for _, p := range period.Find(shorten(text, maxTimed), r.config.Clock()) {
			words, _ := r.analyzer.count(p.Text)
			out = append(out, newSpan(p.From, p.Until, words))
		}
	}
	return out
}

func newSpan(from, until time.Time, words []queryTerm) span {
	return span{max(nanos(from), math.MinInt64+1), nanos(until), words} // no memory is of no time
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

func (f *field) namesTime() bool { return len(f.s.spans) > 0 }

func (f *field) ofTheTime(slot int32) float64 { return f.s.ofTheTime(&f.x.docs[slot]) }

// ofTheTime returns how much a memory is of the times that the query names.
func (s *scratch) ofTheTime(d *doc) float64 {
	most := 0.0
	for i := range s.spans {
		most = max(most, s.spans[i].holds(d))
	}
	return most
}

// date scores the memories of the times that a query names: a time is a term, which they hold.
// Where half of all memories hold it, it finds nothing, as a stop word. date returns the terms of
// the query, of which the words that name these times count less. A time that no memory is of
// is none: "Who read 1984?" may ask for a book.
func (x *index) date(q *query, s *scratch) []queryTerm {
	s.spans = s.spans[:0]
	terms, of := slices.Clone(q.terms), []int32(nil)
	for _, named := range q.spans {
		before := len(of)
		for slot := range x.docs {
			if named.holds(&x.docs[slot]) > 0 {
				of = append(of, int32(slot))
			}
		}
		if len(of) == before {
			continue
		}
		s.spans = append(s.spans, named)
		for i, t := range terms {
			if slices.ContainsFunc(named.words, func(word queryTerm) bool { return word.text == t.text }) {
				terms[i].count *= timeWords
			}
		}
	}
	weight := timeTerm * x.lexicon.idf(len(of))
	for _, slot := range of {
		if s.scores[slot] == 0 && weight >= timeTerm*math.Ln2 {
			s.scores[slot] = weight * s.ofTheTime(&x.docs[slot])
			s.matched = append(s.matched, slot)
		}
	}
	return terms
}
