// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package period

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Wednesday, the 13th of March 2024.
var asked = time.Date(2024, 3, 13, 15, 4, 5, 0, time.UTC)

func TestTimesInQueries(t *testing.T) {
	for text, want := range map[string]string{
		// as machines write them
		"what happened on 2024-03-05?": "2024-03-05", "2023/11/2": "2023-11-02", "in 2024-02": "2024-02", "2024-03-05T10:00:00Z": "2024-03-05",
		"version 2.2024.1": "", "call 2024-555": "", "2023-02-30": "", "id_2024": "", "$2000,000": "",
		// English, named
		"in 2023": "2023", "the summer of 2023": "2023-06-01/2023-08-31", "What did I do in March 2023?": "2023-03", "on March 5th, 2024": "2024-03-05",
		"5 March": "2024-03-05", "the 20th of December": "2023-12-20", "in December": "2023-12", "in March": "2024-03", "last March": "2023-03", "next May": "2024-05",
		"this may be": "", "May I ask in May": "2023-05", "we march on": "",
		"on February 29": "2024-02-29", "February 30": "", "40 May": "",
		// English, from now
		"today": "2024-03-13", "YESTERDAY": "2024-03-12", "the day before yesterday": "2024-03-11", "tomorrow": "2024-03-14", "last night": "2024-03-12",
		"3 days ago": "2024-03-10", "two weeks ago": "2024-02-26/2024-03-03", "a month ago": "2024-02", "ten years ago": "2014",
		"last week": "2024-03-04/2024-03-10", "this weekend": "2024-03-16/2024-03-17", "next month": "2024-04", "last year": "2023",
		"last summer": "2023-06-01/2023-08-31", "next summer": "2024-06-01/2024-08-31", "this summer": "2024-06-01/2024-08-31", "last winter": "2023-12-01/2024-02-29",
		"Monday": "2024-03-11", "on Wednesday": "2024-03-13", "last Wednesday": "2024-03-06", "next Monday": "2024-03-18", "this Friday": "2024-03-15", "on Mondays": "",
		"the last 3 days": "2024-03-10/2024-03-13", "the past two months": "2024-01-13/2024-03-13", "9999 years ago": "", "0 days ago": "2024-03-13",
		"since January": "2024-01-01/2024-03-13", "before 2023": "../2022-12-31", "after 2022": "2023-01-01/2024-03-13", "until last week": "../2024-03-10",
		"from January to March 2024": "2024-03", "between 2021 and 2023": "2021-01-01/2023-12-31", "2021 to 2022": "2021-01-01/2022-12-31", "since last Monday": "2024-03-11/2024-03-13",
		// Chinese
		"昨天我说了什么": "2024-03-12", "大前天": "2024-03-10", "前天": "2024-03-11", "后天要做什么": "2024-03-15", "今晚": "2024-03-13",
		"上周": "2024-03-04/2024-03-10", "上周三": "2024-03-06", "上个星期天": "2024-03-10", "下礼拜一": "2024-03-18", "这周末": "2024-03-16/2024-03-17", "上上周": "2024-02-26/2024-03-03",
		"周五": "2024-03-08", "星期三见过谁": "2024-03-13", "每周一开会": "", "一周一次": "", "周末去哪了": "2024-03-09/2024-03-10",
		"上个月": "2024-02", "上月5号": "2024-02-05", "本月": "2024-03", "去年": "2023", "去年三月": "2023-03", "去年12月25日": "2023-12-25",
		"前年夏天": "2022-06-01/2022-08-31", "三月": "2024-03", "3月5号": "2024-03-05", "十二月": "2023-12", "13月": "", "三个月": "",
		"2023年": "2023", "二〇二三年五月": "2023-05", "2023年5月6日": "2023-05-06", "２０２３年５月": "2023-05", "23年5月": "2023-05",
		"三天前": "2024-03-10", "两周前": "2024-02-26/2024-03-03", "3个月前": "2023-12", "十年前": "2014", "二十三天后": "2024-04-05", "最近三天": "2024-03-10/2024-03-13",
		"过去两个月": "2024-01-13/2024-03-13", "去年以来": "2023-01-01/2024-03-13", "2023年之前": "../2022-12-31", "从去年三月到今年一月": "2023-03-01/2024-01-31",
		"冬天": "2023-12-01/2024-02-29", "2月30日": "", "": "",
	} {
		got := Find(text, asked)
		if want == "" {
			assert.Empty(t, got, text)
			continue
		}
		if assert.NotEmpty(t, got, text) {
			assert.Equal(t, want, got[len(got)-1].String(), text)
		}
	}
}

