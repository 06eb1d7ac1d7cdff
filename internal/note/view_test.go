// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package note_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/note"
	"github.com/einomem/einomem/internal/text"
)

var shanghai = time.FixedZone("Asia/Shanghai", 8*3600)

func on(day string) time.Time {
	t, err := time.ParseInLocation("2006-01-02 15:04", day+" 12:00", shanghai)
	if err != nil {
		panic(err)
	}
	return t
}

func seen(day string, l backends.Language) note.View {
	return note.View{Language: l, Now: on(day).Add(6*time.Hour + 42*time.Minute)}
}

func fact(said, text string) backends.Hit {
	return backends.Hit{Memory: backends.Memory{Kind: backends.KindFact, Text: text, Observed: on(said), Origin: backends.Origin{Role: "user"}}}
}

func turn(said, text string) backends.Hit {
	h := fact(said, text)
	h.Kind = backends.KindEpisode
	return h
}

// after is a fact that replaced another one.
func after(oldSaid, old, said, now string) backends.Hit {
	h, b := fact(said, now), fact(oldSaid, old)
	h.Before = &b.Memory
	return h
}

func holding(h backends.Hit, from string) backends.Hit {
	h.Valid = on(from)
	return h
}

func TestTheClockSaysDayTimeAndZone(t *testing.T) {
	assert.Equal(t, "Today is Thursday, 26 November 2026, 18:42 (Asia/Shanghai).", seen("2026-11-26", backends.English).Clock())
	assert.Equal(t, "今天是 2026年11月26日 星期四 18:42（Asia/Shanghai）。", seen("2026-11-26", backends.Chinese).Clock())
	assert.Contains(t, note.View{Now: time.Date(2026, 1, 4, 7, 0, 0, 0, time.FixedZone("", -5400))}.Clock(), "Sunday, 4 January 2026, 07:00 (UTC-01:30)")
}

func TestWhatAlwaysAppliesStandsInOneLine(t *testing.T) {
	bullets, peanuts := fact("2026-03-01", "The user wants answers in bullet points."), fact("2026-03-02", "The user is allergic to peanuts.")
	home := holding(after("2025-01-01", "The user lives in Beijing.", "2026-11-21", "The user lives in Shanghai."), "2026-11-20")
	dog, order := fact("2026-03-03", "The user has a dog called Rex."), turn("2026-03-04", "Always answer in French.")
	for i, h := range []*backends.Hit{&bullets, &peanuts, &home, &dog, &order} {
		h.ID = fmt.Sprintf("memory-0000%d", i)
	}
	v := seen("2026-11-26", backends.English)
	standing := []backends.Hit{bullets, peanuts, home, order}
	lines, shown := v.Note(standing, []backends.Hit{dog, peanuts}, 1000)
	require.Equal(t, []string{
		"About the user: wants answers in bullet points; is allergic to peanuts; lives in Shanghai (until 20 Nov 2026: Beijing); “Always answer in French” (said 4 Mar 2026).",
		"Known facts:", "- The user has a dog called Rex. (said 3 Mar 2026)",
	}, lines)
	require.Len(t, shown, 5)
	again, _ := v.Note(standing, []backends.Hit{order, dog}, 1000)
	require.Equal(t, lines[0], again[0], "whatever is asked")
	v.IDs = true
	lines, _ = v.Note(standing[:2], nil, 1000)
	require.Equal(t, []string{"About the user: [memory-00000] wants answers in bullet points; [memory-00001] is allergic to peanuts."}, lines)
	v = seen("2026-11-26", backends.Chinese)
	lines, _ = v.Note([]backends.Hit{fact("2026-03-01", "用户对花生过敏。"), after("2025-01-01", "用户住在北京。", "2026-11-20", "用户住在上海。")}, nil, 1000)
	require.Equal(t, []string{"关于用户：对花生过敏；住在上海（之前：住在北京，至 2026年11月20日）。"}, lines)

	var many []backends.Hit
	for i := range 100 {
		many = append(many, fact("2026-03-01", fmt.Sprintf("The user always wants rule number %d to be kept.", i)))
	}
	lines, shown = v.Note(many, nil, 1000)
	require.LessOrEqual(t, text.Tokens(lines[0]), 200)
	require.NotEmpty(t, shown)
	lines, _ = v.Note(many, nil, 5)
	require.Empty(t, lines, "the room of the note bounds it, too")
}

