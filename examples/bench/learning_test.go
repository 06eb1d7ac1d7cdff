// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// said is a turn with the facts that it states, each as a pattern; none for small talk. What it
// ends is known before.
type said struct {
	user, assistant string
	states          []string
	ends            string
}

type talk struct {
	known []string
	turns []said
}

// talks are made up. The rules for small models were written with the first of each language at hand,
// and measured on the second.
var talks = map[string]talk{
	"en": {
		[]string{"The user lives in Graz.", "The user works as a nurse at the general hospital.", "The user smokes ten cigarettes a day.", "The user plays the cello."},
		[]said{
			{"Hi there, how are you doing?", "Very well, thank you!", nil, ""},
			{"I moved to Vienna last month, it's a lot bigger.", "Congratulations!", []string{`(?i)vienna`}, "Graz"},
			{"My sister Mia is getting married in June and I'm her maid of honour.", "How lovely!", []string{`(?i)mia.*(marry|marri|wedding)`, `(?i)maid of hono`}, ""},
			{"I wonder how tall the Eiffel Tower is.", "It is 330 metres tall.", nil, ""},
			{"I'm allergic to peanuts, so please keep that in mind for recipes.", "I will.", []string{`(?i)peanut`}, ""},
			{"I need to know what 17 times 23 is.", "391.", nil, ""},
			{"We adopted a beagle called Biscuit on Saturday.", "Welcome, Biscuit!", []string{`(?i)biscuit`}, ""},
			{"I finally quit smoking three weeks ago.", "Well done!", []string{`(?i)(quit|stopped|gave up|no longer|not) (\w+ )?smok`}, "smokes"},
			{"Ok thanks, that was really helpful, I have to run now!", "Bye!", nil, ""},
			{"I'm training for the Berlin marathon, my best time so far is 3:52.", "Impressive.", []string{`(?i)berlin.*marathon|marathon.*berlin`, `3:52`}, ""},
			{"Please always answer in short sentences.", "Sure.", []string{`(?i)(please|wants?|prefers?).*short sentence`}, ""},
			{"My laptop is a ThinkPad X1 that runs Fedora.", "A fine machine.", []string{`(?i)thinkpad`, `(?i)fedora`}, ""},
		},
	},
	"en, unseen": {
		[]string{"The user studies law in Leiden.", "The user drives an old Saab.", "The user's cat is called Pixel.", "The user has a weekly pottery class."},
		[]said{
			{"Good evening! Lovely to talk to you again.", "Good evening!", nil, ""},
			{"I graduated on Friday, and in September I start at a firm in Rotterdam.", "Congratulations!", []string{`(?i)graduat`, `(?i)rotterdam`}, "studies"},
			{"Can you explain what a hedge fund is?", "It pools money of investors.", nil, ""},
			{"I sold the Saab to my neighbour Ruud for 900 euros.", "A fair price.", []string{`(?i)sold.*saab|saab.*sold`}, "Saab"},
			{"My mum turned sixty, we took her to see the tulips at Keukenhof.", "How nice!", []string{`(?i)mum|mother`}, ""},
			{"What's the plural of octopus?", "Octopuses.", nil, ""},
			{"I can't stand coriander, it tastes like soap to me.", "Many say so.", []string{`(?i)coriander`}, ""},
			{"Great, thanks a lot for your help!", "You're welcome!", nil, ""},
			{"The landlord raised our rent to 1,450 a month, so we're looking for something smaller.", "That is steep.", []string{`1,?450`, `(?i)smaller`}, ""},
			{"Don't use any emojis when you write to me.", "Understood.", []string{`(?i)emoji`}, ""},
			{"I'm curious who painted the Night Watch.", "Rembrandt.", nil, ""},
			{"My knee surgery is on 12 May, with Dr. Visser.", "All the best.", []string{`(?i)knee.*(12 May|May 12)`, `(?i)visser`}, ""},
		},
	},
	"zh": {
		[]string{"用户住在北京。", "用户在一家银行上班。", "用户喜欢喝茶。"},
		[]said{
			{"你好呀，今天过得怎么样？", "很好，谢谢！", nil, ""},
			{"我上个月搬到杭州了。", "恭喜！", []string{`杭州`}, "北京"},
			{"我女儿叫小雨，今年上小学一年级。", "真可爱。", []string{`小雨`, `一年级`}, ""},
			{"我想知道珠穆朗玛峰有多高。", "8848.86 米。", nil, ""},
			{"我对海鲜过敏，点餐的时候请注意。", "好的，我会注意。", []string{`海鲜.*过敏|过敏.*海鲜`}, ""},
			{"我需要算一下 128 乘以 36 等于多少。", "4608。", nil, ""},
			{"我上周六养了一只橘猫，叫年糕。", "欢迎年糕！", []string{`年糕`}, ""},
			{"我已经从银行辞职了，下周一去字节跳动上班。", "祝你顺利！", []string{`字节`, `辞职`}, "银行"},
			{"好的，太谢谢你了，我先去忙了！", "再见！", nil, ""},
			{"我在学吉他，每周三晚上上课。", "加油！", []string{`吉他`, `周三`}, ""},
			{"以后回答我请尽量简短。", "好的。", []string{`简短`}, ""},
			{"我太太是医生，在市一医院工作。", "辛苦她了。", []string{`医生`, `市一医院`}, ""},
		},
	},
	"zh, unseen": {
		[]string{"用户在武汉大学读研究生。", "用户开一辆旧捷达。", "用户养了一只叫小黑的狗。"},
		[]said{
			{"晚上好，又来找你聊天啦。", "晚上好！", nil, ""},
			{"我上周五毕业了，九月去深圳的华为报到。", "恭喜！", []string{`毕业`, `华为`}, "读研"},
			{"什么是对冲基金？", "是一种投资基金。", nil, ""},
			{"那辆捷达我卖给邻居老王了，一万二。", "价格不错。", []string{`捷达.*卖|卖.*捷达`}, "捷达"},
			{"我妈今年六十了，我们带她去看了洛阳的牡丹。", "真好。", []string{`妈|母亲`}, ""},
			{"光速是多少？", "每秒约三十万公里。", nil, ""},
			{"我受不了香菜，一口都吃不下。", "很多人都这样。", []string{`香菜`}, ""},
			{"太好了，多谢帮忙！", "不客气！", nil, ""},
			{"房东把房租涨到四千五了，我们在找小一点的房子。", "涨得不少。", []string{`四千五|4500`, `小一点|更小|较小`}, ""},
			{"跟我说话别用表情符号。", "明白。", []string{`表情`}, ""},
			{"我很好奇清明上河图是谁画的。", "张择端。", nil, ""},
			{"我五月十二号做膝盖手术，主刀是陈医生。", "祝顺利。", []string{`膝盖.*手术`, `陈医生`}, ""},
		},
	},
}

