// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package note

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/period"
	"github.com/einomem/einomem/internal/text"
)

func (v View) zone() *time.Location { return v.Now.Location() }

// Clock returns the line with the day, the time and the zone.
func (v View) Clock() string {
	p, now := v.phrases(), v.Now
	day, zone := now.Format(p.clock), now.Location().String()
	if v.Language == backends.Chinese {
		day += []string{"日", "一", "二", "三", "四", "五", "六"}[now.Weekday()]
	}
	if zone == "Local" || zone == "" {
		zone = now.Format("UTC-07:00")
	}
	return fmt.Sprintf(p.today, day, now.Format("15:04"), zone)
}

// day returns the day of a time as people write it, "" for the zero time.
func (v View) day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(v.zone()).Format(v.phrases().day)
}

// brackets returns remarks in brackets, to follow a text.
func (v View) brackets(remarks []string) string {
	p := v.phrases()
	if len(remarks) == 0 {
		return ""
	}
	return p.brackets[0] + strings.Join(remarks, p.between) + p.brackets[1]
}

// history returns remarks about the times of a memory: its end, its predecessor, the day that
// it was announced for, and its begin if it was said on another day.
func (v View) history(h *backends.Hit) (out []string) {
	p := v.phrases()
	if !h.Ended.IsZero() {
		return []string{fmt.Sprintf(p.ended, v.day(h.Ended))}
	}
	planned, was := v.planned(h), ""
	if h.Before != nil && !corrects(h) {
		was = text.Truncate(text.Inert(changed(h.Before.Text, h.Text)), 80)
	}
	switch {
	case was != "":
		out = append(out, fmt.Sprintf(p.until, v.day(h.Since()), was))
	case planned:
		out = append(out, fmt.Sprintf(p.planned, v.day(h.Valid)))
	case !h.Valid.IsZero() && (h.Observed.IsZero() || v.daysFrom(h.Observed, h.Valid) < 0):
		out = append(out, fmt.Sprintf(p.since, v.day(h.Valid)))
	}
	if planned && !v.Now.IsZero() {
		out = append(out, v.away(h.Valid, h.Valid))
	}
	return out
}

// planned reports whether a memory was said before it held.
func (v View) planned(h *backends.Hit) bool {
	return !h.Observed.IsZero() && v.daysFrom(h.Observed, h.Valid) > 0
}

// told returns when a memory was said, else when it was written down.
func (v View) told(h *backends.Hit) []string {
	p, at := v.phrases(), h.Since()
	switch {
	case at.IsZero():
		return nil
	case h.Origin.Author == backends.AuthorAgent: // the bullet begins with that
		return []string{v.day(at)}
	case h.Observed.IsZero():
		return []string{fmt.Sprintf(p.wrote, v.day(at))}
	}
	return []string{fmt.Sprintf(p.said, v.day(at))}
}

// corrects reports whether a memory corrects its predecessor: it holds from the same time
// or before, or comes from the same turn. The world stayed the same then.
func corrects(h *backends.Hit) bool {
	b := h.Before
	return !b.Since().IsZero() && !h.Since().After(b.Since()) || h.Origin.Turn != "" && h.Origin.Turn == b.Origin.Turn
}

// daysFrom returns how many days b is after a, in the reader's zone; negative for before.
func (v View) daysFrom(a, b time.Time) int {
	noon := func(t time.Time) time.Time {
		y, m, d := t.In(v.zone()).Date()
		return time.Date(y, m, d, 12, 0, 0, 0, time.UTC)
	}
	return int(math.Round(noon(b).Sub(noon(a)).Hours() / 24))
}

// away says how far a stretch of days is from today.
func (v View) away(first, last time.Time) string {
	p, ahead, past := v.phrases(), v.daysFrom(v.Now, first), v.daysFrom(last, v.Now)
	switch {
	case ahead == 1:
		return p.tomorrow
	case ahead > 1:
		return fmt.Sprintf(p.ahead, ahead)
	case past == 1:
		return p.yesterday
	case past > 1:
		return fmt.Sprintf(p.ago, past)
	case v.daysFrom(first, last) > 0:
		return p.isNow
	}
	return p.isToday
}