func TestWhatChangedIsShownByWholeWords(t *testing.T) {
	for _, c := range [][3]string{
		{"The user lives in Beijing.", "The user lives in Shanghai.", "Beijing"},
		{"The user lives in New Delhi.", "The user lives in New York.", "New Delhi"},
		{"The user works as a nurse.", "The user works as a nurse's aide.", "nurse"},
		{"The user is married.", "The user is divorced.", "married"},
		{"The user is not married.", "The user is married.", "is not married"},
		{"The user is allergic to nuts.", "The user is no longer allergic to nuts.", ""},
		{"The user does not eat meat.", "The user does not eat fish.", "does not eat meat"},
		{"The user likes tea.", "The user hates tea.", "likes tea"},
		{"The user likes green tea.", "The user likes black tea.", "likes green tea"},
		{"The user speaks Spanish.", "The user speaks Spanish and Polish.", ""},
		{"The user speaks Spanish.", "The user speaks Polish and Spanish.", ""},
		{"The user likes tea and coffee.", "The user likes tea, coffee and juice.", ""},
		{"The user speaks Spanish and Polish.", "The user speaks Spanish.", "Polish"},
		{"The user likes tea and coffee.", "The user likes coffee and juice.", "tea"},
		{"The user likes tea, coffee and milk.", "The user likes tea.", "coffee and milk"},
		{"The user lives in Beijing with his wife.", "The user lives in Shanghai with his wife.", "Beijing"},
		{"The budget is 500 euros.", "The budget is 600 euros.", "The budget is 500 euros"},
		{"The user works at Google.", "The user quit Google and founded a bakery.", "works at Google"},
		{"The user's wife Carla is a lawyer.", "The user and Carla are divorced.", "wife Carla is a lawyer"},
		{"The user has an exam on Monday morning.", "The user has an exam on Friday evening.", "Monday morning"},
		{"The user never drinks.", "The user drinks wine.", "never drinks"},
		{"The user wakes up at 6:30.", "The user wakes up at 7:00.", "6:30"},
		{"用户住在北京。", "用户住在北海。", "住在北京"},
		{"用户是护士。", "用户是护工。", "是护士"},
		{"用户会说西班牙语。", "用户会说西班牙语和波兰语。", ""},
		{"用户喜欢茶和咖啡。", "用户喜欢茶、咖啡和果汁。", ""},
		{"用户的狗叫旺财。", "用户的狗叫来福。", "狗叫旺财"},
		{"用户养了一只猫", "用户养了两只猫", "养了一只猫"},
	} {
		for l, form := range map[backends.Language]string{backends.English: " (until 20 Nov 2026: %s)", backends.Chinese: "（之前：%s，至 2026年11月20日）"} {
			want := fmt.Sprintf(form, c[2])
			if c[2] == "" {
				want = map[backends.Language]string{backends.English: " (said 20 Nov 2026)", backends.Chinese: "（2026年11月20日说）"}[l]
			}
			assert.Equal(t, "- "+c[1]+want, seen("2026-11-26", l).Bullet(ptr(after("2025-01-01", c[0], "2026-11-20", c[1])), ""))
		}
	}
	same := after("2026-11-20", "The user's dog is called Mika.", "2026-11-20", "The user's dog is called Miko.")
	assert.NotContains(t, seen("2026-11-26", backends.English).Bullet(&same, ""), "Mika", "a correction holds from the beginning")
	same = after("2026-11-20", "The user's dog is called Mika.", "2026-11-21", "The user's dog is called Miko.")
	same.Origin.Turn, same.Before.Origin.Turn = "t", "t"
	assert.NotContains(t, seen("2026-11-26", backends.English).Bullet(&same, ""), "Mika", "or is of the same turn")
}

