// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// shown is the score from which on a note shows a memory, beside a better one.
const shown = 0.05

// sunday is when questions are asked.
var sunday = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

const lifeEN = `bought a red bicycle|has a sister Anna in Bergen|is allergic to peanuts|learns the cello|is a nurse at the city hospital|has a dog called Max|
	prefers tea to coffee|heard a concert with Tom|grows tomatoes on a balcony|pays 900 euros of rent|has a thesis on bats|met Lena at the climbing hall|
	had a car that broke down near Bonn|gave up smoking|has parents in Lyon|flew to Oslo|had an interview at Siemens|painted the kitchen yellow|
	has a son Paul who swims|lost a blue umbrella|had a fitting on the 3rd`

const lifeZH = `买了一辆红色自行车|有个妹妹小红，住杭州|对花生过敏|在学大提琴|是市医院的护士|养了一条狗叫旺财|爱喝茶不爱喝咖啡|跟王强听了音乐会|在阳台种番茄|房租九百元|
	论文研究蝙蝠|在攀岩馆认识李娜|的车在武汉坏了|戒烟了|父母住广州|飞了昆明|去华为面试|把厨房刷了黄漆|儿子小明学游泳|丢了一副蓝色手套|3月3号彩排了婚礼`

// aLife returns a ranker over the memories of a text, all said at one time.
func aLife(t *testing.T, life, who string, said time.Time) *Ranker {
	s := newStore(1)
	r := newRanker(t, s, func(c *Config) { c.Clock = func() time.Time { return sunday } })
	var all []store.Mutation
	for i, text := range strings.Split(life, "|") {
		all = append(all, put(backends.Memory{ID: fmt.Sprint(i), Kind: backends.KindFact, Text: who + strings.TrimSpace(text), Observed: said.Add(time.Duration(i) * time.Minute)}))
	}
	apply(t, s, ann, all...)
	return r
}

var saturday, theWeekBefore = sunday.AddDate(0, 0, -1), sunday.AddDate(0, 0, -9)

// What is asked for beside a time decides what is found: nobody who asks for the weather in March wants
// all of March.
func TestATimeBesideSomethingElseFindsNothingByItself(t *testing.T) {
	for life, queries := range map[string][]string{
		lifeEN: {
			"What is the weather in Rome in March?", "Recommend a film for this weekend", "Who won the election in March?", "Is the Louvre open today?",
			"How do I export the sales of this month to CSV?", "Plan meals for this week", "Translate into French: see you in March", "rome weather march",
			"What is new in Go 1.27 this month?", "Which exhibitions open in Vienna this weekend?", "Fix the query that sums revenue of March 2026", "Did it rain in Lisbon yesterday?",
			"What is the pound worth against the yen today?", "When does Easter fall in 2026?", "Draft a newsletter about bees for March", "May I use semicolons?",
		},
		lifeZH: {
			"三月罗马天气怎么样？", "推荐一部这周末看的电影", "3月的选举谁赢了？", "今天卢浮宫开门吗？", "用SQL查询最近一周的销量", "最近SQL优化有哪些思路",
			"翻译成法语：我们三月见", "今年有哪些新书", "昨天的股价", "本周末维也纳展览推荐", "2026年3月的营收求和语句", "昨天里斯本下雨没有",
			"今天英镑兑日币", "2026年复活节是哪天", "写一篇三月的蜜蜂通讯", "这周的菜谱",
		},
	} {
		for _, said := range []time.Time{saturday, theWeekBefore} {
			r := aLife(t, life, map[string]string{lifeEN: "The user ", lifeZH: "用户"}[life], said)
			for _, query := range queries {
				for _, h := range search(t, r, ann, backends.SearchRequest{Query: query, TopK: 50}) {
					require.Less(t, h.Score, shown, "%s: %s", query, h.Text)
				}
			}
		}
	}
}

