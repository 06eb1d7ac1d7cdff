// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package period

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Mention is a stretch of days that a sentence names, as its speaker means it.
type Mention struct {
	Start, End  int       // its offsets in the text
	First, Last time.Time // the first and the last day, each at its begin
	Relative    bool      // the words count from when they were said, or leave out a year that differs from then
	About       bool      // near that day: "three weeks ago"
	Until       bool      // the sentence is about the time up to it
	// Or is another possible day, zero for none: "next Friday", said on a Tuesday.
	Or time.Time
}

// Resolve returns the stretches of days that a text names, in the order of the text, as a speaker
// at said meant them. Days begin in the zone of said. Beside the times of [Find] it heeds the
// tense: "on Friday" is ahead in "the exam is on Friday" and past in "I met Bob on Friday".
// Ambiguous and doubtful times are left out.
func Resolve(s string, said time.Time) (out []Mention) {
	plain, offsets := normalised(s)
	if !mayNameTimes(plain) {
		return nil
	}
	today, last := date(said.Date()), found{}
	for _, f := range longest(scan(plain, today)) {
		m := Mention{Relative: f.named != exact}
		days := f.until.Sub(f.from).Hours() / 24
		now := f.named == counted && !f.from.After(today) && f.until.After(today) && (days == 1 || days >= 28) // today, this month, this year
		if now || !f.mean(&m, plain, today) {
			continue
		}
		years, later := 0, 0
		switch {
		case last.end == 0 || !joins.MatchString(plain[last.end:f.start]):
		case f.named == weekday && f.from.Before(last.from): // Tuesday to Friday
			later = 7
		case f.named == yearless && last.named != yearless: // May 2021 to July
			years = (12*last.from.Year()+int(last.from.Month())-int(f.from.Month())+11)/12 - f.from.Year()
		}
		f.from, f.until = f.from.AddDate(years, 0, later), f.until.AddDate(years, 0, later)
		last = f
		m.Start, m.End = offsets[f.start], offsets[f.end]
		m.Relative = m.Relative && (f.named != yearless || f.from.Year() != today.Year())
		m.First, m.Last = midnight(f.from, said.Location()), midnight(f.until.AddDate(0, 0, -1), said.Location())
		m.Until = until.MatchString(plain[:f.start]) || untilBehind.MatchString(plain[f.end:])
		if m.First.Year() > 0 && m.Last.Year() <= 9999 && !m.Last.Before(m.First) {
			out = append(out, m)
		}
	}
	return out
}

// normalised returns a text in normal form (NFKC) and in simplified characters, with the offset in s
// of each of its bytes, and of its end.
func normalised(s string) (string, []int) {
	var b strings.Builder
	var offsets []int
	var it norm.Iter
	s = s[:min(len(s), maxTimeText)]
	for it.InitString(norm.NFKC, s); !it.Done(); {
		at, segment := it.Pos(), it.Next()
		for range segment {
			offsets = append(offsets, at)
		}
		b.Write(segment)
	}
	return simple(b.String()), append(offsets, len(s))
}

// named is the way in which a text names a time.
type named int

const (
	exact    named = iota
	counted        // from today
	around         // by weeks from today
	ahead          // "in two weeks", which may be a duration
	weekday        // "Friday"
	next           // "next Friday"
	yearless       // "5 May"
)

func howNamed(g map[string]string) named {
	switch {
	case g["ahead"] == "in":
		return ahead
	case g["ahead"]+g["ago"] != "" && units[g["unit"]] == week:
		return around
	case g["weekday"] != "" && g["weekof"] == "" && g["side"] == "":
		return weekday
	case g["weekday"] != "" && g["side"] == "next":
		return next
	case g["named"]+g["ago"]+g["ahead"]+g["unit"]+g["weekof"]+g["weekday"]+g["yearword"]+g["side"] != "":
		return counted
	case g["year"] == "":
		return yearless
	}
	return exact
}