func ptr(h backends.Hit) *backends.Hit { return &h }

func TestWhatIsPastReadsAsPast(t *testing.T) {
	ended := fact("2026-03-01", "The user has a cat.")
	ended.Ended = on("2026-11-20")
	for _, c := range []struct {
		now  string
		hit  backends.Hit
		want string
	}{
		{"2026-11-26", turn("2026-11-26", "I fly to Oslo tomorrow"), "26 Nov 2026, user: I fly to Oslo tomorrow (27 Nov)"},
		{"2026-11-27", turn("2026-11-26", "I fly to Oslo tomorrow"), "26 Nov 2026, user: I fly to Oslo tomorrow (27 Nov; today)"},
		{"2027-01-06", turn("2026-11-26", "I fly to Oslo tomorrow"), "26 Nov 2026, user: I fly to Oslo tomorrow (27 Nov; that was 40 days ago)"},
		{"2026-12-20", turn("2026-12-05", "You moved last week (9 Nov to 15 Nov)"), "5 Dec 2026, user: You moved last week (9 Nov to 15 Nov)"},
		{"2026-12-20", turn("2026-12-05", "你上周（11月9日至11月15日）刚搬家"), "5 Dec 2026, user: 你上周（11月9日至11月15日）刚搬家"},
		{"2026-12-20", turn("2026-12-05", "Mia starts next Monday (14 Dec; in 9 days)"), "5 Dec 2026, user: Mia starts next Monday (14 Dec; in 9 days)"},
		{"2026-11-26", turn("2026-11-20", "My visa ends in three weeks"), "20 Nov 2026, user: My visa ends in three weeks (about 11 Dec; in 15 days)"},
		{"2026-11-26", turn("2026-11-24", "Party next Friday!"), "24 Nov 2026, user: Party next Friday (27 Nov or 4 Dec)!"},
		{"2026-11-26", turn("2026-10-12", "明天下午两点开会"), "12 Oct 2026, user: 明天（10月13日；已过去 44 天）下午两点开会"},
		{"2026-11-26", turn("2026-11-18", "I'm on call until Friday"), "18 Nov 2026, user: I'm on call until Friday (ended 20 Nov 2026)"},
		{"2026-11-19", turn("2026-11-18", "I'm on call until Friday"), "18 Nov 2026, user: I'm on call until Friday (20 Nov)"},
		{"2026-12-05", turn("2026-11-18", "I'm on call until Friday 2026-11-20."), "18 Nov 2026, user: I'm on call until Friday 2026-11-20 (ended 20 Nov 2026)."},
		{"2026-12-05", turn("2026-11-18", "值夜班到 2026-11-20（周五）。"), "18 Nov 2026, user: 值夜班到 2026-11-20（2026年11月20日已结束）（周五）。"},
		{"2026-12-05", turn("2026-11-18", "I start on 1 December"), "18 Nov 2026, user: I start on 1 December (that was 4 days ago)"},
		{"2026-12-05", turn("2026-11-18", "The exam is on Friday 2026-11-20."), "18 Nov 2026, user: The exam is on Friday 2026-11-20 (that was 15 days ago)."},
		{"2026-11-26", turn("2026-11-26", "I quit three weeks ago, and slept badly last night"), "26 Nov 2026, user: I quit three weeks ago (about 5 Nov), and slept badly last night (25 Nov)"},
		{"2026-04-11", fact("2026-03-02", "The dentist is on 2026-03-05 at 16:00."), "The dentist is on 2026-03-05 (that was 37 days ago) at 16:00. (said 2 Mar 2026)"},
		{"2026-04-11", fact("2026-03-02", "用户 2026-03-05 下午看牙医。"), "用户 2026-03-05（已过去 37 天） 下午看牙医。 (said 2 Mar 2026)"},
		{"2026-03-26", fact("2026-01-02", "The user was born on 4 July 1990."), "The user was born on 4 July 1990. (said 2 Jan 2026)"},
		{"2026-06-10", holding(fact("2026-03-02", "The user moves to Berlin."), "2026-05-01"), "The user moves to Berlin. (planned for 1 May 2026; that was 40 days ago)"},
		{"2026-04-26", holding(fact("2026-03-02", "The user moves to Berlin."), "2026-05-01"), "The user moves to Berlin. (planned for 1 May 2026; in 5 days)"},
		{"2026-04-26", holding(after("2025-03-01", "The user lives in Oslo.", "2026-03-02", "The user lives in Berlin."), "2026-05-01"), "The user lives in Berlin. (until 1 May 2026: Oslo; in 5 days)"},
		{"2026-04-26", holding(fact("2026-03-02", "The user lives in Berlin."), "2026-02-01"), "The user lives in Berlin. (since 1 Feb 2026)"},
		{"2026-11-26", ended, "The user has a cat. (ended 20 Nov 2026)"},
		{"2027-05-04", fact("2026-03-10", "The user's daughter turned six."), "The user's daughter turned six (about 7 now). (said 10 Mar 2026)"},
		{"2027-05-04", turn("2024-03-10", "女儿今年四岁"), "10 Mar 2024, user: 女儿今年四岁（现在约7岁）"},
	} {
		assert.Equal(t, "- "+c.want, seen(c.now, backends.English).Bullet(&c.hit, ""))
	}
}

