// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import "time"

// calendar makes periods as they are seen at one moment: in its zone, with weeks
// that begin on Monday and seasons of the northern half of the earth.
type calendar struct{ now time.Time }

// date is the first instant of a day: midnight, or where clocks are put forward at
// midnight what comes next. Days and months beyond their ends count on.
func (c calendar) date(year int, month time.Month, day int) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, c.now.Location())
	y, m, d := t.Date()
	if time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(time.Date(year, month, day, 0, 0, 0, 0, time.UTC)) { // the day before
		_, t = t.ZoneBounds()
	}
	return t
}

// dateOfMonth is a day of a month, its last one where it has no such day.
func (c calendar) dateOfMonth(year int, month time.Month, day int) time.Time {
	last := time.Date(year, month+1, 0, 12, 0, 0, 0, time.UTC).Day()
	return c.date(year, month, min(day, last))
}

// between is the period from one midnight to another, if it is one in the common
// calendar.
func (c calendar) between(from, until time.Time, sure bool) (Period, bool) {
	if from.Year() < 1 || until.Year() > 9999 || !from.Before(until) {
		return Period{}, false
	}
	return Period{From: from, Until: until, Sure: sure}, true
}

// daysFrom is n days, the first of them offset days from today.
func (c calendar) daysFrom(offset, n int) (Period, bool) {
	y, m, d := c.now.Date()
	return c.between(c.date(y, m, d+offset), c.date(y, m, d+offset+n), true)
}

// monday is how many days from today this week's Monday is: 0 or less.
func (c calendar) monday() int { return -((int(c.now.Weekday()) + 6) % 7) }

// week is the week that is offset weeks from this one.
func (c calendar) week(offset int) (Period, bool) { return c.daysFrom(c.monday()+7*offset, 7) }

// weekend is the Saturday and Sunday of a week.
func (c calendar) weekend(offset int) (Period, bool) { return c.daysFrom(c.monday()+7*offset+5, 2) }

// weekday is a day of a week, 0 being Monday.
func (c calendar) weekday(offset, day int) (Period, bool) {
	return c.daysFrom(c.monday()+7*offset+day, 1)
}

// nearWeekday is the latest such day that is at least least days before today, or
// with ahead the next one after today.
func (c calendar) nearWeekday(day, least int, ahead bool) (Period, bool) {
	offset := c.monday() + day // this week's
	for ahead && offset <= 0 {
		offset += 7
	}
	for !ahead && offset > -least {
		offset -= 7
	}
	p, ok := c.daysFrom(offset, 1)
	p.Sure = false
	return p, ok
}

// month is the month that is offset months from this one.
func (c calendar) month(offset int) (Period, bool) {
	y, m, _ := c.now.Date()
	return c.between(c.date(y, m+time.Month(offset), 1), c.date(y, m+time.Month(offset)+1, 1), true)
}

// year is the year that is offset years from this one.
func (c calendar) year(offset int) (Period, bool) { return c.yearNamed(c.now.Year() + offset) }

func (c calendar) yearNamed(y int) (Period, bool) {
	return c.between(c.date(y, 1, 1), c.date(y+1, 1, 1), true)
}

// monthOf is a month of a year; year 0: the latest one that began.
func (c calendar) monthOf(year, month int) (Period, bool) {
	if month < 1 || month > 12 {
		return Period{}, false
	}
	sure := year != 0
	if year == 0 {
		year = c.now.Year()
		if c.date(year, time.Month(month), 1).After(c.now) {
			year--
		}
	}
	return c.between(c.date(year, time.Month(month), 1), c.date(year, time.Month(month)+1, 1), sure)
}

// dayOf is a day of a month of a year; year 0: the latest one that began.
func (c calendar) dayOf(year, month, day int) (Period, bool) {
	if year != 0 {
		return c.exact(year, month, day, true)
	}
	for y := c.now.Year(); y > c.now.Year()-9; y-- { // a 29th of February is at most 8 years away
		if p, ok := c.exact(y, month, day, false); ok && !p.From.After(c.now) {
			return p, true
		}
	}
	return Period{}, false
}

// exact is a day, if the month has it.
func (c calendar) exact(year, month, day int, sure bool) (Period, bool) {
	t := c.date(year, time.Month(month), day)
	if month < 1 || day < 1 || t.Month() != time.Month(month) || t.Day() != day {
		return Period{}, false
	}
	return c.between(t, c.date(year, time.Month(month), day+1), sure)
}

// monthsOf is a stretch of n months of a year that begins with the given one; year 0:
// the latest one that began.
func (c calendar) monthsOf(year, first, n int) (Period, bool) {
	sure := year != 0
	if year == 0 {
		year = c.now.Year()
		if c.date(year, time.Month(first), 1).After(c.now) {
			year--
		}
	}
	return c.between(c.date(year, time.Month(first), 1), c.date(year, time.Month(first+n), 1), sure)
}

// quarter is the quarter that is offset quarters from this one.
func (c calendar) quarter(offset int) (Period, bool) {
	y, m, _ := c.now.Date()
	first := (m-1)/3*3 + 1 + time.Month(3*offset)
	return c.between(c.date(y, first, 1), c.date(y, first+3, 1), true)
}

// The first months of the seasons. A winter is named by the year in which it begins.
const (
	spring = 3
	summer = 6
	autumn = 9
	winter = 12
)

// season is the season that began most lately, or offset years before or after it.
func (c calendar) season(first, offset int) (Period, bool) {
	y := c.now.Year()
	if c.date(y, time.Month(first), 1).After(c.now) {
		y--
	}
	p, ok := c.monthsOf(y+offset, first, 3)
	p.Sure = false
	return p, ok
}

// unit is a unit of time in which people count.
type unit int

const (
	days unit = iota
	weeks
	months
	years
)

// away is the day, week, month or year that is n of them from now.
func (c calendar) away(n int, u unit) (Period, bool) {
	switch u {
	case weeks:
		return c.week(n)
	case months:
		return c.month(n)
	case years:
		return c.year(n)
	}
	return c.daysFrom(n, 1)
}

// past is the n units up to the end of today.
func (c calendar) past(n int, u unit) (Period, bool) {
	y, m, d := c.now.Date()
	until := c.date(y, m, d+1)
	switch u {
	case weeks:
		return c.between(c.date(y, m, d-7*n), until, true)
	case months:
		return c.between(c.dateOfMonth(y, m-time.Month(n), d), until, true)
	case years:
		return c.between(c.dateOfMonth(y-n, m, d), until, true)
	}
	return c.between(c.date(y, m, d-n), until, true)
}
