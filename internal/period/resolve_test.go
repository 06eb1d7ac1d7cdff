// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package period

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// read returns the stretches of time that a sentence names, said at a time, as "words=days".
func read(s string, said time.Time) string {
	var out []string
	for _, m := range Resolve(s, said) {
		days := m.First.Format("01-02")
		if m.First.Year() != said.Year() {
			days = m.First.Format(time.DateOnly)
		}
		if !m.Last.Equal(m.First) {
			days += ".." + m.Last.Format("01-02")
		}
		out = append(out, s[m.Start:m.End]+"="+days)
	}
	return strings.Join(out, " ")
}

// Thursday, the 26th of November 2026, in Shanghai.
var thursday = time.Date(2026, 11, 26, 18, 42, 0, 0, time.FixedZone("CST", 8*3600))

// The first half was written before the rules, the second when they were done: of its 31, 29 were
// read as meant at first sight. 我们周六看的那部电影真好看 still is taken for the next Saturday.
func TestWhatASpeakerMeans(t *testing.T) {
	for s, want := range map[string]string{
		"I fly to Oslo tomorrow":               "tomorrow=11-27",
		"明天下午两点开会":                             "明天=11-27",
		"Let's meet next Friday at noon.":      "next Friday=12-04",
		"My visa runs out in three weeks.":     "in three weeks=12-17",
		"I quit smoking three weeks ago":       "three weeks ago=11-05",
		"下周三要去看牙医。":                            "下周三=12-02",
		"I slept badly last night.":            "last night=11-25",
		"We're going camping this weekend":     "this weekend=11-28..11-29",
		"The exam is on Monday.":               "Monday=11-30",
		"I met Bob on Monday.":                 "Monday=11-23",
		"On Tuesday, I saw a film about bees.": "Tuesday=11-24",
		"I'm in Paris until Saturday":          "Saturday=11-28",
		"I've booked a table for Sunday.":      "Sunday=11-29",
		"I work from home on Fridays.":         "",
		"I call my mother every Sunday":        "",
		"I have time on Sunday evenings only":  "",
		"Tuesday lessons are fun":              "",
		"Today I feel fine.":                   "",
		"On 1 May I'm moving to Berlin":        "1 May=2027-05-01",
		"My birthday is on 3 March":            "",
		"I learned to swim in two weeks":       "",
		"He was born on 4 July 1990.":          "4 July 1990=1990-07-04",
		"The contract ends on 2027-01-31.":     "2027-01-31=2027-01-31",
		"We start next month.":                 "next month=12-01..12-31",
		"后天去上海出差":                              "后天=11-28",
		"我上周五搬家了":                              "上周五=11-20",
		"周一要交报告":                               "周一=11-30",
		"周一我去看了医生":                             "周一=11-23",
		"每周一开例会":                               "",
		"两个月前我换了工作":                            "两个月前=09-01..09-30",
		"下个月开始上班":                              "下个月=12-01..12-31",
		"我在北京待到周六":                             "周六=11-28",
		"下週三要去看牙醫。":                            "下週三=12-02",
		"\xff 後天去上海出差":                         "後天=11-28",
		"兩個月前我換了工作":                            "兩個月前=09-01..09-30",
		"禮拜一我去看了醫生":                            "禮拜一=11-23",
		"每週一開例會":                               "",

		"Dentist appointment got moved to next Tuesday":        "next Tuesday=12-01",
		"we're seeing the in-laws the day after tomorrow":      "day after tomorrow=11-28",
		"I haven't smoked since last Sunday":                   "last Sunday=11-22",
		"Flight's on Saturday morning, don't let me oversleep": "Saturday=11-28",
		"Had a terrible headache on Tuesday":                   "Tuesday=11-24",
		"My lease is up at the end of next month":              "end of next month=12-22..12-31",
		"The kids go back to school in two weeks.":             "in two weeks=12-10",
		"finished the whole series in a week lol":              "",
		"I gave up sugar a couple of weeks ago":                "a couple of weeks ago=11-12",
		"Grandma turned 90 two years ago":                      "two years ago=2024-01-01..12-31",
		"The parcel should arrive by Wednesday":                "Wednesday=12-02",
		"I usually go to the gym on Tuesday evenings":          "",
		"Sarah's recital was last Friday":                      "last Friday=11-20",
		"We close on the house on 14 December":                 "14 December=12-14",
		"I broke my arm on 2 November":                         "2 November=11-02",
		"Party at mine this Saturday!":                         "this Saturday=11-28",
		"I worked there from 2015 to 2019":                     "2015=2015-01-01..12-31 2019=2019-01-01..12-31",
		"昨晚没睡好":                                                "昨晚=11-25",
		"我订了周日的餐厅":                                             "周日=11-29",
		"下下周我要去日本玩":                                            "下下周=12-07..12-13",
		"三周前刚戒的烟":                                              "三周前=11-05",
		"上个月体检了，一切正常":                                          "上个月=10-01..10-31",
		"老板让我周二之前把方案发给他":                                       "周二=12-01",
		"这周末想去爬山":                                              "这周末=11-28..11-29",
		"12月5号考驾照":                                             "12月5号=12-05",
		"大后天是我们结婚纪念日":                                          "大后天=11-29",
		"再过两周就放假了":                                             "再过两周=12-10",
		"明年三月房租到期":                                             "明年三月=2027-03-01..03-31",
		"我每个周五都去游泳":                                            "",
		"Am I registered for the Tuesday yoga class?":          "",
		"My Friday shift got cancelled":                        "",
		"On the Friday I met Bob":                              "",
		"See you on Friday evening":                            "Friday=11-27",
		"前天买的手机今天就坏了":                                          "前天=11-24",
	} {
		assert.Equal(t, want, read(s, thursday), s)
	}
}

