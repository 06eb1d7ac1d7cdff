// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"regexp"
	"strconv"
	"strings"
)

const (
	enMonth   = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
	enWeekday = `(monday|tuesday|wednesday|thursday|friday|saturday|sunday)`
	enSeason  = `(spring|summer|autumn|fall|winter)`
	enNumber  = `(\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a couple of)`
	enUnit    = `(day|week|month|year)s?`
	aYear     = `((?:1[5-9]|2[01])\d\d)`
)

// machineRules read dates as machines write them.
var machineRules = []rule{
	{regexp.MustCompile(aYear + `([-/.])(\d{1,2})([-/.])(\d{1,2})(?:T[\d:.]+Z?)?`), func(c calendar, m match) (Period, bool) {
		if touchesNumber(m) || m.group[2] != m.group[4] {
			return Period{}, false
		}
		return c.dayOf(number(m.group[1]), number(m.group[3]), number(m.group[5]))
	}},
	{regexp.MustCompile(aYear + `[-/](\d{1,2})`), func(c calendar, m match) (Period, bool) {
		if touchesNumber(m) {
			return Period{}, false
		}
		return c.monthOf(number(m.group[1]), number(m.group[2]))
	}},
}

// englishRules read English.
var englishRules = []rule{
	{regexp.MustCompile(`(?i)\b(day before yesterday|day after tomorrow|yesterday|today|tonight|tomorrow|last night|this morning|this afternoon|this evening)\b`), enDay},
	{regexp.MustCompile(`(?i)\b` + enNumber + ` ` + enUnit + ` ago\b`), func(c calendar, m match) (Period, bool) {
		return c.away(-number(m.group[1]), unitOf(m.group[2]))
	}},
	{regexp.MustCompile(`(?i)\bin ` + enNumber + ` ` + enUnit + `\b`), func(c calendar, m match) (Period, bool) {
		p, ok := c.away(number(m.group[1]), unitOf(m.group[2]))
		p.Sure = false // or: within
		return p, ok
	}},
	{regexp.MustCompile(`(?i)\b(?:last|past|previous|recent) ` + enNumber + ` ` + enUnit + `\b`), func(c calendar, m match) (Period, bool) {
		return c.past(number(m.group[1]), unitOf(m.group[2]))
	}},
	{regexp.MustCompile(`(?i)\b(last|past|previous|this|current|next|coming) (week|weekend|month|quarter|year|spring|summer|autumn|fall|winter)\b`), enRelative},
	{regexp.MustCompile(`(?i)\b(?:(last|past|previous|this|next|coming|on) )?` + enWeekday + `\b`), enDayOfWeek},
	{regexp.MustCompile(`(?i)\b` + enMonth + `\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? ` + aYear + `)?\b`), func(c calendar, m match) (Period, bool) {
		return c.dayOf(number(m.group[3]), monthNamed(m.group[1]), number(m.group[2]))
	}},
	{regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th)? (?:of )?` + enMonth + `\b\.?(?:,? ` + aYear + `)?`), func(c calendar, m match) (Period, bool) {
		return c.dayOf(number(m.group[3]), monthNamed(m.group[2]), number(m.group[1]))
	}},
	{regexp.MustCompile(`(?i)\b` + enMonth + `\.?,? (?:of )?` + aYear + `\b`), func(c calendar, m match) (Period, bool) {
		return c.monthOf(number(m.group[2]), monthNamed(m.group[1]))
	}},
	{regexp.MustCompile(`(?i)\b(in|during|since|until|till|before|after|by|early|mid|late|last|past|this|next|coming)[ -](?:early |mid |late )?` + enMonth + `\b`), enBareMonth},
	{regexp.MustCompile(aYear), func(c calendar, m match) (Period, bool) {
		if touchesNumber(m) || isLetter(m.after) || isLetterAtEnd(m.before) {
			return Period{}, false
		}
		return c.yearNamed(number(m.group[1]))
	}},
	{regexp.MustCompile(`(?i)\b((?:1[5-9]|2[01])\d)0'?s\b`), func(c calendar, m match) (Period, bool) {
		first := 10 * number(m.group[1])
		return c.between(c.date(first, 1, 1), c.date(first+10, 1, 1), true)
	}},
	{regexp.MustCompile(`(?i)\bq([1-4])(?:[ /-]?(?:of )?` + aYear + `)?\b`), func(c calendar, m match) (Period, bool) {
		return c.monthsOf(number(m.group[2]), 3*number(m.group[1])-2, 3)
	}},
	{regexp.MustCompile(`(?i)\b(first|second|third|fourth) quarter(?: of ` + aYear + `)?\b`), func(c calendar, m match) (Period, bool) {
		return c.monthsOf(number(m.group[2]), 3*ordinals[strings.ToLower(m.group[1])]-2, 3)
	}},
	{regexp.MustCompile(`(?i)\b` + enSeason + `(?: of)? ` + aYear + `\b`), func(c calendar, m match) (Period, bool) {
		return c.monthsOf(number(m.group[2]), seasonNamed(m.group[1]), 3)
	}},
	{regexp.MustCompile(`(?i)\b(?:in|during|since) (?:the )?` + enSeason + `\b`), func(c calendar, m match) (Period, bool) {
		return c.season(seasonNamed(m.group[1]), 0)
	}},
}

