// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
)

// day is a day of chat, one turn a line: "+" states something, "-" states nothing, "*" states one
// thing that the agent notes down by add_memory, "?" states nothing and is asked about in doubt. The answer stands behind "=>".
const day = `
- Good morning! => Good morning! How can I help you today?
- What's the weather usually like in Bergen in May? => Mild and wet, about 12 degrees.
+ I'm flying to Bergen on 3 May. => Have a nice trip!
- Thanks! => You're welcome!
- Explain TCP slow start. => It begins with a small window and doubles it.
- And how does it end? => At the threshold it grows linearly.
+ My sister Anna lives there, by the way. => Nice, you can visit her.
- Write a haiku about rain. => Rain on the window.
? Make it shorter, please. => Rain.
- ok => Anything else?
- no thanks => Have a good day!
- Why does this not compile? => There is a brace missing.
- How many grams are in a cup of flour? => About 120.
* I'm allergic to peanuts. => Noted.
- Suggest a recipe for tonight. => How about a lentil curry? Do you eat spicy food?
+ Yes, very spicy. => Then add two chilies.
+ no, not at all => Then leave the chilies out.
- Translate "good night" into Norwegian. => God natt.
- Great! => Glad I could help!
+ Call me Sam from now on. => Sure, Sam.
- What did I tell you about my trip? => You fly to Bergen on 3 May.
+ Actually it's on 4 May. => Updated.
* My office is in Building 7. => Noted.
+ I work at Acme, my boss is Lena and I start at nine. => Noted all of it.
- Who won the world cup in 1998? => France.
- Haha => :)
- Is it far from Oslo to Bergen? => About 460 km.
- Summarize the plot of Hamlet. => A prince avenges his father.
+ I hated that book at school. => Many do.
- Good night! => Good night!
- 早上好！ => 早上好！今天有什么可以帮您的吗？
- 明天北京天气怎么样？ => 晴，十度左右。
+ 我下周要去北京出差。 => 祝您出差顺利。
- 谢谢！ => 不客气。
- 什么是递归？ => 函数调用自己。
- 帮我翻译这句话：Good luck. => 祝你好运。
+ 我女儿今年上小学了。 => 恭喜！
- 推荐一本科幻小说。 => 《三体》。
- 好的 => 还有别的问题吗？
? 没有了，谢谢。 => 再见！
- 这段代码为什么报错？ => 少了一个括号。
* 我对海鲜过敏。 => 已记住。
- 今晚吃什么好？ => 您喜欢吃辣吗？
+ 喜欢 => 那就麻婆豆腐。
- 明天吃什麼好？ => 您吃素嗎？
+ 對 => 那就素什錦。
- 一公里等于多少英里？ => 约 0.62 英里。
+ 以后都用中文回答我。 => 好的。
- 哈哈 => 😄
- 我上次说要去哪里？ => 北京。
+ 改成去上海了。 => 已更新。
+ 我在字节上班，老板姓李，每天九点到公司。 => 记住了。
- 写一首关于春天的诗。 => 春眠不觉晓。
- 谁发明了电话？ => 贝尔。
- 太好了！ => 还需要别的吗？
- 计算 17 乘以 23。 => 391。
* 我住在海淀区。 => 已记住。
- 北京到上海坐高铁要多久？ => 大约四个半小时。
- 继续 => 途中停几站。
+ 我一般坐靠窗的位子。 => 好的。
- 你是谁？ => 我是您的助手。
- 晚安 => 晚安！
`

// A turn that states nothing costs no learning call, nor does one whose only statement the agent
// noted down; each turn that states something does.
func TestADayOfChatAsksAboutWhatIsStatedAlone(t *testing.T) {
	m := thinking(t, func(shown) string { return operations() })
	b := open(t, with(m))
	turns, asked, noted := 0, 0, 0
	var last []backends.Message
	for line := range strings.Lines(day) {
		mark, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		turns++
		said, answer, _ := strings.Cut(rest, " => ")
		if said == "Why does this not compile?" || said == "这段代码为什么报错？" {
			said += "\n```go\nfunc main() { fmt.Println(\"I live in Oslo.\") }\n```"
		}
		turn, before := fmt.Sprint("turn", turns), len(m.Calls())
		at := start.Add(time.Duration(turns) * time.Minute)
		if mark == "*" {
			noted++
			_, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Author: backends.AuthorAgent, Verbatim: true,
				Messages: []backends.Message{{Turn: turn, Message: schema.AssistantMessage("Note: "+said, nil)}}})
			require.NoError(t, err)
		}
		messages := []backends.Message{
			{ID: turn + "u", Turn: turn, Time: at, Message: schema.UserMessage(said)},
			{ID: turn + "a", Turn: turn, Time: at, Message: schema.AssistantMessage(answer, nil)},
		}
		_, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: messages, Context: last})
		require.NoError(t, err)
		last = messages
		if (mark == "+" || mark == "?") != (len(m.Calls()) > before) {
			t.Errorf("%d calls: %s", len(m.Calls())-before, line)
		}
		asked += len(m.Calls()) - before
	}
	t.Logf("%d turns, of which %d were noted down: %d learning calls", turns, noted, asked)
	require.Equal(t, []int{62, 18, 4}, []int{turns, asked, noted}, "62 calls would be one a turn")
	list, err := b.List(t.Context(), &backends.ListRequest{Scope: ann, Kinds: []backends.Kind{backends.KindEpisode}, Limit: 500})
	require.NoError(t, err)
	require.Greater(t, len(list.Memories), 100, "what was said is kept without a call, too")
}