// Of these 59, 49 were read otherwise before the tests of other parsers were tried.
func TestWhatTheParsersOfOthersKnow(t *testing.T) {
	for s, want := range map[string]string{
		// wrong: a weekday beside its date, in another week, or one of several
		"The audit is on Tuesday, 12 January":       "12 January=2027-01-12",
		"I'm abroad until Friday, 18 December":      "18 December=12-18",
		"Rent is due Monday morning, January 4th":   "January 4th=2027-01-04",
		"The gig is on Saturday 19/12":              "",
		"Let's talk on Thursday next week":          "Thursday next week=12-03",
		"Next week, on Monday, the plumber comes":   "Next week, on Monday=11-30",
		"I saw the dentist on Tuesday last week":    "Tuesday last week=11-17",
		"The club meets on the first Monday of May": "",
		"The last Friday of June was hot":           "",
		"The Friday after next is free":             "",
		"That Sunday changed my life":               "",
		"I work Monday to Friday":                   "",
		"We'll be away from Saturday to Thursday":   "Saturday=11-28",
		"We'll be away from Saturday to Wednesday":  "Saturday=11-28 Wednesday=12-02",
		"周一到周五上班":                                   "",
		"周五12月18日去体检":                               "12月18日=12-18",
		"12月18日（周五）去体检":                             "12月18日（周五）=12-18",
		"十二月的第一个周三开会":                               "十二月=12-01..12-31",
		"上周的周二我请假了":                                 "上周的周二=11-17",
		// wrong: another year
		"I quit in March last year":                "March last year=2025-03-01..03-31",
		"Last year in July I broke my leg":         "Last year in July=2025-07-01..07-31",
		"We married in June '98.":                  "June '98=1998-06-01..06-30",
		"I was in Peru from 3 May 2021 to 5 July.": "3 May 2021=2021-05-03 5 July.=2021-07-05",
		"In my last year of school I got glasses":  "",
		"去年十月到二月我在南方":                              "去年十月=2025-10-01..10-31 二月=02-01..02-28",
		"我98年3月生的":                                 "98年3月=1998-03-01..03-31",
		"四年前的夏天我们认识了":                              "四年前=2022-01-01..12-31",
		"农历八月初三摆酒":                                 "",
		"三月十五上坟":                                   "",
		"2024 年 5 月 6 日搬的家":                        "2024 年 5 月 6 日=2024-05-06",
		"We may next year buy a house":             "next year=2027-01-01..12-31",
		"Prices fall this year":                    "",
		// wrong: a part of a number, or a bound
		"I moved here twenty-five years ago":    "",
		"They sold it two and a half years ago": "",
		"It broke a year and two months ago":    "",
		"It broke three or four weeks ago":      "",
		"That was over ten years ago":           "",
		"We had a birthday party two weeks ago": "two weeks ago=11-12",
		"The loan ends in a year and a half":    "",
		"三四天前寄的":                                "",
		"两三年前去过一次":                              "",
		"几十年前这里是海":                              "",
		"一百二十天后到期":                              "",
		"大后年毕业":                                 "大后年=2029-01-01..12-31",
		// the weekday tells the year
		"We had lunch, and the next meeting is on Tuesday, 8 December.": "8 December.=12-08",
		"The concert on Sunday 8 December was great":                    "",
		"I sold it on Monday, 8 December":                               "8 December=2025-12-08",
		// wrong: a name
		"I love the song Yesterday":  "",
		"My mother called yesterday": "yesterday=11-25",
		"昨晚看了《后天》":                   "昨晚=11-25",
		// missed
		"I got back a fortnight ago":             "a fortnight ago=11-12",
		"The lease starts on Monday week":        "Monday week=12-07",
		"The trial is two weeks from Friday":     "two weeks from Friday=12-11",
		"I'm off the week after next":            "week after next=12-07..12-13",
		"We were in Rome two weekends ago":       "two weekends ago=11-14..11-15",
		"She left a couple weeks ago":            "a couple weeks ago=11-12",
		"I have my exam on Friday the 11th.":     "Friday the 11th=12-11",
		"I hurt my back last Tues":               "Tues=11-24",
		"The sun is hot on sat nav screens":      "",
		"I'll finish it by the end of the month": "by the end of the month=11-21..11-30",
		"明年年底退休":                                 "明年年底=2027-11-01..12-31",
		"上个月底交了房租":                               "上个月底=10-22..10-31",
	} {
		assert.Equal(t, want, read(s, thursday), s)
	}
}

