// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package period reads the stretches of time that a text names, in English and Chinese, by
// rules: "last week", "in May 2023", 三天前.
package period

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/einomem/einomem/internal/text"
)

// simple returns a text in simplified characters, in which the rules are written. Offsets stay.
var simple = text.Simplified

// Period is a stretch of time that a text names.
type Period struct {
	Text  string    // as written in the text, in normal form (NFKC) and simplified characters
	From  time.Time // the first instant in it; zero: all time before Until
	Until time.Time // the first instant after it; always after From
	// Sure says that the calendar alone decides: the text says which year, or how far
	// from now. "last Monday" and "in March" are unsure: people mean several days by
	// them.
	Sure bool
}

// Contains reports whether an instant lies in the period.
func (p Period) Contains(t time.Time) bool { return !t.Before(p.From) && t.Before(p.Until) }

// Overlaps reports whether two periods have an instant in common.
func (p Period) Overlaps(q Period) bool { return p.From.Before(q.Until) && q.From.Before(p.Until) }

// String returns the period in whole days, as machines write it: 2024-03-05, 2024-03, 2024,
// 2024-03-05/2024-03-07, or ../2024-03-07 for all time before.
func (p Period) String() string {
	last := p.Until.Add(-1)
	if p.From.IsZero() {
		return "../" + last.Format(time.DateOnly)
	}
	y, m, d := p.From.Date()
	switch loc := p.From.Location(); {
	case p.Until.Equal(midnight(date(y, m, d+1), loc)):
		return p.From.Format(time.DateOnly)
	case d == 1 && p.Until.Equal(midnight(date(y, m+1, 1), loc)):
		return p.From.Format("2006-01")
	case d == 1 && m == time.January && p.Until.Equal(midnight(date(y+1, 1, 1), loc)):
		return p.From.Format("2006")
	}
	return p.From.Format(time.DateOnly) + "/" + last.Format(time.DateOnly)
}

// found is a period with its offsets in the text, and how it is named.
type found struct {
	start, end int
	span
	named
}

// maxTimeText is how many bytes of a text are searched for times.
const maxTimeText = 16 << 10

// Find returns the stretches of time that a text names, in the order of the text, as a
// speaker at now means them. Days begin in the zone of now. It reads years, months, weeks,
// days, weekdays and seasons, named or counted from now, and dates as machines write them. A
// month or a day without a year is the latest one that began. It skips ambiguous dates such
// as 3/4/2024, times of day, and feasts, and the part of a text behind its first 16 KiB.
func Find(s string, now time.Time) []Period {
	s = simple(norm.NFKC.String(strings.ToValidUTF8(s[:min(len(s), maxTimeText)], "")))
	if !mayNameTimes(s) {
		return nil
	}
	return direct(s, longest(scan(s, date(now.Date()))), now)
}

// scan returns all possible names of a time in a text, as meant today.
func scan(s string, today time.Time) (all []found) {
	forms := englishTimes
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		forms = slices.Concat(englishTimes, chineseTimes)
	}
	for _, form := range forms {
		for _, at := range form.FindAllStringSubmatchIndex(s, -1) {
			g, start := map[string]string{}, at[0]
			for i, name := range form.SubexpNames() {
				if at[2*i] >= 0 {
					g[name] = strings.ToLower(s[at[2*i]:at[2*i+1]])
				}
				if name == "core" { // the words before it only say that it is meant
					start = at[2*i]
				}
			}
			if in, ok := readTime(today, g); ok && apart(s, start, at[1]) && (g["ago"] == "" || !more.MatchString(s[max(0, start-12):start])) {
				all = append(all, found{start, at[1], in, howNamed(g)})
			}
		}
	}
	return all
}

// more stands before a part of a number or a bound: "two and a half years ago", "over two years ago".
var more = regexp.MustCompile(`(?i)\b(?:and|or|to|over|than|half|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|(?:day|week|month|year)s?,?)[ -]$`)

