// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
)

type list = []*schema.Message

func user(text string) *schema.Message   { return schema.UserMessage(text) }
func answer(text string) *schema.Message { return schema.AssistantMessage(text, nil) }
func result(id string) *schema.Message   { return schema.ToolMessage("", id) }

func calls(ids ...string) *schema.Message {
	m := schema.AssistantMessage("", nil)
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: "f"}})
	}
	return m
}

func image(role schema.RoleType, content, url string) *schema.Message {
	return &schema.Message{Role: role, Content: content, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}},
	}}
}

func drawing(role schema.RoleType, text string) *schema.Message {
	return &schema.Message{Role: role, AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: text}}}
}

func TestCheckRefusesWhatProvidersRefuse(t *testing.T) {
	system := schema.SystemMessage("be brief")
	calling := user("hi")
	calling.ToolCalls = calls("a").ToolCalls
	unnamed := calls("a")
	unnamed.ToolCalls[0].Function.Name = ""
	withBlank := calls("a")
	withBlank.Content = " "
	for name, tc := range map[string]struct {
		list list
		want string // in the error; "" for none
	}{
		"a question":                {list{user("hi")}, ""},
		"prompts in front":          {list{system, system, user("hi"), answer("yes"), user("why?")}, ""},
		"a prompt in between":       {list{user("hi"), system, answer("yes")}, ""},
		"calls":                     {list{user("hi"), calls("a", "b"), result("b"), result("a"), answer("so")}, ""},
		"an id again":               {list{user("hi"), calls("a"), result("a"), calls("a"), result("a")}, ""},
		"two questions":             {list{user("hi"), user("there")}, ""},
		"a question after results":  {list{user("hi"), calls("a"), result("a"), user("go on")}, ""},
		"a picture":                 {list{image(schema.User, "", "u"), drawing(schema.Assistant, "so")}, ""},
		"nothing":                   {nil, "no message"},
		"a prompt alone":            {list{system}, "no message beside the system prompt"},
		"a nil":                     {list{user("hi"), nil}, "message 1: it is nil"},
		"an unknown role":           {list{user("hi"), {Role: "function", Content: "x"}}, "unknown role"},
		"the assistant begins":      {list{system, answer("hello"), user("hi")}, "message 1: the assistant begins"},
		"an empty answer":           {list{user("hi"), answer("")}, "no content"},
		"an empty prompt":           {list{schema.SystemMessage(""), user("hi")}, "no content"},
		"a blank":                   {list{user("hi"), answer(" \n"), user("?")}, "blank content"},
		"a blank beside calls":      {list{user("hi"), withBlank, result("a")}, "blank content"},
		"a blank part":              {list{user("hi"), drawing(schema.Assistant, "")}, "blank part"},
		"a picture without address": {list{image(schema.User, "", "")}, "without an address"},
		"a picture by a tool":       {list{user("hi"), calls("a"), image(schema.Tool, "", "u")}, "parts of another role"},
		"parts of the other":        {list{drawing(schema.User, "x")}, "parts of another role"},
		"parts and content":         {list{image(schema.User, "x", "u")}, "both parts and content"},
		"a user calls":              {list{calling}, "calls by the user"},
		"an id twice":               {list{user("hi"), calls("a", "a"), result("a")}, "unique"},
		"no id":                     {list{user("hi"), calls(""), result("")}, "required"},
		"no name":                   {list{user("hi"), unnamed, result("a")}, "required"},
		"a result of nothing":       {list{user("hi"), result("a")}, "not called right before"},
		"a result at the begin":     {list{result("a"), user("hi")}, "not called right before"},
		"a result too late":         {list{user("hi"), calls("a"), result("a"), answer("so"), result("a")}, "message 4: result"},
		"a result of others":        {list{user("hi"), calls("a"), result("a"), calls("b"), result("b"), result("a")}, "not called right before"},
		"a result twice":            {list{user("hi"), calls("a"), result("a"), result("a")}, "message 3: second result"},
		"no result":                 {list{user("hi"), calls("a", "b"), result("a"), user("?")}, `message 3: call "b" has no result`},
		"no result at the end":      {list{user("hi"), calls("a")}, `at the end: call "a" has no result`},
		"a question before results": {list{user("hi"), calls("a"), user("?"), result("a")}, "has no result"},
		"a prompt before results":   {list{user("hi"), calls("a"), system, result("a")}, "has no result"},
		"an answer before results":  {list{user("hi"), calls("a"), answer("so"), result("a")}, "has no result"},
	} {
		if err := transcript.Check(tc.list); tc.want == "" {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, tc.want, name)
		}
	}
}