func TestATextMayNameSeveralTimes(t *testing.T) {
	var got []string
	for _, p := range Find("Yesterday, on 2024-01-02 and 去年 in the last week", asked) {
		got = append(got, p.Text+"="+p.String())
	}
	assert.Equal(t, []string{"Yesterday=2024-03-12", "2024-01-02=2024-01-02", "去年=2023", "last week=2024-03-04/2024-03-10"}, got)
}

func TestDaysBeginInTheZoneOfTheQuestion(t *testing.T) {
	shanghai := time.FixedZone("CST", 8*3600)
	late := time.Date(2024, 3, 12, 20, 0, 0, 0, time.UTC) // the 13th in Shanghai
	p := Find("昨天", late.In(shanghai))[0]
	assert.Equal(t, "2024-03-12", p.String())
	assert.True(t, p.Contains(time.Date(2024, 3, 11, 16, 0, 0, 0, time.UTC)))
	assert.False(t, p.Contains(late))
}

// In some zones clocks are put forward at midnight: the day begins at one.
func TestADayWithoutMidnightIsADay(t *testing.T) {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Skip("no zones here: ", err)
	}
	now := time.Date(2018, 11, 4, 12, 0, 0, 0, zone)
	for text, want := range map[string]string{
		"today": "2018-11-04", "yesterday": "2018-11-03", "tomorrow": "2018-11-05", "2018-11-04": "2018-11-04", "on November 4": "2018-11-04", "11月4日": "2018-11-04", "今天": "2018-11-04",
	} {
		got := Find(text, now)
		if assert.Len(t, got, 1, text) {
			assert.Equal(t, want, got[0].String(), text)
			read := Find(want, now)[0]
			assert.Equal(t, want, read.String())
			assert.True(t, read.From.Before(read.Until), text)
		}
	}
	day := Find("2018-11-04", now)[0]
	assert.Equal(t, 23*time.Hour, day.Until.Sub(day.From))
	if zone, err = time.LoadLocation("Pacific/Apia"); err == nil { // crossed the date line
		assert.Empty(t, Find("2011-12-30", now.In(zone)))
	}
}

func TestMonthsBackFromTheEndOfOneAreWhole(t *testing.T) {
	for now, want := range map[string]map[string]string{
		"2023-03-31": {"the last 1 month": "2023-02-28/2023-03-31", "最近一个月": "2023-02-28/2023-03-31"},
		"2024-04-30": {"the past two months": "2024-02-29/2024-04-30"},
		"2024-02-29": {"过去一年": "2023-02-28/2024-02-29", "the last two years": "2022-02-28/2024-02-29"},
		"2024-01-31": {"the last two months": "2023-11-30/2024-01-31"},
	} {
		at, err := time.Parse(time.DateOnly, now)
		require.NoError(t, err)
		for text, period := range want {
			got := Find(text, at)
			if assert.Len(t, got, 1, text) {
				assert.Equal(t, period, got[0].String(), text)
			}
		}
	}
}

func TestOnlyWhatTheCalendarDecidesIsSure(t *testing.T) {
	for text, want := range map[string]bool{"yesterday": true, "2 weeks ago": true, "上周三": true, "去年三月": true, "in March": false, "last Monday": false, "周三": false, "since 2020": false} {
		require.Len(t, Find(text, asked), 1, text)
		assert.Equal(t, want, Find(text, asked)[0].Sure, text)
	}
}

