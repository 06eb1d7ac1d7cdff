// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/examples/demomodel"
)

// note renders memories, in the order in which a search found them, as the
// middleware does.
func note(memories string) *schema.Message {
	lines := strings.ReplaceAll(memories, " | ", "\n- [a] 21 Nov 2026, user: ")
	return &schema.Message{Role: schema.User, Name: "memory", Content: "## Relevant memories. Facts.\n<memories>\n- [a] 21 Nov 2026, user: " + lines + "\n</memories>"}
}

func reply(t *testing.T, m demomodel.Model, in ...*schema.Message) *schema.Message {
	t.Helper()
	out, err := m.Generate(t.Context(), in)
	require.NoError(t, err)
	return out
}

func TestAnswersComeFromTheNote(t *testing.T) {
	const about = "I moved to Hangzhou in March and I am allergic to peanuts. | My sister Anna lives in Berlin and is afraid of spiders. | My dog is called Rex. | My cat's name is Momo." +
		" | My favourite colour is teal and I love hiking and green tea. | I work at a bakery. | My boss Tom is allergic to cats. | What is my sister's phone number?" +
		" | My name is Wei. | My birthday is on 3 June. | I am 34 years old. | My wife's name is Linda. | I drive a blue Toyota. | My brother drives a red Ford."
	const chinese = "我对花生过敏，住在杭州。 | 我的狗叫旺财。我的猫叫咪咪，今年三岁。 | 我妹妹叫小红，住在柏林，对猫过敏。 | 我现在在一家面包店上班。 | 我最喜欢的颜色是蓝色。" +
		" | 我的生日是五月三日。 | 我叫小明，今年三十岁。 | 我的手机号码是多少？ | 我的电话是13800000000。"
	const unknown, unknownChinese = "I don't know", "我不知道"
	for _, tt := range []struct{ memories, question, has, not string }{
		{about, "What am I allergic to?", "peanuts", "cats"},
		{about, "what allergies do I have", "peanuts", "cats"},
		{about, "Where do I live now?", "Hangzhou", "Berlin"},
		{about, "When did I move?", "March", "Berlin"},
		{about, "Where does my sister live?", "Berlin", "Hangzhou"},
		{about, "Where does Anna live?", "Berlin", "Hangzhou"},
		{about, "What is my dog called?", "Rex", "Momo"},
		{about, "What's my cat's name?", "Momo", "Rex"},
		{about, "What is my name?", "Wei", "Linda"},
		{about, "Who am I?", "Wei", "Linda"},
		{about, "Who is Linda?", "wife", ""},
		{about, "What do I like?", "green tea", ""},
		{about, "What is my job?", "bakery", ""},
		{about, "How old am I?", "34", ""},
		{about, "What car do I drive?", "Toyota", "Ford"},
		{about, "What am I allergic to? And where does my sister live?", "Berlin", "Hangzhou"},
		{about, "What do you know about me?", "Rex", "phone number"},
		{about, "What is my brother called?", unknown, "Rex"},
		{about, "What is my sister's phone number?", unknown, "Anna"},
		{about, "What is my sister allergic to?", unknown, "peanuts"},
		{about, "What is the capital of France?", unknown, ""},
		{chinese, "我对什么东西过敏", "花生", "小红"},
		{chinese, "我现在住在哪个城市？", "杭州", "柏林"},
		{chinese, "我的狗叫什么名字？", "旺财", "咪咪"},
		{chinese, "我妹妹住在哪里？", "柏林", "杭州"},
		{chinese, "我在哪里工作？", "面包店", ""},
		{chinese, "你还记得我的生日吗？", "五月三日", ""},
		{chinese, "我是谁？", "小明", "旺财"},
		{chinese, "我的电话号码是多少？", "138", ""},
		{chinese, "我弟弟叫什么名字？", unknownChinese, "小红"},
		{chinese, "我妈妈的电话是多少？", unknownChinese, "138"},
		{"I live in Beijing. | I moved to Shanghai.", "Where do I live?", "Shanghai", "Beijing"},
		{"我搬到上海了。 | 我住在北京。", "我住在哪里？", "上海", "北京"},
		{"I am also allergic to shrimp. | I am allergic to peanuts.", "What am I allergic to?", `peanuts." You told me: "I am also allergic to shrimp."`, ""},
		{`You told me: "I live in Beijing." | I live in Rome.`, "Where do I live?", "Rome", "Beijing"},
		{"My friend number 1 lives in Oslo. | My friend number 2 lives in Rome.", "Where does my friend number 2 live?", "Rome", "Oslo"},
		{"My motto is &lt;b&gt; %s.", "What is my motto?", "<b> %s.", ""},
	} {
		got := reply(t, demomodel.Model{}, note(tt.memories), schema.UserMessage(tt.question)).Content
		assert.Contains(t, got, tt.has, tt.question)
		if tt.not != "" {
			assert.NotContains(t, got, tt.not, tt.question)
		}
	}
}