// Dates says which days the words for times in a text mean, such as "tomorrow = 2026-11-28",
// counted from when it was said. It has only days that the calendar decides, at most eight.
func Dates(text string, said time.Time) []string {
	var out []string
	for _, p := range Find(text, said) {
		if day := p.String(); p.Sure && day != p.Text && len(out) < 8 {
			out = append(out, p.Text+" = "+day)
		}
	}
	return out
}

// hints are words of times in a text without digits.
var hints = strings.Fields(`day week month year night morning noon evening tomorrow jan feb mar apr may jun jul aug sep
	oct nov dec spring summer autumn fall winter mon tue wed thu fri 年 月 周 星期 礼拜 日 天 昨 今 明 春 夏 秋 冬`)

// mayNameTimes is a first look, at a hundredth of the cost of the forms.
func mayNameTimes(s string) bool {
	s = strings.ToLower(s)
	return beginsNumber(s) || slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(s, h) })
}

// beginsNumber reports whether s has a number outside a word, unlike w12.
func beginsNumber(s string) bool {
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		if word[0] <= '9' {
			return true
		}
	}
	return false
}

// apart reports whether a match stands alone, outside a longer number, date or name.
func apart(s string, start, end int) bool {
	first, _ := utf8.DecodeRuneInString(s[start:])
	before, _ := utf8.DecodeLastRuneInString(s[:start])
	if isNumeral(first) && (isNumeral(before) && unicode.IsDigit(first) == unicode.IsDigit(before) || strings.ContainsRune(".-/:$#_~第百千几数", before)) {
		return false
	}
	rest := s[end:]
	if !unicode.IsDigit(rune(s[end-1])) || rest == "" {
		return true
	}
	piece := strings.ContainsRune(".-/:,", rune(rest[0])) && len(rest) > 1 && unicode.IsDigit(rune(rest[1]))
	return !unicode.IsDigit(rune(rest[0])) && rest[0] != '_' && !piece
}

func isNumeral(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune(chineseNumerals, r) }

// longest drops matches that overlap a longer one: "March 5, 2024" is one day, instead of
// a month or a year.
func longest(all []found) []found {
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.end-b.start, a.end-a.start), cmp.Compare(a.start, b.start))
	})
	var kept []found
	for _, f := range all {
		if !slices.ContainsFunc(kept, func(k found) bool { return f.start < k.end && k.start < f.end }) {
			kept = append(kept, f)
		}
	}
	slices.SortFunc(kept, func(a, b found) int { return cmp.Compare(a.start, b.start) })
	return kept
}

var (
	joins      = regexp.MustCompile(`(?i)^\s*(?:to|until|till|through|-|–|—|~|到|至)\s*(?:the\s+)?$`)
	joinsAnd   = regexp.MustCompile(`(?i)^\s*(?:and|和|与)\s*(?:the\s+)?$`)
	opensRange = regexp.MustCompile(`(?i)(?:\bbetween|在)\s*(?:the\s+)?$`)
	turnsAhead = regexp.MustCompile(`(?i)\b(since|after|before|until|till)\s+(?:the\s+)?$`)
	turnsBack  = regexp.MustCompile(`^(?:份)?(以来|至今|起|之前|以前|前|之后|以后|后)`)
)

// direct joins "from … to …", turns "since …" and its like to the side that they mean, and
// returns the periods in the zone of now.
func direct(s string, all []found, now time.Time) []Period {
	tonight := date(now.Date()).AddDate(0, 0, 1)
	var out []Period
	for i := 0; i < len(all); i++ {
		f, word := all[i], ""
		before := s[max(0, f.start-24):f.start]
		if i+1 < len(all) {
			next := all[i+1]
			gap := s[f.end:min(next.start, f.end+24)]
			if (joins.MatchString(gap) || joinsAnd.MatchString(gap) && opensRange.MatchString(before)) && !f.from.After(next.from) {
				f.end, f.until, f.sure = next.end, next.until, f.sure && next.sure
				i++
			}
		}
		if m := turnsAhead.FindStringSubmatchIndex(before); m != nil {
			word, f.start = strings.ToLower(before[m[2]:m[3]]), f.start-len(before)+m[0]
		} else if m := turnsBack.FindStringSubmatch(s[f.end:]); m != nil {
			word, f.end = m[1], f.end+len(m[0])
		}
		f.turn(word, tonight)
		p := Period{Text: strings.TrimSpace(s[f.start:f.end]), Until: midnight(f.until, now.Location()), Sure: f.sure && word == ""}
		if !f.from.IsZero() {
			p.From = midnight(f.from, now.Location())
		}
		if p.From.Before(p.Until) && f.from.Year() > 0 && f.until.Year() <= 9999 {
			out = append(out, p)
		}
	}
	return out
}

