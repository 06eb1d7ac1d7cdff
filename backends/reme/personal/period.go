// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"strings"
	"time"
)

// Period is a stretch of time that a text names.
type Period struct {
	Text  string    // as it stands in the text, in normal form (NFKC)
	From  time.Time // the first instant in it; zero: whatever is before Until
	Until time.Time // the first instant after it; always after From
	// Sure says that the calendar alone decides: the text says which year, or how far
	// from now. "last Monday" and "in March" are not sure: people mean several days
	// by them.
	Sure bool
}

// Contains reports whether t is in the period.
func (p Period) Contains(t time.Time) bool { return !t.Before(p.From) && t.Before(p.Until) }

// overlaps reports whether both have an instant in common.
func (p Period) overlaps(q Period) bool { return p.From.Before(q.Until) && q.From.Before(p.Until) }

// layouts are the dates that ParsePeriod reads, and how long each of them is.
var layouts = []struct {
	layout        string
	years, months int
	days          int
}{
	{time.DateOnly, 0, 0, 1}, {"2006-1-2", 0, 0, 1}, {"2006/1/2", 0, 0, 1}, {"2006.1.2", 0, 0, 1},
	{"2006-01", 0, 1, 0}, {"2006-1", 0, 1, 0}, {"2006/1", 0, 1, 0}, {"2006", 1, 0, 0},
}

var instants = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"}

// ParsePeriod reads a date as machines write it: a day (2024-03-05, also with a time
// of day; the year has four digits), a month (2024-03), a year (2024), or two of those with a slash between
// them, the second one in the period. Days begin at midnight in loc.
func ParsePeriod(s string, loc *time.Location) (Period, bool) {
	s = strings.TrimSpace(s)
	if p, ok := parseDate(s, loc); ok {
		return p, true
	}
	for _, mark := range []string{"/", "..", " to ", "~"} {
		first, second, ok := strings.Cut(s, mark)
		if !ok {
			continue
		}
		a, okA := parseDate(strings.TrimSpace(first), loc)
		b, okB := parseDate(strings.TrimSpace(second), loc)
		if okA && okB && a.From.Before(b.Until) {
			return Period{Text: s, From: a.From, Until: b.Until, Sure: true}, true
		}
	}
	return Period{}, false
}

func parseDate(s string, loc *time.Location) (Period, bool) {
	c := calendar{now: time.Time{}.In(loc)}
	for _, l := range layouts {
		if t, err := time.Parse(l.layout, s); err == nil && t.Year() >= 1000 {
			from, until := c.date(t.Date()), c.date(t.Year()+l.years, t.Month()+time.Month(l.months), t.Day()+l.days)
			return Period{Text: s, From: from, Until: until, Sure: true}, from.Before(until)
		}
	}
	for _, l := range instants {
		if t, err := time.ParseInLocation(l, s, loc); err == nil && t.Year() >= 1000 {
			y, m, d := t.In(loc).Date()
			return Period{Text: s, From: c.date(y, m, d), Until: c.date(y, m, d+1), Sure: true}, true
		}
	}
	return Period{}, false
}

// String returns the period as ParsePeriod reads it, in whole days: the shortest
// form that says it.
func (p Period) String() string {
	last := p.Until.Add(-1)
	if p.From.IsZero() {
		return "../" + last.Format(time.DateOnly)
	}
	y, m, d := p.From.Date()
	c := calendar{now: p.From}
	switch {
	case p.Until.Equal(c.date(y, m, d+1)):
		return p.From.Format(time.DateOnly)
	case d == 1 && p.Until.Equal(c.date(y, m+1, 1)):
		return p.From.Format("2006-01")
	case d == 1 && m == time.January && p.Until.Equal(c.date(y+1, 1, 1)):
		return p.From.Format("2006")
	}
	return p.From.Format(time.DateOnly) + "/" + last.Format(time.DateOnly)
}
