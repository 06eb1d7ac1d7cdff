// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// maxTimeText is how many bytes of a text are looked through for times.
const maxTimeText = 16 << 10

// FindPeriods returns the stretches of time that a text names, in the order of the
// text, as they are meant by who says it at now. It reads English and Chinese by
// rules, without a model: years, quarters, months, weeks, days, weekdays and seasons,
// named or counted from now, and dates as machines write them. A month or a day
// without a year is the latest one that began. What it does not read: dates such as
// 3/4/2024, of which nobody knows the month, times of day, and feasts. Of a text of
// more than 16 KiB it reads so much of its beginning.
func FindPeriods(text string, now time.Time) []Period {
	if len(text) > maxTimeText {
		text = strings.ToValidUTF8(text[:maxTimeText], "")
	}
	text = norm.NFKC.String(text)
	c := calendar{now: now}
	var found []named
	for _, rules := range [][]rule{machineRules, englishRules, chineseRules} {
		for i := range rules {
			found = append(found, rules[i].find(c, text)...)
		}
	}
	return direct(c, text, longest(found))
}

// rule reads one form in which times are said.
type rule struct {
	form *regexp.Regexp
	// read returns the period that a match means. The match holds the groups of the
	// form, and what stands before and behind it.
	read func(c calendar, m match) (Period, bool)
}

type match struct {
	group         []string
	before, after string
}

// named is a period with its place in the text.
type named struct {
	start, end int
	Period
}

func (r *rule) find(c calendar, text string) []named {
	var out []named
	for _, at := range r.form.FindAllStringSubmatchIndex(text, -1) {
		m := match{before: text[:at[0]], after: text[at[1]:]}
		for g := 0; g < len(at); g += 2 {
			s := ""
			if at[g] >= 0 {
				s = text[at[g]:at[g+1]]
			}
			m.group = append(m.group, s)
		}
		if p, ok := r.read(c, m); ok {
			p.Text = strings.TrimSpace(m.group[0])
			out = append(out, named{at[0], at[1], p})
		}
	}
	return out
}

// longest drops what overlaps something longer: "March 5, 2024" is one day, and
// neither a month nor a year.
func longest(found []named) []named {
	slices.SortStableFunc(found, func(a, b named) int {
		return cmp.Or(cmp.Compare(b.end-b.start, a.end-a.start), cmp.Compare(a.start, b.start))
	})
	var kept []named
	for _, n := range found {
		if !slices.ContainsFunc(kept, func(k named) bool { return n.start < k.end && k.start < n.end }) {
			kept = append(kept, n)
		}
	}
	slices.SortFunc(kept, func(a, b named) int { return cmp.Compare(a.start, b.start) })
	return kept
}

var (
	joint     = regexp.MustCompile(`(?i)^\s*(?:to|until|till|through|-|–|—|~|到|至)\s*(?:the\s+)?$`)
	jointAnd  = regexp.MustCompile(`(?i)^\s*(?:and|和|与)\s*(?:the\s+)?$`)
	opens     = regexp.MustCompile(`(?i)(?:\bbetween|在)\s*(?:the\s+)?$`)
	direction = regexp.MustCompile(`(?i)\b(since|after|before|until|till)\s+(?:the\s+)?$`)
	inside    = regexp.MustCompile(`(?i)^(since|after|before|until|till)\b`)
	suffix    = regexp.MustCompile(`^(?:份)?(以来|至今|起|之前|以前|前|之后|以后|后)`)
)

// direct joins "from … to …" and turns "since …" and its like to the side that they
// mean.
func direct(c calendar, text string, found []named) []Period {
	var out []Period
	for i := 0; i < len(found); i++ {
		n := found[i]
		if i+1 < len(found) {
			next := found[i+1]
			gap := text[n.end:next.start]
			if len(gap) > 24 {
				gap = "…"
			}
			ranged := joint.MatchString(gap) || jointAnd.MatchString(gap) && opens.MatchString(nearby(text[:n.start]))
			if ranged && n.From.Before(next.Until) && !n.From.After(next.From) {
				out = append(out, Period{Text: text[n.start:next.end], From: n.From, Until: next.Until, Sure: n.Sure && next.Sure})
				i++
				continue
			}
		}
		out = append(out, n.turned(c, text))
	}
	return out
}

func (n named) turned(c calendar, text string) Period {
	word, whole := "", n.Text
	if m := inside.FindStringSubmatch(n.Text); m != nil {
		word = m[1]
	} else if m := direction.FindStringSubmatch(nearby(text[:n.start])); m != nil {
		word, whole = m[1], m[1]+" "+n.Text
	} else if m := suffix.FindStringSubmatch(text[n.end:]); m != nil {
		word, whole = m[1], n.Text+m[1]
	}
	y, m, d := c.now.Date()
	tonight := c.date(y, m, d+1)
	p := n.Period
	switch strings.ToLower(word) {
	case "since", "以来", "至今", "起":
		p.Until = later(p.Until, tonight)
	case "after", "之后", "以后", "后":
		if p.From = p.Until; p.From.Before(tonight) {
			p.Until = tonight
		} else {
			p.Until = p.From.AddDate(1, 0, 0)
		}
	case "before", "之前", "以前", "前":
		p.From, p.Until = time.Time{}, p.From
	case "until", "till":
		p.From = time.Time{}
	default:
		return p
	}
	p.Text, p.Sure = whole, false
	return p
}

// nearby is the end of a text, enough for a word.
func nearby(s string) string { return s[max(0, len(s)-24):] }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
