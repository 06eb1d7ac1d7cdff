// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	zhNumber = `([0-9]{1,4}|[一二两三四五六七八九十]{1,3})`
	zhMonth  = `(1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])`
	zhDay    = `([0-3]?[0-9]|[一二三四五六七八九十]{1,3})`
	zhYear   = `((?:1[5-9]|2[01])[0-9]{2}|[一二][零〇一二三四五六七八九]{3})`
	zhUnit   = `(天|周|星期|礼拜|个星期|个礼拜|个月|年)`
	// what may follow a year: a month with its day, a half, a quarter, a season
	zhPart = `(?:的?(?:` + zhMonth + `月(?:份|` + zhDay + `[日号])?|([上下])半年|第?([一二三四1-4])季度|([春夏秋冬])[天季]))?`
)

// chineseRules read Chinese. Groups that end in zhPart are month, day, half, quarter
// and season.
var chineseRules = []rule{
	{regexp.MustCompile(`(大前天|前天|昨天|昨日|昨晚|昨夜|今天|今日|今晚|今早|明天|明日|明晚|大后天|后天)`), zhNamedDay},
	{regexp.MustCompile(`(大前年|前年|去年|今年|明年|后年)` + zhPart), func(c calendar, m match) (Period, bool) {
		return zhPartOf(c, c.now.Year()+zhYears[m.group[1]], m.group[2:])
	}},
	{regexp.MustCompile(`(大前年|前年|去年|明年|后年)的?(?:今天|今日)`), func(c calendar, m match) (Period, bool) {
		_, month, day := c.now.Date()
		return c.exact(c.now.Year()+zhYears[m.group[1]], int(month), day, true)
	}},
	{regexp.MustCompile(zhYear + `年` + zhPart), func(c calendar, m match) (Period, bool) {
		if endsInDigit(m.before) {
			return Period{}, false
		}
		return zhPartOf(c, zhDigits(m.group[1]), m.group[2:])
	}},
	{regexp.MustCompile(`([0-9]{2})年` + zhMonth + `月(?:份|` + zhDay + `[日号])?`), func(c calendar, m match) (Period, bool) {
		if endsInDigit(m.before) {
			return Period{}, false
		}
		return zhPartOf(c, 2000+number(m.group[1]), []string{m.group[2], m.group[3], "", "", ""})
	}},
	{regexp.MustCompile(`(上上|上|这|本|下下|下)(?:个|一)?(?:周|星期|礼拜)([一二三四五六日天末])?`), zhWeek},
	{regexp.MustCompile(`(上上|上|这|本|下下|下)(?:个|一)?月(?:份|` + zhDay + `[日号])?`), func(c calendar, m match) (Period, bool) {
		p, ok := c.month(zhOffset(m.group[1]))
		if !ok || m.group[2] == "" {
			return p, ok
		}
		return c.exact(p.From.Year(), int(p.From.Month()), zhCount(m.group[2]), true)
	}},
	{regexp.MustCompile(`(上|这|本|下)(?:个|一)?季度`), func(c calendar, m match) (Period, bool) {
		return c.quarter(zhOffset(m.group[1]))
	}},
	{regexp.MustCompile(`(?:周|星期|礼拜)([一二三四五六日天末])`), zhWeekday},
	{regexp.MustCompile(zhMonth + `月(?:份|` + zhDay + `[日号])?`), func(c calendar, m match) (Period, bool) {
		if endsInDigit(m.before) || endsInNumeral(m.before) {
			return Period{}, false
		}
		if m.group[2] != "" {
			return c.dayOf(0, zhCount(m.group[1]), zhCount(m.group[2]))
		}
		return c.monthOf(0, zhCount(m.group[1]))
	}},
	{regexp.MustCompile(`第?([一二三四1-4])季度`), func(c calendar, m match) (Period, bool) {
		return c.monthsOf(0, 3*zhCount(m.group[1])-2, 3)
	}},
	{regexp.MustCompile(`([春夏秋冬])[天季]`), func(c calendar, m match) (Period, bool) {
		return c.season(zhSeason(m.group[1]), 0)
	}},
	{regexp.MustCompile(`([5-9]0|[五六七八九]十)年代`), func(c calendar, m match) (Period, bool) {
		if endsInDigit(m.before) {
			return Period{}, false
		}
		first := 1900 + zhCount(m.group[1])
		return c.between(c.date(first, 1, 1), c.date(first+10, 1, 1), true)
	}},
	{regexp.MustCompile(zhNumber + zhUnit + `(?:之|以)?(前|后)`), zhAway},
	{regexp.MustCompile(`半(?:个(月)|(年))(?:之|以)?(前|后)`), func(c calendar, m match) (Period, bool) {
		sign := -1
		if m.group[3] == "后" {
			sign = 1
		}
		if m.group[1] != "" {
			return c.daysFrom(sign*15, 1)
		}
		return c.month(sign * 6)
	}},
	{regexp.MustCompile(`(?:最近|过去|近)的?(?:这)?` + zhNumber + zhUnit), func(c calendar, m match) (Period, bool) {
		return c.past(zhCount(m.group[1]), zhUnitOf(m.group[2]))
	}},
	{regexp.MustCompile(`(?:最近|过去|近)的?(?:这)?半(个月|年)`), func(c calendar, m match) (Period, bool) {
		if m.group[1] == "年" {
			return c.past(6, months)
		}
		return c.past(15, days)
	}},
}