// turn changes a span to the meaning of a word before or behind it.
func (s *span) turn(word string, tonight time.Time) {
	switch word {
	case "since", "以来", "至今", "起":
		if s.until.Before(tonight) {
			s.until = tonight
		}
	case "after", "之后", "以后", "后":
		s.from, s.until = s.until, tonight
		if !s.from.Before(tonight) {
			s.until = s.from.AddDate(1, 0, 0)
		}
	case "before", "之前", "以前", "前":
		s.from, s.until = time.Time{}, s.from
	case "until", "till":
		s.from = time.Time{}
	}
}

// englishTimes and chineseTimes are the forms in which people say times and machines write
// dates. The groups of a form give its meaning: see readTime.
var (
	englishTimes = forms(`(?i)\b`, []string{
		"{yyyy}", `(?:(?P<year>(?:1[5-9]|2[01])\d\d)|'(?P<year>\d\d))`,
		"{year}", `(?:{yyyy}|(?P<yearword>(?:last|this|next) year))`,
		"{month}", `(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`,
		"{day}", `(?P<day>\d{1,2})(?:st|nd|rd|th)?`,
		"{n}", `(?P<n>\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a couple(?: of)?)`,
		"{unit}", `(?P<unit>day|week|weekend|month|year)s?`,
		"{many}", `(?:{n} {unit}|(?P<n>a fortnight))`,
		"{side}", `(?P<side>last|past|previous|this|current|next|coming)`,
		"{season}", `(?P<season>spring|summer|autumn|fall|winter)`,
		"{weekday}", `(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)`,
		"{weekof}", `(?P<weekof>(?:last|this|next) week)`,
		// "Sunday evenings" are many days, "Sunday 5/3" is of another week, and "Sunday, 5 March" a date.
		"{other}", `(?P<not>(?: morning| afternoon| evening| night)?,? (?:(?:mornings|afternoons|evenings|nights|lunches|dinners|lessons|classes|meetings|shifts|of|in {month}|after next|before last)\b|(?:the )?(?:\d+(?:st|nd|rd|th|[./]\d)|\d{4}-\d|\d+ {month}|{month}\.? \d)))?`,
	},
		`{yyyy}(?:[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2}))?)?(?:T[\d:.]+Z?)?(?:(?:/|\.\.| to )(?P<lastyear>\d{4})-(?P<lastmonth>\d\d)(?:-(?P<lastday>\d\d))?)?\b`,
		`(?:(?P<named>day before yesterday|day after tomorrow|yesterday|today|tonight|tomorrow|last night|this morning|this afternoon|this evening)|(?P<not>(?:song|film|movie|book|album|called|named|titled) "?(?-i:Yesterday|Today|Tonight|Tomorrow)))\b`,
		`{many} (?:(?P<ago>ago)|(?P<ahead>from now|from today))\b`,
		`(?P<ahead>in) {many}\b(?P<not>,? (?:and )?(?:{n} {unit}|a half)\b)?`,
		`(?:last|past|previous|recent) {n} {unit}\b`,
		`(?:{side} (?P<unit>week|weekend|month|year)\b(?P<not> of\b)?|{unit} (?P<side>after next|before last)\b)`,
		`(?:(?P<edge>start|beginning|end) of {side}|by the (?P<edge>end) of the) (?P<unit>month|year)\b`,
		`(?:(?P<not>monday (?:to|through) friday\b)|(?:(?P<not>(?:first|second|third|fourth|\d(?:st|nd|rd|th)|following|same|other|another|one|that) )|{side} |{weekof},? (?:on )?|{n} weeks? from )?{weekday}(?: (?:of )?{weekof}\b| (?P<n>week)\b(?P<not> \d)?|,? (?:the )?(?P<day>\d{1,2})(?:st|nd|rd|th)\b(?P<not> (?:of )?{month})?|\b{other}))`,
		`(?:{side}|on|by|until|till|since) (?P<core>(?P<weekday>mon|tues?|wed|thu(?:rs?)?|fri)\b{other})`,
		`{month}\.? {day}(?:,? {year})?\b`,
		`{day} (?:of )?{month}\b\.?(?:,? {year})?`,
		`{month}\.?,? (?:of )?{yyyy}\b`,
		// A month or a season alone is too often another word: the word before it decides.
		`(?:{side}|in|during|since|until|till|before|after|by|early|mid|late)[ -](?:early |mid |late )?(?P<core>{month}\b(?:,? (?:of )?{year}\b)?(?P<not> be\b)?)`,
		`(?:{side}|in|during|since) (?:the )?(?P<core>{season}\b(?: {year}\b)?)`,
		`(?:{season} {yyyy}|{season} of {year}|{year},? in (?:the )?(?:{month}|{season}))\b`,
	)
	chineseTimes = forms(``, []string{
		"{n}", `(?P<n>[0-9]{1,3}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])`,
		"{unit}", `(?P<unit>天|周|星期|礼拜|个星期|个礼拜|个月|年)`,
		"{side}", `(?P<side>上上|上|这|本|下下|下)(?:个|一)?`,
		"{month}", `(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九]) ?月`,
		"{day}", `(?:份| ?(?P<day>[0-3]?[0-9]|[一二三四五六七八九十]{1,3}) ?[日号](?:[ ,(]*(?:周|星期|礼拜)[一二三四五六日天]\)?)?|(?P<not>初[一二三四五六七八九十]|廿|二?十[一二三四五六七八九]|[二三]十))?`,
		"{season}", `(?P<season>[春夏秋冬])[天季]`,
		"{weekday}", `(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])`,
		"{part}", `(?:的?(?:{month}{day}|{season}))?`,
	},
		`(?P<named>大前天|前天|昨天|昨日|昨晚|昨夜|今天|今日|今晚|今早|明天|明日|明晚|明早|大后天|后天)(?P<not>》)?`,
		`(?P<yearword>大前年|前年|去年|今年|明年|大后年|后年){part}`,
		`(?P<year>(?:1[5-9]|2[01])[0-9]{2}|[一二][零〇一二三四五六七八九]{3}) ?年 ?{part}`,
		`(?P<year>[0-9]{2})年{month}{day}`,
		`(?P<weekof>上上|上|这|本|下下|下)(?:个|一)?(?:周|星期|礼拜)(?:的?(?:周|星期|礼拜))?(?P<weekday>[一二三四五六日天])`,
		`(?:{side}(?P<unit>月)|(?P<side>大?前年|去年|今年|明年|大?后年)年?)(?P<edge>[初底])`,
		`{side}(?P<unit>周末|周|星期|礼拜)`,
		`{side}(?:月(?:份|(?P<day>[0-3]?[0-9]|[一二三四五六七八九十]{1,3})[日号])|(?P<unit>月))`,
		`(?P<not>周一[到至]周五|星期一[到至]星期五)|(?P<not>每|各|个|[一二两三四五六七八九十几半0-9])?{weekday}(?P<not>次|[ ,]*(?:{month}|[0-9]{4}年))?`, // 每周一 is no day
		// A month of the moon, or of another year.
		`(?P<not>[农阴旧]历|前的?|那年的?)?(?:{month}{day}|{season})`,
		`(?:{n}{unit}(?:之|以)?(?P<ago>前|后)|(?P<ahead>再过){n}{unit})`,
		`(?:最近|过去|近)的?这?{n}{unit}`,
	)
)
