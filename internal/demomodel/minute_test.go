// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/demomodel"
)

// What was said within one minute, in the order in which a search found it, and
// what a question about it is answered with.
func TestOneMinute(t *testing.T) {
	for _, tt := range []struct{ said, question, has string }{
		{"I live in Beijing. | I moved to Shanghai.", "Where do I live now?", "Shanghai"},
		{"I moved to Shanghai. | I live in Beijing.", "Where do I live now?", "Shanghai"},
		{"我住在北京。 | 我搬到上海了。", "我现在住在哪里？", "上海"},
		{"I work at Google. | I changed jobs and now work at Apple.", "Where do I work?", "Apple"},
		{"My favorite color is blue. | My favorite color is green now.", "What's my favorite color?", "green"},
		{"我在百度上班。 | 我换工作了，现在在腾讯上班。", "我在哪里上班？", "腾讯"},
		{"My phone number is 555-1234. | My landlord's phone number is 555-9999.", "What is my phone number?", "1234"},
		{"My phone number is 555-1234. | My landlord's phone number is 555-9999.", "What is my landlord's phone number?", "9999"},
		{"I drive a blue Toyota. | My brother drives a red Ford.", "What car do I drive?", "Toyota"},
		{"I drive a blue Toyota. | My brother drives a red Ford.", "What car does my brother drive?", "Ford"},
		{"I drive a blue Toyota. | My brother drives a red Ford.", "What car does my father drive?", "don't know"},
		{"I have two daughters and a son.", "How many daughters do I have?", "two"},
		{"I have two daughters and a son.", "How many children do I have?", "two"},
		{"I have two daughters and a son.", "How many cats do I have?", "don't know"},
		{"I wake up at 6 every morning.", "When do I wake up?", "6"},
		{"I wake up at 6 every morning.", "What time do I wake up?", "6"},
		{"My flight to Tokyo leaves on Friday.", "When is my flight to Tokyo?", "Friday"},
		{"My flight to Tokyo leaves on Friday.", "When is my flight to Paris?", "don't know"},
		{"My flight to Tokyo leaves on Friday.", "Where am I flying to?", "Tokyo"},
		{"I'm vegetarian.", "Am I vegetarian?", "vegetarian"},
		{"I studied physics at MIT.", "What did I study?", "physics"},
		{"I studied physics at MIT.", "Where did I study?", "MIT"},
		{"My wife's name is Linda.", "What is my wife's name?", "Linda"},
		{"My wife's name is Linda.", "Who is my wife?", "Linda"},
		{"My wife's name is Linda.", "What is my name?", "don't know"},
		{"My wife's name is Linda.", "Who is Linda?", "wife"},
		{"My wife's birthday is July 4. | My birthday is May 1.", "When is my wife's birthday?", "July"},
		{"My wife's birthday is July 4. | My birthday is May 1.", "When is my birthday?", "May 1"},
		{"My wife's birthday is July 4.", "When is my birthday?", "don't know"},
		{"I play the violin.", "What instrument do I play?", "violin"},
		{"I hate cilantro.", "What food do I hate?", "cilantro"},
		{"I hate cilantro.", "What do I hate?", "cilantro"},
		{"I hate cilantro.", "What do I like?", "don't know"},
		{"I am 34 years old.", "How old am I?", "34"},
		{"My mother is 70 years old.", "How old am I?", "don't know"},
		{"I was born in 1990 in Lyon.", "Where was I born?", "Lyon"},
		{"I was born in 1990 in Lyon.", "When was I born?", "1990"},
		{"I weigh 70 kilos.", "How much do I weigh?", "70"},
		{"My wifi password is hunter2.", "What's my wifi password?", "hunter2"},
		{"My wifi password is hunter2.", "What's my bank password?", "don't know"},
		{"I speak French and German.", "Which languages do I speak?", "French"},
		{"I speak French and German.", "What languages does my wife speak?", "don't know"},
		{"I parked the car on level 3.", "Where did I park?", "level 3"},
		{"I parked the car on level 3.", "Where did I park my car?", "level 3"},
		{"We are going to Italy in August.", "Where are we going in August?", "Italy"},
		{"We are going to Italy in August.", "When are we going to Italy?", "August"},
		{"The meeting with Bob is on Tuesday.", "When is the meeting with Bob?", "Tuesday"},
		{"The meeting with Bob is on Tuesday.", "When is the meeting with Alice?", "don't know"},
		{"Remember that my locker code is 4711.", "What is my locker code?", "4711"},
		{"Please remember: my locker code is 4711.", "What's the code of my locker?", "4711"},
		{"我叫李雷。", "我叫什么名字？", "李雷"},
		{"我叫李雷。", "我是谁？", "李雷"},
		{"我叫李雷。", "我妹妹叫什么？", "不知道"},
		{"我妹妹叫小红。", "我叫什么名字？", "不知道"},
		{"我今年三十岁。", "我多大了？", "三十"},
		{"我今年三十岁。", "我今年几岁？", "三十"},
		{"我的生日是五月一日。", "我的生日是哪天？", "五月"},
		{"我的生日是五月一日。", "我什么时候生日？", "五月"},
		{"我喜欢吃辣。", "我喜欢吃什么？", "辣"},
		{"我不吃香菜。", "我不吃什么？", "香菜"},
		{"我养了一只猫，叫咪咪。", "我的猫叫什么？", "咪咪"},
		{"我养了一只猫，叫咪咪。", "我的狗叫什么？", "不知道"},
		{"我老婆在医院工作。", "我老婆在哪里工作？", "医院"},
		{"我老婆在医院工作。", "我在哪里工作？", "不知道"},
		{"我会说英语和法语。", "我会说什么语言？", "英语"},
		{"下周三我要去东京出差。", "我什么时候去东京？", "周三"},
		{"下周三我要去东京出差。", "我下周三要去哪里？", "东京"},
		{"我的车是白色的特斯拉。", "我的车是什么颜色？", "白色"},
		{"我的电话是13800000000。", "我的电话号码是多少？", "138"},
		{"我的电话是13800000000。", "我妈妈的电话是多少？", "不知道"},
		{"我对青霉素过敏。", "我对什么药过敏？", "青霉素"},
		{"我对青霉素过敏。", "我对花粉过敏吗？", "不知道"},
		{"我最喜欢的颜色是蓝色。", "我最喜欢什么颜色？", "蓝色"},
		{"我在清华大学学习计算机。", "我在哪所大学学习？", "清华"},
	} {
		t.Run(tt.said+" "+tt.question, func(t *testing.T) {
			var lines []string
			for s := range strings.SplitSeq(tt.said, " | ") {
				lines = append(lines, "[a] 2026-11-21 09:33: "+s)
			}
			assert.Contains(t, reply(t, note(lines...), schema.UserMessage(tt.question)), tt.has)
		})
	}
}

// Who asks where he lives may have moved since: no word of the question finds
// that, so the model looks for the others.
func TestNewsInOtherWordsIsSearchedFor(t *testing.T) {
	search := model.WithTools([]*schema.ToolInfo{{Name: "search_memory"}})
	for question, want := range map[string]string{"Where do I live?": "move", "我住在哪里？": "搬", "What am I allergic to?": ""} {
		known := note("2026-11-21 09:33: I live in Beijing and am allergic to nuts. 我住在北京。")
		out, err := demomodel.New(nil).Generate(t.Context(), []*schema.Message{known, schema.UserMessage(question)}, search)
		require.NoError(t, err)
		require.Equal(t, want != "", len(out.ToolCalls) == 1, question)
		if want != "" {
			assert.Contains(t, out.ToolCalls[0].Function.Arguments, `"`+want+`"`)
		}
	}
}