var ordinals = map[string]int{"first": 1, "second": 2, "third": 3, "fourth": 4}

func enDay(c calendar, m match) (Period, bool) {
	switch strings.ToLower(m.group[1]) {
	case "day before yesterday":
		return c.daysFrom(-2, 1)
	case "yesterday", "last night":
		return c.daysFrom(-1, 1)
	case "tomorrow":
		return c.daysFrom(1, 1)
	case "day after tomorrow":
		return c.daysFrom(2, 1)
	}
	return c.daysFrom(0, 1)
}

// enOffset is the side that a word turns a period to.
func enOffset(word string) int {
	switch strings.ToLower(word) {
	case "last", "past", "previous":
		return -1
	case "next", "coming":
		return 1
	}
	return 0
}

func enRelative(c calendar, m match) (Period, bool) {
	offset := enOffset(m.group[1])
	switch what := strings.ToLower(m.group[2]); what {
	case "week":
		return c.week(offset)
	case "weekend":
		return c.weekend(offset)
	case "month":
		return c.month(offset)
	case "quarter":
		return c.quarter(offset)
	case "year":
		return c.year(offset)
	default:
		p, ok := c.season(seasonNamed(what), 0)
		if running := ok && p.Contains(c.now); offset < 0 && running || offset > 0 || offset == 0 && !running {
			if offset == 0 {
				offset = 1 // this summer, said in spring
			}
			return c.season(seasonNamed(what), offset)
		}
		return p, ok
	}
}

func enDayOfWeek(c calendar, m match) (Period, bool) {
	day := weekdayNamed(m.group[2])
	switch word := strings.ToLower(m.group[1]); word {
	case "this":
		p, ok := c.weekday(0, day)
		p.Sure = false
		return p, ok
	default:
		offset := enOffset(word)
		return c.nearWeekday(day, -offset, offset > 0) // last: before today; else today's counts
	}
}

func enBareMonth(c calendar, m match) (Period, bool) {
	month := monthNamed(m.group[2])
	if strings.ToLower(m.group[2]) == "may" && m.group[2] != "May" { // "this may be"
		return Period{}, false
	}
	p, ok := c.monthOf(0, month)
	switch {
	case !ok:
		return p, false
	case enOffset(m.group[1]) > 0:
		p, ok = c.monthOf(p.From.Year()+1, month)
	case enOffset(m.group[1]) < 0 && p.Contains(c.now):
		p, ok = c.monthOf(p.From.Year()-1, month)
	case strings.EqualFold(m.group[1], "this"):
		p, ok = c.monthOf(c.now.Year(), month)
	}
	p.Sure = false
	return p, ok
}

// number reads a number in digits or in English words; what it cannot read is 0.
func number(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return map[string]int{
		"a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "three": 3, "four": 4, "five": 5, "six": 6,
		"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
	}[strings.ToLower(s)]
}

func unitOf(word string) unit {
	return map[string]unit{"day": days, "week": weeks, "month": months, "year": years}[strings.ToLower(word)]
}

// monthNamed returns 1 to 12: the first three letters are enough.
func monthNamed(word string) int {
	return strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(word[:3]))/3 + 1
}

// weekdayNamed returns 0 for Monday to 6.
func weekdayNamed(word string) int {
	return strings.Index("montuewedthufrisatsun", strings.ToLower(word[:3])) / 3
}

func seasonNamed(word string) int {
	return map[string]int{"spring": spring, "summer": summer, "autumn": autumn, "fall": autumn, "winter": winter}[strings.ToLower(word)]
}

// touchesNumber reports whether a match is a piece of a longer number, date or name.
func touchesNumber(m match) bool {
	before, after := m.before, m.after
	if before != "" && strings.ContainsRune("0123456789.-/:$#_", rune(before[len(before)-1])) {
		return true
	}
	if after == "" {
		return false
	}
	if after[0] >= '0' && after[0] <= '9' || after[0] == '_' {
		return true
	}
	return len(after) > 1 && strings.ContainsRune(".-/:,", rune(after[0])) && after[1] >= '0' && after[1] <= '9'
}

func isLetter(s string) bool {
	return s != "" && (s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z')
}

func isLetterAtEnd(s string) bool { return s != "" && isLetter(s[len(s)-1:]) }
