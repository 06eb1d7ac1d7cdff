// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package period

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// span is a stretch of whole days. Its ends are dates without a zone; they are kept as
// instants in UTC.
type span struct {
	from, until time.Time
	sure        bool // see Period
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// midnight is the first instant of a day in a zone. If clocks are put forward at midnight, it is
// the next instant.
func midnight(day time.Time, loc *time.Location) time.Time {
	y, m, d := day.Date()
	t := time.Date(y, m, d, 0, 0, 0, 0, loc)
	if date(t.Date()).Before(day) {
		_, t = t.ZoneBounds()
	}
	return t
}

// unit is a unit of time in which people count. Weeks begin on Monday.
type unit int

const (
	day unit = iota
	week
	weekend
	month
	year
)

// around is the unit that is n units away from the one with the given day.
func (u unit) around(today time.Time, n int) span {
	y, m, d := today.Date()
	monday := d - weekdayOf(today) + 7*n
	switch u {
	case week:
		return span{date(y, m, monday), date(y, m, monday+7), true}
	case weekend:
		return span{date(y, m, monday+5), date(y, m, monday+7), true}
	case month:
		return months(y, int(m)+n, 1, true)
	case year:
		return months(y+n, 1, 12, true)
	}
	return span{date(y, m, d+n), date(y, m, d+n+1), true}
}

// past is the n units up to the end of today. A month that lacks the day begins with its
// last one.
func (u unit) past(today time.Time, n int) span {
	y, m, d := today.Date()
	until := date(y, m, d+1)
	switch u {
	case week:
		return span{date(y, m, d-7*n), until, true}
	case year:
		return month.past(today, 12*n)
	case month:
		last := date(y, m-time.Month(n)+1, 0).Day()
		return span{date(y, m-time.Month(n), min(d, last)), until, true}
	}
	return span{date(y, m, d-n), until, true}
}

// months is a stretch of n months that begins with the first of a month.
func months(y, first, n int, sure bool) span {
	return span{date(y, time.Month(first), 1), date(y, time.Month(first+n), 1), sure}
}

// weekdayOf returns 0 for Monday to 6.
func weekdayOf(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

// wordsForTimes have the words that count: days and years from now, sides before or after the
// present one, weekdays from Monday, the first months of seasons in the northern half of the
// earth, months.
var wordsForTimes = map[string]int{
	"day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0,
	"this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1, "day after tomorrow": 2,
	"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1, "ago": -1, "before last": -2, "after next": 2,
	"last year": -1, "this year": 0, "next year": 1, "last week": -1, "this week": 0, "next week": 1,
	"mon": 0, "tue": 1, "wed": 2, "thu": 3, "fri": 4, "sat": 5, "sun": 6,
	"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "end": 1, "底": 1,
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,

	"大前天": -3, "前天": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "今天": 0, "今日": 0, "今晚": 0, "今早": 0,
	"明天": 1, "明日": 1, "明晚": 1, "明早": 1, "后天": 2, "大后天": 3,
	"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2, "大后年": 3,
	"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2, "前": -1, "后": 1,
	"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "末": 5,
	"春": 3, "夏": 6, "秋": 9, "冬": 12,
}

var units = map[string]unit{
	"day": day, "week": week, "weekend": weekend, "month": month, "year": year,
	"天": day, "周": week, "星期": week, "礼拜": week, "个星期": week, "个礼拜": week, "周末": weekend, "月": month, "个月": month, "年": year,
}

// readTime returns the meaning of a match today, by its groups, which are named by their
// content.
func readTime(today time.Time, g map[string]string) (span, bool) {
	n, side, u := number(g["n"]), wordsForTimes[g["side"]], units[g["unit"]]
	weekday := wordsForTimes[g["weekday"][:min(3, len(g["weekday"]))]] // three letters, or one character
	switch {
	case g["not"] != "": // a word that makes it something else
		return span{}, false
	case g["named"] != "":
		return day.around(today, wordsForTimes[g["named"]]), true
	case g["ago"] != "":
		return u.around(today, n*wordsForTimes[g["ago"]]), n > 0 || g["n"] == "0"
	case g["ahead"] != "":
		s := u.around(today, n)
		s.sure = false // "I read it in a week" names no week
		return s, n > 0
	case n > 0 && g["unit"] != "":
		return u.past(today, n), true
	case g["edge"] != "": // ten days of a month, or two months of a year
		u = cmp.Or(u, year)
		s, months, days := u.around(today, side), 2*int(u-month), 10*int(year-u)
		if wordsForTimes[g["edge"]] > 0 {
			return span{from: s.until.AddDate(0, -months, -days), until: s.until}, true
		}
		return span{from: s.from, until: s.from.AddDate(0, months, days)}, true
	case g["unit"] != "" && g["side"] != "":
		return u.around(today, side), true
	case g["weekof"] != "":
		return day.around(week.around(today, wordsForTimes[g["weekof"]]).from, weekday), true
	case g["weekday"] != "" && g["day"] != "": // "Friday the 13th" is the nearest one
		for _, months := range []int{0, 1, -1, 2, -2} {
			if s, ok := readDate(today, g, months); ok && weekdayOf(s.from) == weekday {
				return s, true
			}
		}
		return span{}, false
	case g["weekday"] != "" && n > 0:
		return day.around(weekdayNear(today, weekday, "", 1).from, 7*n), true
	case g["weekday"] != "":
		s := weekdayNear(today, weekday, g["side"], side)
		if g["weekday"] == "末" {
			s.until = s.until.AddDate(0, 0, 1)
		}
		return s, true
	}
	return readDate(today, g, side)
}

// readDate reads a date or a part of a year.
func readDate(today time.Time, g map[string]string, side int) (span, bool) {
	y := number(g["year"])
	switch {
	case g["yearword"] != "":
		y = today.Year() + wordsForTimes[g["yearword"]]
	case len(g["year"]) == 2: // 98年 is past, 28年 at most twenty years ahead
		y = today.Year() + 20 - (today.Year()+20-y)%100
	}
	m := cmp.Or(number(g["month"]), wordsForTimes[g["month"][:min(3, len(g["month"]))]])
	switch {
	case g["lastyear"] != "": // a range as machines write it
		first, okA := readDate(today, map[string]string{"year": g["year"], "month": g["month"], "day": g["day"]}, 0)
		last, okB := readDate(today, map[string]string{"year": g["lastyear"], "month": g["lastmonth"], "day": g["lastday"]}, 0)
		return span{first.from, last.until, true}, okA && okB
	case g["day"] != "" && g["month"] == "":
		of := month.around(today, side).from
		return dayOf(today, of.Year(), int(of.Month()), number(g["day"]))
	case g["day"] != "":
		return dayOf(today, y, m, number(g["day"]))
	case g["month"] != "":
		return ofMonths(today, y, m, 1, g["side"], side)
	case g["season"] != "":
		return ofMonths(today, y, wordsForTimes[g["season"]], 3, g["side"], side)
	}
	return ofMonths(today, y, 1, 12, "", 0)
}

// ofMonths is a stretch of n months of a year. For year 0 it is the latest one that began,
// or the one that a word before it means.
func ofMonths(today time.Time, y, first, n int, word string, side int) (span, bool) {
	if first < 1 || first > 12 || y != 0 {
		return months(y, first, n, true), 1 <= first && first <= 12
	}
	s := months(today.Year(), first, n, false)
	if word == "this" {
		return s, true
	}
	if s.from.After(today) {
		s = months(today.Year()-1, first, n, false)
	}
	if side > 0 || side < 0 && today.Before(s.until) {
		s = months(s.from.Year()+side, first, n, false)
	}
	return s, true
}

// dayOf is a day of a month, if there is one; year 0: the latest one that began.
func dayOf(today time.Time, y, m, d int) (span, bool) {
	sure, first := y != 0, y
	if !sure {
		y, first = today.Year(), today.Year()-8 // a 29th of February is at most 8 years away
	}
	for ; y >= first; y-- {
		t := date(y, time.Month(m), d)
		if t.Month() == time.Month(m) && t.Day() == d && (sure || !t.After(today)) {
			return span{t, t.AddDate(0, 0, 1), sure}, true
		}
	}
	return span{}, false
}

// weekdayNear is a day of the week: of this week, the next one after today, or the latest
// one, which with "last" lies before today.
func weekdayNear(today time.Time, weekday int, word string, side int) span {
	offset := weekday - weekdayOf(today)
	switch {
	case word == "this":
	case side > 0 && offset <= 0:
		offset += 7
	case side < 0 && offset >= 0, side == 0 && offset > 0:
		offset -= 7
	}
	s := day.around(today, offset)
	s.sure = false
	return s
}

const chineseNumerals = "零〇一二两三四五六七八九十"

var (
	englishNumbers = map[string]int{
		"a": 1, "an": 1, "one": 1, "two": 2, "a couple": 2, "a couple of": 2, "week": 1, "a fortnight": 14, "three": 3, "four": 4, "five": 5, "six": 6,
		"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
	}
	chineseDigits = strings.NewReplacer("零", "0", "〇", "0", "一", "1", "二", "2", "两", "2", "三", "3", "四", "4", "五", "5", "六", "6", "七", "7", "八", "8", "九", "9")
)

// number reads a number in digits, in English words or in Chinese characters: numbers up
// to 99, and years digit by digit. An unreadable number is 0.
func number(s string) int {
	if n, ok := englishNumbers[s]; ok {
		return n
	}
	s = chineseDigits.Replace(s)
	if tens, ones, ok := strings.Cut(s, "十"); ok {
		s = cmp.Or(tens, "1") + cmp.Or(ones, "0")
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// forms compiles forms in which names in braces stand for parts, and parts of parts.
func forms(flags string, parts []string, list ...string) []*regexp.Regexp {
	r := strings.NewReplacer(parts...)
	out := make([]*regexp.Regexp, len(list))
	for i, form := range list {
		out[i] = regexp.MustCompile(flags + r.Replace(r.Replace(form)))
	}
	return out
}