// What the agent noted down covers a turn that states one thing, and no other.
func TestANoteCoversOneStatement(t *testing.T) {
	for said, covered := range map[string]bool{
		"I'm allergic to peanuts.":                           true,
		"Hi! I'm allergic to peanuts. What can I cook?":      true,
		"I'm allergic to peanuts. I live in Oslo.":           false,
		"I'm Ann and I live in Oslo.":                        false,
		"I live in Oslo, work at Acme.":                      false,
		"我对花生过敏。":                                            true,
		"我对花生过敏，住在北京。":                                       false,
		"我和小李都在字节上班。":                                        false,
		"Remember my boat Aurora, which lies in Bergen.":     false,
		"Please note this down.\n- Rex is a dog\n- Tom, too": false,
	} {
		for _, turn := range []string{"t", "another"} {
			m := answering(operations())
			b := open(t, with(m))
			_, err := b.Add(t.Context(), &backends.AddRequest{Scope: ann, Author: backends.AuthorAgent, Verbatim: true,
				Messages: []backends.Message{{Turn: turn, Message: assistant("noted")}}})
			require.NoError(t, err)
			add(t, b, ann, user(said)...)
			require.Equal(t, covered && turn == "t", len(m.Calls()) == 0, "%s (%s)", said, turn)
		}
	}
}

func TestWhereEverythingIsAskedAbout(t *testing.T) {
	question := []backends.Message{
		{ID: "q", Turn: "t", Message: schema.UserMessage("Can you book the flight?")},
		{ID: "a", Turn: "t", Message: assistant("I booked LH 123 for 3 May.")},
	}
	for name, c := range map[string]struct {
		change func(*mem0.Config)
		scope  backends.Scope
		r      backends.AddRequest
		calls  int
	}{
		"by default":           {func(*mem0.Config) {}, ann, backends.AddRequest{Messages: question}, 0},
		"facts alone are kept": {factsOnly, ann, backends.AddRequest{Messages: question}, 1},
		"an agent's own":       {func(*mem0.Config) {}, backends.Scope{AgentID: "helper"}, backends.AddRequest{Messages: question}, 1},
		"own instructions":     {func(c *mem0.Config) { c.Instructions = "Note what they ask." }, ann, backends.AddRequest{Messages: question}, 1},
		"of a request":         {func(*mem0.Config) {}, ann, backends.AddRequest{Messages: question, Instructions: "Note what they ask."}, 1},
		"own prompt":           {func(c *mem0.Config) { c.Prompt = "Note what they ask." }, ann, backends.AddRequest{Messages: question}, 1},
		"a wish to forget":     {func(*mem0.Config) {}, ann, backends.AddRequest{Messages: user("Can you forget what I said about my job?")}, 1},
		"facts alone, no news": {factsOnly, ann, backends.AddRequest{Messages: user("Hi!")}, 0},
	} {
		m := answering(operations())
		b := open(t, with(m), c.change)
		c.r.Scope = c.scope
		_, err := b.Add(t.Context(), &c.r)
		require.NoError(t, err)
		require.Len(t, m.Calls(), c.calls, name)
	}
}

// A sentence is no code for its marks: what it states is learnt.
func TestSentencesWithMarksOfCodeAreAskedAbout(t *testing.T) {
	for _, said := range []string{
		"I moved to Lisbon; my new job starts on Monday.", "My salary went from 3k => 4k, finally.", "The kids {Mia and Leo} start school in May.",
		"我搬到杭州了；新工作下周一开始。", "写错了，他叫陈建业。", "Correction: her name is Miko.", "My email changed;",
	} {
		m := answering(operations())
		b := open(t, with(m))
		add(t, b, ann, user(said)...)
		require.Len(t, m.Calls(), 1, said)
	}
}