// Twelve were written before the rule, the others after it, of which 17 of 18 were read as meant
// at first sight.
func TestAgesAreThoseOfThePresent(t *testing.T) {
	for s, want := range map[string]int{
		"My son is 4 years old.": 4, "Emma turned six today.": 6, "I'm 30 years old and tired": 30, "我兒子今年四歲": 4, "女儿今年四岁": 4, "朵朵今天满六岁。": 6, "他12岁了": 12,
		"When I was 10 years old we moved.": 0, "他五岁的时候摔断了腿": 0, "The page turned 3 times": 3, "三岁以下免费": 0, "until she is 18 years old": 0, "I turned 20 pages": 0,
		"The user's twins are seven years old.": 7, "Grandpa just turned 90!": 90, "Our house is 120 years old": 120, "She turned 5 two years ago": 0,
		"He'll be 18 years old in May": 0, "My laptop is already 6 years old": 6, "Kids are free if they are 3 years old or younger": 0, "I have a 4 year old": 0,
		"It turned 10 degrees colder": 0, "我家猫三岁了，很胖": 3, "我爸65岁，刚退休": 65, "孩子七岁上小学": 7, "小明比我大三岁": 0, "他十八岁那年去了北京": 0,
		"我小时候三岁就会游泳": 0, "用户的儿子今年十一岁。": 11, "如果孩子满三岁": 0, "六十五岁以上老人": 0,
	} {
		ages := Ages(s)
		got := 0
		for _, age := range ages {
			got = age
		}
		assert.Equal(t, want, got, s)
	}
}
