// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/speech"
)

func TestFillersSayNothing(t *testing.T) {
	for _, text := range []string{
		"", "Hi", "hello there", "Hi there!", "OK", "ok.", "thanks!", "Thank you so much!", "Thanks, that's great.", "Noted.", "Got it!", "Got it, I'll remember that.",
		"I've noted that.", "Good morning! How are you?", "You're welcome! Let me know if you need anything else.", "Bye, see you tomorrow!", "Great, thanks for letting me know!",
		"I'll keep that in mind.", "I have updated your profile.", `{"steps":["search","answer"]}`, "haha", "Sure thing!", "Yes", "No problem!", "Perfect, thank you!", "You haven't told me yet.", "Sorry, I don't know.", "I'm fine, thanks!", "Thanks, that's all for now.", "Let me think.",
		"你好", "您好！", "谢谢", "谢谢你！", "好的，谢谢", "好的，我记住了。", "嗯嗯", "明白了", "已记录。", "没问题！", "再见，晚安", "好的，已为您记录。", "收到", "我不知道，你还没有告诉过我。", "在吗",
	} {
		require.Equal(t, speech.Filler, speech.Classify(text), text)
	}
}

func TestQuestionsAndRequestsStateNothing(t *testing.T) {
	for _, text := range []string{
		"Where do I live?", "where do i live", "What is my name?", "Hi! What's my dog's name?", "Do you remember where I work?", "Can you remind me what I'm allergic to?", "Remind me what my job is.",
		"Tell me a joke", "Translate this into French.", "Ok, and who is my boss?", "How old am I", "Thanks! And what about my sister's birthday?", "Anything you would recommend?", "If I go to Oslo, what should I see?", "In the morning, what should I eat?",
		"我住在哪里？", "我叫什么名字", "你还记得我的生日吗？", "你好，请问我对什么过敏？", "帮我翻译这句话", "谢谢！那我的工作是什么呢？", "我明天几点开会？", "如果下雨，我该穿什么？",
	} {
		require.Equal(t, speech.Question, speech.Classify(text), text)
	}
}

func TestStatementsAreRecognised(t *testing.T) {
	for _, text := range []string{
		"I live in Beijing.", "Actually, I moved to Shanghai.", "My name is Ann", "Hi! I'm Ann. Where should I eat?", "Thanks, but I no longer work at Acme.", "No, I meant Tuesday.",
		"Remind me to call mum on Friday.", "Did you know that I moved to Oslo?", "I don't eat meat.", "It costs 3.50 euros.", "Write an email to my boss saying I quit my job at Acme.",
		"The meeting was cancelled.", "Yes, I am allergic to nuts.", "Not any more", "Call me Bob", "You should try the blue cheese.", "Sure, the train leaves at 9:40.",
		"Visit example.com for it", "Bergen", "How about a vegetable risotto?", "Why not take the train?", "I have two kids, what should I buy them?",
		"我住在北京。", "其实我搬到上海了", "不，我是说星期二", "谢谢，我已经不在那家公司了", "好的，我喜欢喝茶", "你知道吗？我搬家了", "我对花生过敏", "叫我小王", "建议您每天喝八杯水。",
	} {
		require.Equal(t, speech.Statement, speech.Classify(text), text)
	}
}

func TestAnAnswerThatSuggestsIsAStatement(t *testing.T) {
	for _, text := range []string{"推荐松鹤楼。", "Compare the two offers first.", "Suggest the blue one to her."} {
		require.Equal(t, speech.Question, speech.Classify(text), text)
		require.Equal(t, speech.Statement, speech.ClassifyAnswer(text), text)
	}
	require.Equal(t, speech.Question, speech.ClassifyAnswer("What would you like?"))
	require.Equal(t, speech.Filler, speech.ClassifyAnswer("Noted."))
}

func TestContentIsWithoutFillers(t *testing.T) {
	for text, want := range map[string]string{
		"Noted, you live in Oslo.": " you live in Oslo.", "Got it! Thanks.": "", "I live in Oslo.": "I live in Oslo.", "好的，您住在北京。": "您住在北京。",
	} {
		require.Equal(t, want, speech.Content(text))
	}
}

func FuzzClassify(f *testing.F) {
	for _, text := range []string{"", "a.b", "?", "。", "\xff", "{", "好的", "no no no no no no no"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := speech.Classify(text)
		require.True(t, c >= speech.Filler && c <= speech.Statement)
	})
}