// What is broken in a history that providers take, is noticed. i is the place of a
// message with calls; its results follow.
func TestMutationsAreRefused(t *testing.T) {
	for name, mutate := range map[string]func(l list, i int) list{
		"leave a result out":      func(l list, i int) list { return slices.Delete(l, i+1, i+2) },
		"leave the calls out":     func(l list, i int) list { return slices.Delete(l, i, i+1) },
		"give a result twice":     func(l list, i int) list { return slices.Insert(l, i+1, l[i+1]) },
		"speak before the result": func(l list, i int) list { return slices.Insert(l, i+1, user("wait")) },
		"end with a call":         func(l list, _ int) list { return append(l, calls("new")) },
		"ask nothing":             func(l list, i int) list { return slices.Insert(l, i, user("")) },
		"swap calls and result":   func(l list, i int) list { l[i], l[i+1] = l[i+1], l[i]; return l },
		"answer another call": func(l list, i int) list {
			c := *l[i+1]
			c.ToolCallID += "'"
			l[i+1] = &c
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				l := transcript.New(testkit.Drawn(t), nil).Messages
				var at []int
				for i, m := range l {
					if len(m.ToolCalls) > 0 {
						at = append(at, i)
					}
				}
				if len(at) == 0 {
					t.Skip("nothing is called")
				}
				require.Error(t, transcript.Check(mutate(l, at[rapid.IntRange(0, len(at)-1).Draw(t, "place")])))
			})
		})
	}
}

func TestProvidersTakeWhatIsNotBroken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := transcript.New(testkit.Drawn(t), &transcript.Shape{Logged: true, Plain: rapid.Bool().Draw(t, "plain")})
		require.NoError(t, transcript.Check(h.Messages))
	})
}

// What carries a number is in the log under that number, and the log is whole.
func TestTheLogHoldsWhatIsNumbered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := transcript.New(testkit.Drawn(t), &transcript.Shape{Logged: true, Broken: true})
		for i, m := range h.Log {
			require.Equal(t, int64(i+1), einox.MarkOf(m).Seq)
			require.NotEmpty(t, einox.MarkOf(m).Turn)
			require.False(t, einox.IsNote(m))
		}
		last := int64(0)
		for _, m := range h.Messages {
			if m == nil || einox.MarkOf(m).Seq == 0 {
				continue
			}
			if einox.MarkOf(m).Kind == einox.Summary {
				require.Zero(t, last, "the oldest leave first")
			} else {
				require.Equal(t, last+1, einox.MarkOf(m).Seq, "in order and without gaps")
				require.Same(t, h.Log[last], m)
			}
			last = einox.MarkOf(m).Seq
		}
		require.True(t, last == 0 || last == int64(len(h.Log)), "the newest of the log is in the context")
	})
}