// moments are instants of three centuries in whole-hour zones.
func moments(t *rapid.T, name string) time.Time {
	zone := time.FixedZone("z", rapid.IntRange(-11, 13).Draw(t, name+" zone")*3600)
	return time.Unix(rapid.Int64Range(-2_200_000_000, 6_000_000_000).Draw(t, name), 0).In(zone)
}

func TestAPeriodContainsTheDayThatItNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := moments(t, "now")
		n := rapid.IntRange(0, 300).Draw(t, "n")
		day := now.AddDate(0, 0, -n)
		noon := func(d time.Time) time.Time {
			return time.Date(d.Year(), d.Month(), d.Day(), 12, 0, 0, 0, now.Location())
		}
		for _, text := range []string{
			day.Format(time.DateOnly), day.Format("2006/1/2"), day.Format("January 2, 2006"), day.Format("2 Jan 2006"), day.Format("2006年1月2日"), day.Format("in January 2006"),
			day.Format("January 2"), day.Format("1月2号"), day.Format("in 2006"), day.Format("2006年"), fmt.Sprintf("%d days ago", n), fmt.Sprintf("the last %d days", n), fmt.Sprintf("最近%d天", n),
		} {
			got := Find("Where was I "+text+"?", now)
			if len(got) != 1 || !got[0].Contains(noon(day)) || !got[0].From.Before(got[0].Until) {
				t.Fatalf("%q at %v: %v does not hold %v", text, now, got, day)
			}
			again := Find(got[0].String(), now)[0]
			if !again.From.Equal(got[0].From) || !again.Until.Equal(got[0].Until) {
				t.Fatalf("%q: %q is read as %v", text, got[0].String(), again)
			}
		}
	})
}

func TestAWeekdayIsThatDayOfTheWeek(t *testing.T) {
	zh := []string{"日", "一", "二", "三", "四", "五", "六"}
	rapid.Check(t, func(t *rapid.T) {
		now := moments(t, "now")
		day := time.Weekday(rapid.IntRange(0, 6).Draw(t, "day"))
		for _, text := range []string{day.String(), "last " + day.String(), "next " + day.String(), "this " + day.String(), "上周" + zh[day], "周" + zh[day], "下星期" + zh[day]} {
			got := Find(text, now)
			if len(got) != 1 || got[0].From.Weekday() != day || got[0].Until.Sub(got[0].From) != 24*time.Hour {
				t.Fatalf("%q at %v: %v", text, now, got)
			}
			switch past := !got[0].From.After(now); { // of a day that begins now, too
			case strings.HasPrefix(text, "last"), strings.HasPrefix(text, "上"), strings.HasPrefix(text, "周"), text == day.String():
				if !past {
					t.Fatalf("%q at %v is ahead: %v", text, now, got)
				}
			case strings.HasPrefix(text, "next"), strings.HasPrefix(text, "下"):
				if past {
					t.Fatalf("%q at %v is past: %v", text, now, got)
				}
			}
		}
	})
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{
		"", "last week", "三天前", "from 2020 to 2023", "since March 5th, 2024", "去年三月五号之前", "9999年12月31日", "99999999 years ago", "Q4 1500", "1500-01-01 \xff", "十十十天前", "next winter 2999", "每周一 第十年前", "0000-00-00",
		"9999 days ago in 9999 years 9999年后",
	} {
		f.Add(s, int64(1_710_000_000))
		f.Add(s, int64(-62_000_000_000))
		f.Add(s, int64(253_402_300_799))
	}
	f.Fuzz(func(t *testing.T, s string, at int64) {
		now := time.Unix(at%300_000_000_000, 0).UTC()
		for _, p := range Find(s, now) {
			if !p.From.Before(p.Until) || p.Text == "" {
				t.Fatalf("%q: %+v", s, p)
			}
		}
	})
}