// zhYears is how far from this year the words for others are.
var zhYears = map[string]int{"大前年": -3, "前年": -2, "去年": -1, "明年": 1, "后年": 2}

func zhNamedDay(c calendar, m match) (Period, bool) {
	offset := map[string]int{"大前天": -3, "前天": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "明天": 1, "明日": 1, "明晚": 1, "后天": 2, "大后天": 3}[m.group[1]]
	return c.daysFrom(offset, 1)
}

// zhPartOf is a part of a year: its groups are those of zhPart.
func zhPartOf(c calendar, year int, g []string) (Period, bool) {
	switch {
	case year < 1:
		return Period{}, false
	case g[1] != "":
		return c.exact(year, zhCount(g[0]), zhCount(g[1]), true)
	case g[0] != "":
		return c.monthOf(year, zhCount(g[0]))
	case g[2] == "上":
		return c.monthsOf(year, 1, 6)
	case g[2] == "下":
		return c.monthsOf(year, 7, 6)
	case g[3] != "":
		return c.monthsOf(year, 3*zhCount(g[3])-2, 3)
	case g[4] != "":
		return c.monthsOf(year, zhSeason(g[4]), 3)
	}
	return c.yearNamed(year)
}

func zhOffset(word string) int {
	return map[string]int{"上上": -2, "上": -1, "下": 1, "下下": 2}[word]
}

func zhWeek(c calendar, m match) (Period, bool) {
	offset := zhOffset(m.group[1])
	switch day := m.group[2]; day {
	case "":
		return c.week(offset)
	case "末":
		return c.weekend(offset)
	default:
		return c.weekday(offset, zhDayOfWeek(day))
	}
}

// zhWeekday reads a day of the week that nothing says the week of. "每周一" and
// "一周一次" name none.
func zhWeekday(c calendar, m match) (Period, bool) {
	last, _ := utf8.DecodeLastRuneInString(m.before)
	if strings.ContainsRune("每各个一二两三四五六七八九十几半", last) || endsInDigit(m.before) || strings.HasPrefix(m.after, "次") {
		return Period{}, false
	}
	if m.group[1] != "末" {
		return c.nearWeekday(zhDayOfWeek(m.group[1]), 0, false)
	}
	offset := 0
	if c.monday() > -5 { // the weekend is still to come
		offset = -1
	}
	p, ok := c.weekend(offset)
	p.Sure = false
	return p, ok
}

// zhAway counts from now. "2023年之前" names a year, and counts none.
func zhAway(c calendar, m match) (Period, bool) {
	n := zhCount(m.group[1])
	if n == 0 || n > 999 && m.group[2] == "年" || endsInDigit(m.before) || endsInNumeral(m.before) || strings.HasSuffix(m.before, "第") {
		return Period{}, false
	}
	if m.group[3] == "前" {
		n = -n
	}
	return c.away(n, zhUnitOf(m.group[2]))
}

func zhUnitOf(word string) unit {
	switch word {
	case "天":
		return days
	case "年":
		return years
	case "个月":
		return months
	}
	return weeks
}

func zhSeason(word string) int {
	return map[string]int{"春": spring, "夏": summer, "秋": autumn, "冬": winter}[word]
}

// zhDayOfWeek returns 0 for Monday to 6.
func zhDayOfWeek(s string) int {
	if s == "日" || s == "天" {
		return 6
	}
	return zhCount(s) - 1
}

var zhNumerals = map[rune]int{'零': 0, '〇': 0, '一': 1, '二': 2, '两': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9}

// zhCount reads a number up to 99 in characters, or one in digits; what it cannot
// read is 0.
func zhCount(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	tens, ones, hasTen := strings.Cut(s, "十")
	if !hasTen {
		tens, ones = "", s
	} else if tens == "" {
		tens = "一"
	}
	if utf8.RuneCountInString(tens) > 1 || utf8.RuneCountInString(ones) > 1 || strings.Contains(ones, "十") {
		return 0
	}
	return 10*zhDigits(tens) + zhDigits(ones)
}

// zhDigits reads a number that is written digit by digit: 二〇二四.
func zhDigits(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	n := 0
	for _, r := range s {
		n = 10*n + zhNumerals[r]
	}
	return n
}

func endsInDigit(s string) bool {
	return s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9'
}

func endsInNumeral(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	_, ok := zhNumerals[r]
	return ok || r == '十'
}