func TestEverySortComesUp(t *testing.T) {
	huge := func(m *schema.Message) bool { return compaction.Estimate.Message(m) > 3000 }
	of := func(m *schema.Message, role schema.RoleType) bool { return m.Role == role }
	missing := map[string]func(m *schema.Message) bool{
		"system prompt":      func(m *schema.Message) bool { return of(m, schema.System) },
		"five calls at once": func(m *schema.Message) bool { return len(m.ToolCalls) == 5 },
		"calls with words":   func(m *schema.Message) bool { return len(m.ToolCalls) > 0 && m.Content != "" },
		"ids that come again": func(m *schema.Message) bool {
			return m.ToolCallID == "call_0"
		},
		"empty result":    func(m *schema.Message) bool { return of(m, schema.Tool) && m.Content == "" },
		"huge result":     func(m *schema.Message) bool { return of(m, schema.Tool) && huge(m) },
		"huge question":   func(m *schema.Message) bool { return of(m, schema.User) && huge(m) },
		"huge line":       func(m *schema.Message) bool { return len(m.Content) > 8000 && !strings.Contains(m.Content, "\n") },
		"huge word":       func(m *schema.Message) bool { return len(m.Content) > 8000 && !strings.ContainsAny(m.Content, " \n{") },
		"Chinese":         func(m *schema.Message) bool { return strings.Contains(m.Content, "会议") },
		"pretended marks": func(m *schema.Message) bool { return strings.Contains(m.Content, "</summary>") },
		"picture":         func(m *schema.Message) bool { return len(m.UserInputMultiContent) > 0 },
		"old picture":     func(m *schema.Message) bool { return len(m.MultiContent) > 0 },
		"made picture":    func(m *schema.Message) bool { return len(m.AssistantGenMultiContent) > 0 },
		"reasoning":       func(m *schema.Message) bool { return m.ReasoningContent != "" },
		"note":            func(m *schema.Message) bool { return einox.MarkOf(m).Kind == einox.Note },
		"core message":    func(m *schema.Message) bool { return einox.MarkOf(m).Kind == einox.Core },
		"placeholder":     func(m *schema.Message) bool { return einox.MarkOf(m).Kind == einox.Summary },
	}
	errs := []string{"no result", "at the end: call", "not called", "second result", "unknown role", "nil", "no content", "blank", "unique", "the assistant begins"}
	for seed := range uint64(1000) {
		h := transcript.New(transcript.Seed(seed), &transcript.Shape{Broken: true, Logged: true})
		for name, is := range missing {
			if slices.ContainsFunc(h.Messages, func(m *schema.Message) bool { return m != nil && is(m) }) {
				delete(missing, name)
			}
		}
		if err := transcript.Check(h.Messages); err != nil {
			errs = slices.DeleteFunc(errs, func(part string) bool { return strings.Contains(err.Error(), part) })
		}
	}
	require.Empty(t, missing)
	require.Empty(t, errs)
}

func TestASeedMakesTheSameAndPlainIsTextAndCalls(t *testing.T) {
	made := func(seed uint64, shape *transcript.Shape) string {
		text, err := json.Marshal(transcript.New(transcript.Seed(seed), shape))
		require.NoError(t, err)
		return string(text)
	}
	broken := &transcript.Shape{Broken: true, Logged: true}
	require.Equal(t, made(7, broken), made(7, broken))
	require.NotEqual(t, made(7, broken), made(8, broken))
	for seed := range uint64(200) {
		plain := made(seed, &transcript.Shape{Plain: true, Rounds: 2, Tokens: 50})
		for _, field := range []string{"reasoning_content", "multi_content", einox.MarkKey} {
			require.NotContains(t, plain, field)
		}
	}
}

func tokens(messages ...*schema.Message) (n int) {
	for _, m := range messages {
		n += compaction.Estimate.Message(m)
	}
	return n
}

func TestTasksHaveTheirSize(t *testing.T) {
	turns := transcript.Task(transcript.Seed(1), 200)
	require.Len(t, turns, 200)
	require.Equal(t, turns, transcript.Task(transcript.Seed(1), 200))
	require.NotEqual(t, turns, transcript.Task(transcript.Seed(2), 200))
	all := slices.Concat(turns...)
	require.NoError(t, transcript.Check(all))
	largest := slices.MaxFunc(all, func(a, b *schema.Message) int { return tokens(a) - tokens(b) })
	require.InDelta(t, 11_000, tokens(largest), 3000)
	require.InDelta(t, 600_000, tokens(all...), 200_000)
}

func TestWords(t *testing.T) {
	m := schema.AssistantMessage("Tom's cat, tom! 第3次会议。", []schema.ToolCall{{ID: "id", Function: schema.FunctionCall{Name: "find_it", Arguments: `{"q":"a\nb"}`}}})
	m.ReasoningContent = "cat?"
	w := transcript.WordsOf(m, nil, user("cat"), drawing(schema.Assistant, "drawn"), image(schema.User, "", "address"))
	require.Equal(t, transcript.Words{
		"Tom": 1, "s": 1, "cat": 3, "tom": 1, "第3次会议": 1, "find": 1, "it": 1, "q": 1, "a": 1, "nb": 1, "drawn": 1,
	}, w)
	w = transcript.WordsOf(user("a b c"))
	require.Equal(t, []string{"c"}, w.Without(transcript.WordsOf(user("a x")), transcript.WordsOf(user("b"))))
	require.Empty(t, w.Without(w))
	require.Len(t, transcript.WordsOf(user("0 1 2 3 4 5 6 7 8 9 10 11 12")).Without(), 10)
}