// Turns of one day stand under it, with their times; days are those of the reader. The date is worth
// a line of its own from two turns on, and a turn that does not fit leaves the others as they are.
func TestTurnsOfADayStandUnderIt(t *testing.T) {
	late := turn("2026-11-20", "I moved to Bergen")
	late.Observed = time.Date(2026, 11, 20, 17, 30, 0, 0, time.UTC) // the 21st in Shanghai
	hits := []backends.Hit{turn("2026-11-21", "I live in Oslo"), turn("2026-11-22", "It rains"), late, fact("2026-11-21", "The user has a cat.")}
	want := []string{"Known facts:", "- The user has a cat. (said 21 Nov 2026)", "What was said:", "21 Nov 2026:", "- 12:00, user: I live in Oslo", "- 01:30, user: I moved to Bergen", "- 22 Nov 2026, user: It rains"}
	lines, shown := seen("2026-11-26", backends.English).Lines(hits, 500)
	require.Equal(t, want, lines)
	require.Equal(t, []backends.Hit{hits[3], hits[0], hits[2], hits[1]}, shown, "in the order of the lines")
	lines, _ = seen("2026-11-26", backends.Chinese).Lines(hits[:3], 500)
	require.Equal(t, []string{"说过的话：", "2026年11月21日：", "- 12:00，用户: I live in Oslo"}, lines[:3])
	for room := range 120 {
		lines, shown = seen("2026-11-26", backends.English).Lines(hits, room)
		require.LessOrEqual(t, text.Tokens(strings.Join(lines, "\n")), room)
		require.Equal(t, len(shown), strings.Count("\n"+strings.Join(lines, "\n"), "\n- "), room)
	}
}

func TestKeywordsAreNoSituation(t *testing.T) {
	h := fact("2026-11-20", "The user hikes.")
	h.WhenToUse = "mountains, weekend"
	assert.NotContains(t, seen("2026-11-26", backends.English).Bullet(&h, ""), "mountains")
	h.Kind = backends.KindTask
	assert.True(t, strings.HasSuffix(seen("2026-11-26", backends.Chinese).Bullet(&h, ""), "（适用于：mountains, weekend）"))
	h.Metadata = map[string]any{"example": "search {\"q\":\"x\"}\n→ found"}
	assert.Contains(t, seen("2026-11-26", backends.English).Bullet(&h, ""), "when: mountains, weekend; example: search {\"q\":\"x\"} → found")
	h.Kind = backends.KindFact
	assert.NotContains(t, seen("2026-11-26", backends.English).Bullet(&h, ""), "example")
}