func TestStatementsAreAcknowledged(t *testing.T) {
	for said, want := range map[string]string{
		"I moved to Hangzhou in March.": "Noted.", "When I was young I lived in Paris.": "Noted.", "我对花生过敏，住在杭州。": "好的，记住了。",
		"Please remember that I like tea.": "Noted.", "Forget my job. I moved to Oslo.": "Noted. " + only,
	} {
		assert.Equal(t, want, reply(t, demomodel.Model{}, schema.UserMessage(said)).Content)
	}
}

// only is what the model says of what it does not do.
const only = "I am a demo model: all I do is repeat what you told me."

// It does not say that it did what it is told: it does nothing.
func TestNoWishIsAcknowledged(t *testing.T) {
	for said, want := range map[string]string{
		"Forget that I am allergic to peanuts.": only, "Please forget what I said about my job.": only, "Don't remember this: my PIN is 9911.": only,
		"Remind me to call Ann.": only, "hello": only, "忘掉我对花生过敏。": "我是演示模型，只会复述你告诉过我的话。", "请删除我的地址": "我是演示模型，只会复述你告诉过我的话。",
	} {
		assert.Equal(t, want, reply(t, demomodel.Model{}, schema.UserMessage(said)).Content, said)
	}
	assert.Equal(t, `You told me: "I like tea."`, reply(t, demomodel.Model{}, note("I like tea."), schema.UserMessage("Tell me what I like.")).Content)
	wished := note("I am allergic to peanuts. | Forget that I am allergic to peanuts.")
	assert.Equal(t, `You told me: "I am allergic to peanuts."`, reply(t, demomodel.Model{}, wished, schema.UserMessage("What am I allergic to?")).Content)
}

func TestGreetingsAndQuestionsStateNothing(t *testing.T) {
	for text, states := range map[string]bool{
		"I live in Beijing.": true, "My name is Ann. What is yours?": true, "我住在北京。": true,
		"hello!": false, "Forget my address.": false, "Thank you!": false, "ok": false, "Where do I live?": false, "你好": false, "谢谢！": false, "我住在哪里？": false, "": false,
	} {
		assert.Equal(t, states, demomodel.States(text), text)
	}
}

func TestWhatWasSaidBeforeIsEvidenceToo(t *testing.T) {
	got := reply(t, demomodel.Model{}, schema.SystemMessage("The user lives in Rome."), note("I live in Oslo."), schema.UserMessage("I live in Lima."),
		schema.AssistantMessage("You live in Paris.", nil), schema.UserMessage("Where do I live?"))
	assert.Equal(t, `You told me: "I live in Lima."`, got.Content)
}

func TestMemorysToolsAreCalledWhereTheyHelp(t *testing.T) {
	for name, tt := range map[string]struct {
		tools []string
		notes bool
		in    []*schema.Message
		want  string // the arguments of the call; empty: none
	}{
		"question":     {[]string{"search_memory"}, false, []*schema.Message{schema.UserMessage("Who is Bo?")}, `{"keywords":["Who is Bo?"],"limit":30}`},
		"in Chinese":   {[]string{"search_memory"}, false, []*schema.Message{schema.UserMessage("我住在哪里？")}, `{"keywords":["我住在哪里？","住","搬"],"limit":30}`},
		"newer words":  {[]string{"search_memory"}, false, []*schema.Message{note("我住在北京。"), schema.UserMessage("我住在哪里？")}, `{"keywords":["我住在哪里？","住","搬"],"limit":30}`},
		"answered":     {[]string{"search_memory"}, false, []*schema.Message{note("Bo is my cat."), schema.UserMessage("Who is Bo?")}, ""},
		"searched":     {[]string{"search_memory"}, false, []*schema.Message{schema.UserMessage("Who is Bo?"), schema.ToolMessage("(nothing)", "c")}, ""},
		"statement":    {[]string{"add_memory"}, true, []*schema.Message{schema.UserMessage("I like tea.")}, `{"thinking":"the user said so","content":["I like tea."]}`},
		"takes none":   {[]string{"add_memory"}, false, []*schema.Message{schema.UserMessage("I like tea.")}, ""},
		"not a tool":   {[]string{"weather"}, true, []*schema.Message{schema.UserMessage("Who is Bo?")}, ""},
		"no statement": {[]string{"add_memory"}, true, []*schema.Message{schema.UserMessage("Who is Bo?")}, ""},
	} {
		var tools []*schema.ToolInfo
		for _, tool := range tt.tools {
			tools = append(tools, &schema.ToolInfo{Name: tool})
		}
		m, err := (&demomodel.Model{Notes: tt.notes}).WithTools(tools)
		require.NoError(t, err)
		out, err := m.Generate(t.Context(), tt.in)
		require.NoError(t, err)
		require.Equal(t, tt.want == "", len(out.ToolCalls) == 0, name)
		if tt.want != "" {
			assert.JSONEq(t, tt.want, out.ToolCalls[0].Function.Arguments, name)
		}
	}
}