// said returns the text of a hit, or its matching passage. It adds the days that its words for
// times mean, and for days that lay ahead then, their distance from today.
func (v View) said(h *backends.Hit) string {
	said := cmp.Or(h.Passage, h.Text)
	if h.Observed.IsZero() || h.Kind.Traits().Timeless || strings.Contains(said, "```") {
		return said
	}
	at, remarks := h.Observed.In(v.zone()), map[int]string{}
	mentions, closed := period.Resolve(said, at), 0
	for i, m := range mentions {
		if i+1 < len(mentions) && m.Relative && again(said, m, mentions[i+1]) {
			mentions[i+1].Until = mentions[i+1].Until || m.Until
			continue
		}
		if i+1 < len(mentions) && m.Relative && explained(said, m, mentions[i+1]) {
			closed = m.End + strings.IndexAny(said[m.End:]+")", ")）")
		}
		if m.Start < closed {
			continue
		}
		if i > 0 && again(said, mentions[i-1], m) && !mentions[i-1].Relative {
			continue
		}
		w := v.speaking(said[m.Start:m.End], said)
		remarks[m.End] = w.brackets(w.meaning(m, at, v.planned(h)))
	}
	if passed := v.daysFrom(at, v.Now) * 4 / 1461; !v.Now.IsZero() && passed > 0 { // years
		for end, age := range period.Ages(said) {
			w := v.speaking("", said[:end])
			remarks[end] += w.brackets([]string{fmt.Sprintf(w.phrases().age, age+passed)})
		}
	}
	for _, end := range slices.Backward(slices.Sorted(maps.Keys(remarks))) {
		said = said[:end] + remarks[end] + said[end:]
	}
	return said
}

// again reports whether a text names a day twice, as in "Wednesday 2026-11-25" and "2026-11-25
// (Wed)".
func again(said string, a, b period.Mention) bool {
	return a.Last.Equal(b.Last) && strings.Trim(said[a.End:b.Start], " ,，(（") == ""
}

// explained reports whether a bracket says which day is meant, as in an answer that repeats "last
// week (9 Nov to 15 Nov)" from a note. Nothing in such a bracket is explained again.
func explained(said string, a, b period.Mention) bool {
	behind := strings.TrimSpace(said[a.End:b.Start])
	return !b.Relative && (behind == "(" || behind == "（")
}

// speaking returns a view in the language of the words that a remark explains. Words without
// letters take the language of their text.
func (v View) speaking(words, of string) View {
	if !strings.ContainsFunc(words, unicode.IsLetter) {
		words = of
	}
	v.Language = backends.English
	if strings.ContainsFunc(words, isUnspaced) {
		v.Language = backends.Chinese
	}
	return v
}

// meaning returns the remarks about a time that a text named at a time.
func (v View) meaning(m period.Mention, at time.Time, planned bool) (out []string) {
	last := m.Last
	if !m.Or.IsZero() {
		last = m.First // the later one
	}
	now := !v.Now.IsZero() && v.daysFrom(at, v.Now) > 0
	if m.Until && now && v.daysFrom(last, v.Now) > 0 && v.daysFrom(at, last) >= 0 {
		return []string{fmt.Sprintf(v.phrases().ended, v.day(last))}
	}
	if m.Relative {
		out = append(out, v.days(m, at))
	}
	ambiguous := !m.Or.IsZero() && v.daysFrom(last, v.Now) <= 0
	if now && !m.Until && !planned && !ambiguous && v.daysFrom(at, m.First) > 0 {
		out = append(out, v.away(m.First, last))
	}
	return out
}

// days returns a stretch of days as people write it; the year in which it was said is left
// out.
func (v View) days(m period.Mention, at time.Time) string {
	p := v.phrases()
	short := func(t time.Time) string {
		if t.Year() == at.Year() {
			return t.Format(p.dayOfYear)
		}
		return t.Format(p.day)
	}
	next := m.Last.AddDate(0, 0, 1)
	switch {
	case m.About:
		return fmt.Sprintf(p.about, short(m.First))
	case !m.Or.IsZero():
		return fmt.Sprintf(p.either, short(m.Or), short(m.First))
	case m.First.Equal(m.Last):
		return short(m.First)
	case m.First.YearDay() == 1 && next.YearDay() == 1 && next.Year() == m.First.Year()+1:
		return m.First.Format(p.year)
	case m.First.Day() == 1 && next.Day() == 1 && v.daysFrom(m.First, next) < 32:
		return m.First.Format(p.month)
	}
	return fmt.Sprintf(p.span, short(m.First), short(m.Last))
}