// TestLearning asks the model at OPENAI_BASE_URL to learn from scripted turns, one at a time, and
// prints what it kept:
//
//	OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none OPENAI_MODEL=qwen go test ./examples/bench -run TestLearning -v -timeout 1h
func TestLearning(t *testing.T) {
	url := os.Getenv("OPENAI_BASE_URL")
	if url == "" {
		t.Skip("OPENAI_BASE_URL names the server of a model that learns")
	}
	only := regexp.MustCompile(os.Getenv("EINOMEM_LEARNING")) // "unseen small" runs these alone
	t.Log("| turns | form | facts kept | ended what no longer holds | wrong | junk | calls | prompt tokens | s of the model |")
	for _, language := range slices.Sorted(maps.Keys(talks)) {
		for _, form := range []string{"ordinary", "small"} {
			if only.MatchString(language + " " + form) {
				chat, err := openai.NewChatModel(t.Context(), &openai.Config{BaseURL: url, APIKey: os.Getenv("OPENAI_API_KEY"), Model: os.Getenv("OPENAI_MODEL")})
				require.NoError(t, err)
				learn(t, language, form, chat)
			}
		}
	}
}

func learn(t *testing.T, language, form string, chat *openai.ChatModel) {
	db, err := sqlitestore.Open(t.Context(), ":memory:", nil)
	require.NoError(t, err)
	defer db.Close()
	clock := time.Date(2026, 3, 4, 18, 0, 0, 0, time.UTC)
	b, err := mem0.New(t.Context(), &mem0.Config{Store: db, Model: chat, ModelTimeout: 5 * time.Minute, Small: form == "small", Clock: func() time.Time { return clock }})
	require.NoError(t, err)
	defer b.Close(context.Background())
	scope, talk := backends.Scope{UserID: "ann", SessionID: "s"}, talks[language]
	for _, fact := range talk.known {
		_, err := b.Remember(t.Context(), scope, fact)
		require.NoError(t, err)
	}
	var s score
	var before []backends.Message
	for i, turn := range talk.turns {
		clock = clock.Add(time.Hour)
		messages := []backends.Message{
			{Message: schema.UserMessage(turn.user), ID: fmt.Sprint("u", i), Turn: fmt.Sprint(i), Time: clock},
			{Message: schema.AssistantMessage(turn.assistant, nil), ID: fmt.Sprint("a", i), Turn: fmt.Sprint(i), Time: clock},
		}
		began := time.Now()
		resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: scope, Messages: messages, Context: before})
		s.took += time.Since(began)
		if err != nil {
			t.Logf("%s: %v", turn.user, err)
		} else {
			s.count(t, &turn, resp)
		}
		before = messages
	}
	t.Logf("| %s | %s | %d of %d | %d of %d | %d | %d | %d | %d | %.0f |", language, form, s.kept, s.states, s.ended, s.ends, s.wrong, s.junk, s.usage.ModelCalls, s.usage.PromptTokens, s.took.Seconds())
}

// score counts what became of the turns.
type score struct {
	kept, states, ended, ends, wrong, junk int

	usage backends.Usage
	took  time.Duration
}

// count compares what a turn taught with what it states: a fact beside that is junk, and what is
// ended beside that is wrong.
func (s *score) count(t *testing.T, turn *said, resp *backends.AddResponse) {
	s.usage.Add(resp.Usage)
	s.states += len(turn.states)
	if turn.ends != "" {
		s.ends++
	}
	var lines []string
	found := map[string]bool{}
	for _, item := range resp.Items {
		m := &item.Memory
		if m.Kind != backends.KindFact {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %q", item.Outcome, m.Text))
		gone := item.Previous
		if item.Outcome == backends.OutcomeRetracted {
			gone = m
		}
		if gone != nil {
			lines = append(lines, fmt.Sprintf("ends %q", gone.Text))
			if turn.ends != "" && strings.Contains(gone.Text, turn.ends) {
				s.ended++
			} else {
				s.wrong++
			}
		}
		if item.Outcome != backends.OutcomeAdded && item.Outcome != backends.OutcomeSuperseded {
			if item.Err != nil {
				lines = append(lines, item.Err.Error())
			}
			continue
		}
		of := slices.DeleteFunc(slices.Clone(turn.states), func(p string) bool { return !regexp.MustCompile(p).MatchString(m.Text) })
		for _, p := range of {
			found[p] = true
		}
		if len(of) == 0 {
			s.junk++
			lines = append(lines, "^ junk")
		}
	}
	s.kept += len(found)
	t.Logf("%s\n    %s", turn.user, strings.Join(lines, "\n    "))
}