// A question for a time finds what is of it, whatever it calls things that are done or said.
func TestAQuestionForATimeFindsAllOfIt(t *testing.T) {
	for life, queries := range map[string]map[string]time.Time{
		lifeEN: {
			"What did I do in March?": saturday, "What happened last week?": theWeekBefore, "What did we talk about yesterday?": saturday, "Anything I told you yesterday?": saturday,
			"Summarise last week for me": theWeekBefore, "What have I been up to this week?": saturday, "What are my plans for this weekend?": saturday, "Where was I yesterday?": saturday,
			"Did anything happen to me yesterday?": saturday, "Can you tell me again what I said on 28 March?": saturday, "What was my last week like?": theWeekBefore,
			"Remind me what went on in March 2026": theWeekBefore, "Tell me about my March": saturday, "Give me an overview of this month, please": saturday,
			"What did I mention two days ago or yesterday?": saturday, "how was my day yesterday": saturday,
		},
		lifeZH: {
			"我三月做了什么？": saturday, "上周发生了什么？": theWeekBefore, "昨天我们聊了什么": saturday, "昨天我跟你说过什么": saturday, "帮我回顾一下上周": theWeekBefore,
			"上周我都忙什么了": theWeekBefore, "3月有什么事": saturday, "昨天我去了哪里": saturday, "我昨天都干了些什么": saturday, "请总结一下最近一周的情况": saturday,
			"三月份有什么值得记住的": theWeekBefore, "这个月我经历了什么": saturday, "3月28号我做了什么": saturday, "昨天过得怎么样": saturday, "上周末之前的那一周，上周，有什么安排": theWeekBefore,
			"这周我有什么计划": saturday,
		},
	} {
		for query, said := range queries {
			r := aLife(t, life, map[string]string{lifeEN: "The user ", lifeZH: "用户"}[life], said)
			hits := search(t, r, ann, backends.SearchRequest{Query: query, TopK: 50})
			require.Len(t, hits, 21, query)
			require.GreaterOrEqual(t, hits[20].Score, 2*shown, query)
		}
	}
}

func TestWhatIsAskedForComesFirstWithinItsTime(t *testing.T) {
	for _, tt := range [][3]string{
		{lifeEN, "What did I say about Anna in March?", "has a sister Anna in Bergen"}, {lifeEN, "Who swims this week?", "has a son Paul who swims"},
		{lifeEN, "Where did I lose my umbrella yesterday?", "lost a blue umbrella"}, {lifeEN, "Which concert was it, this month?", "heard a concert with Tom"},
		{lifeZH, "三月我说过小红什么？", "有个妹妹小红，住杭州"}, {lifeZH, "昨天丢了的雨伞", "丢了一副蓝色手套"}, {lifeZH, "这周跟王强做了什么", "跟王强听了音乐会"},
		{lifeZH, "3月去哪里面试了", "去华为面试"},
	} {
		r := aLife(t, tt[0], "", saturday)
		hits := search(t, r, ann, backends.SearchRequest{Query: tt[1]})
		require.NotEmpty(t, hits, tt[1])
		require.Equal(t, tt[2], hits[0].Text, tt[1])
		require.GreaterOrEqual(t, hits[0].Score, 2*shown, tt[1])
	}
}

// What says the month itself is found by it, whenever it was said.
func TestAMonthWithinATextIsAWord(t *testing.T) {
	for _, said := range []time.Time{saturday, sunday.AddDate(0, -2, 0)} {
		for query, text := range map[string]string{
			"Who is coming to visit in March?": "Ben arrives on 30 March", "三月谁来做客": "小明三月三十号到", "Which guests come in March?": "Ben arrives on 30 March",
		} {
			r := aLife(t, lifeEN+"|"+text, "", said)
			require.Equal(t, text, search(t, r, ann, backends.SearchRequest{Query: query})[0].Text, query)
		}
	}
}

// What is not learnt yet is found as what is stored.
func TestNorDoesATimeFindWhatIsNotLearntYet(t *testing.T) {
	r := aLife(t, lifeEN, "", saturday)
	beside := []backends.Memory{{Kind: backends.KindEpisode, Text: "I sold my bicycle", Observed: saturday, Origin: backends.Origin{Role: "user"}}}
	require.Empty(t, search(t, r, ann, backends.SearchRequest{Query: "What is the weather in Rome in March?", Beside: beside}))
	require.NotEmpty(t, search(t, r, ann, backends.SearchRequest{Query: "Who bought a bicycle in March?", Beside: beside}))
}