func TestADocumentReader(t *testing.T) {
	question, read := schema.UserMessage("Which pump at Orla station had a cracked valve?"), schema.UserMessage("Read all the reports.")
	result := func(text string) *schema.Message { return schema.ToolMessage(text, "c") }
	called := func(tool string) *schema.Message {
		return schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: tool}}})
	}
	grep := called("grep_working_memory")
	for name, tt := range map[string]struct {
		in        []*schema.Message
		tool, has string // the tool that is called, and what is in the call or the answer
	}{
		"begins":           {[]*schema.Message{read}, "read_report", `"number":1`},
		"goes on":          {[]*schema.Message{read, called("read_report"), result("Report 7 of 9\nAll is well.")}, "read_report", `"number":8`},
		"ends":             {[]*schema.Message{read, called("read_report"), result("Report 9 of 9\nAll is well.")}, "", "all 9"},
		"searches":         {[]*schema.Message{read, result("Report 9 of 9"), question}, "grep_working_memory", `"pattern":"station"`},
		"searches further": {[]*schema.Message{question, grep, result("No line has it.")}, "grep_working_memory", `"pattern":"cracked"`},
		"finds":            {[]*schema.Message{question, grep, result("Matches: 1.\n[log-3]\n12: A cracked valve on pump 31 at Orla station.")}, "", "pump 31"},
		"gives up":         {append([]*schema.Message{question}, slices.Repeat([]*schema.Message{grep, result("No line has it.")}, 7)...), "", "I don't know"},
	} {
		out := reply(t, demomodel.Model{Reads: "read_report"}, tt.in...)
		if tt.tool == "" {
			require.Empty(t, out.ToolCalls, name)
			require.Contains(t, out.Content, tt.has, name)
			continue
		}
		require.Len(t, out.ToolCalls, 1, name)
		require.Equal(t, tt.tool, out.ToolCalls[0].Function.Name, name)
		require.Contains(t, out.ToolCalls[0].Function.Arguments, tt.has, name)
	}
}

func TestStreamsAndErrors(t *testing.T) {
	m := &demomodel.Model{}
	stream, err := m.Stream(t.Context(), []*schema.Message{note("I like tea."), schema.UserMessage("What do I like?")})
	require.NoError(t, err)
	var pieces []*schema.Message
	for piece, err := stream.Recv(); !errors.Is(err, io.EOF); piece, err = stream.Recv() {
		require.NoError(t, err)
		pieces = append(pieces, piece)
	}
	require.Greater(t, len(pieces), 3)
	whole, err := schema.ConcatMessages(pieces)
	require.NoError(t, err)
	assert.Equal(t, `You told me: "I like tea."`, whole.Content)
	for _, in := range [][]*schema.Message{nil, {schema.SystemMessage("x")}, {note("I like tea.")}, {schema.UserMessage("  ")}} {
		_, err := m.Stream(t.Context(), in, model.WithTools(nil))
		require.ErrorContains(t, err, "no user message")
	}
}

func FuzzReplyNeverPanics(f *testing.F) {
	f.Add("What am I allergic to?", "- [1] 1 Jan 2026, user: I am allergic to peanuts.")
	f.Add("my's ' our 我的", "- my ' 的 , and my our is")
	f.Add("几岁?", "* \n  \n- [")
	f.Fuzz(func(t *testing.T, said, remembered string) {
		for _, m := range []*demomodel.Model{{}, {Reads: "read"}} {
			out, err := m.Generate(t.Context(), []*schema.Message{{Role: schema.User, Name: "memory", Content: remembered}, schema.UserMessage(said), schema.ToolMessage(remembered, "c")})
			if err == nil && out.Content == "" && len(out.ToolCalls) == 0 {
				t.Fatal("an empty answer")
			}
		}
	})
}