// mean changes a found time to the speaker's meaning, and reports whether that is clear.
func (f *found) mean(m *Mention, s string, today time.Time) bool {
	in := tenseOf(s, f.start, f.end)
	switch f.named {
	case around, ahead:
		m.About = f.until.Sub(f.from) == 7*24*time.Hour
		if m.About { // seven days each from today, instead of the week from Monday
			weeks := int(f.from.Sub(week.around(today, 0).from).Hours()) / (7 * 24)
			f.span = day.around(today, 7*weeks)
		}
		return f.named == around || in != past
	case next: // said on a Tuesday, people mean this Friday or the one after
		if days := f.from.Sub(today).Hours() / 24; days < 7 && weekdayOf(f.from) > weekdayOf(today) {
			if f.from, f.until = f.from.AddDate(0, 0, 7), f.until.AddDate(0, 0, 7); days > 1 {
				m.Or = f.from.AddDate(0, 0, -7)
			}
		}
	case weekday:
		if in == toCome && f.until.AddDate(0, 0, -1).Before(today) {
			f.from, f.until = f.from.AddDate(0, 0, 7), f.until.AddDate(0, 0, 7)
		}
		return in != always && !f.from.Equal(today) && (!attributive.MatchString(s[:f.start]) || !noun.MatchString(s[f.end:]))
	case yearless:
		after := span{from: f.from.AddDate(1, 0, 0), until: f.until.AddDate(1, 0, 0)}
		on := weekdayBefore.FindStringSubmatch(s[:f.start]) // "Sunday, 8 December" is of one year
		fits := func(s span) bool { return on == nil || weekdayOf(s.from) == wordsForTimes[strings.ToLower(on[1])] }
		if fits(after) && (on != nil || in == toCome && after.from.Sub(today) < today.Sub(f.from)) {
			f.span = after
		}
		return in != always && fits(f.span)
	}
	return true
}

// tense is the time of an event by the words of its sentence.
type tense int

const (
	toCome tense = iota
	past
	always
)

var (
	until       = regexp.MustCompile(`(?i)(?:\b(?:until|till|through|up to)\s+(?:the\s+)?(?:end of\s+)?(?:\w+day,?\s+)?|(?:直到|到|至|截止)\s*)$`)
	untilBehind = regexp.MustCompile(`^(?:为止|之前|以前)`)

	habit = regexp.MustCompile(`(?i)\b(?:every|each|always|usually|often|normally|sometimes|never|weekly|birthday|anniversary|born)\b|每|总是|经常|一般|通常|生日|纪念日|诞辰`)
	plans = regexp.MustCompile(`(?i)\b(?:will|won't|shall|going to|gonna|ha(?:ve|s) to|needs? to|must|should|plan(?:s|ning)? to|about to|due|want to|would like|remind|don't forget|let's)\b|'ll\b|\b(?:for|by)\s+(?:the\s+|next\s+)?$|将|准备|打算|计划|即将|得去|需要|记得|提醒|别忘|约了|订了|定了|预约|安排|改到|推迟到|就要|会[去来在有]`)
	done  = regexp.MustCompile(`(?i)\b(?:was|were|had|did|didn't|went|saw|met|got|came|took|made|said|told|bought|ate|ran|gave|found|left|felt|began|broke|lost|won|flew|drove|slept|spoke|heard|thought|paid|sent|wrote|fell|caught|taught|brought|kept|hurt|quit|knew|grew|drank|sang|swam|became|spent)\b|(?:^|[^\w'])(?:\w{2,}[^e\W]ed|\w{2,}ied)\b|了|过|刚`)
	state = regexp.MustCompile(`(?i)(?:\b(?:am|is|are|be|get)|'m|'re|'s)\s+(?:\w+\s+)?\w+ed\b|\b(?:need|speed|indeed|hundred)(?:ed)?\b|过[去来年生]|[不通再]过`)

	weekdayBefore = regexp.MustCompile(`(?i)\b(mon|tue|wed|thu|fri|sat|sun)\w*day,? (?:the )?$`)

	// attributive and noun stand around a day that names something: "the Tuesday yoga class".
	attributive = regexp.MustCompile(`(?i)\b(?:the|a|my|our|your|his|her|their|this)\s+$|'s\s+$`)
	noun        = regexp.MustCompile(`^\s+\pL`)

	sentenceEnds = ".!?;\n。！？；"
	clauseEnds   = sentenceEnds + ",，"
)

// tenseOf returns the tense of the event at the time between two offsets of s: by its
// clause. If that has little beside the time, the sentence decides.
func tenseOf(s string, start, end int) tense {
	before, behind := part(s, start, end, clauseEnds)
	if utf8.RuneCountInString(strings.TrimSpace(before+behind)) < leastClause {
		before, behind = part(s, start, end, sentenceEnds)
	}
	switch said := before + " " + behind; {
	case habit.MatchString(said):
		return always
	case plans.MatchString(before) || plans.MatchString(behind):
		return toCome
	case done.MatchString(state.ReplaceAllString(said, " ")):
		return past
	}
	return toCome
}

// leastClause is the least number of characters of a clause that is searched for a verb.
const leastClause = 5

// part returns the text before and behind two offsets, in the part of s that ends divide.
func part(s string, start, end int, ends string) (before, behind string) {
	before, behind = s[strings.LastIndexAny(s[:start], ends)+1:start], s[end:]
	if i := strings.IndexAny(behind, ends); i >= 0 {
		behind = behind[:i]
	}
	if before != "" && !utf8.RuneStart(before[0]) { // behind an end of several bytes
		before = strings.ToValidUTF8(before, "")
	}
	return before, behind
}
