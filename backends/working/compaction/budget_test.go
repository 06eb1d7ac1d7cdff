// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
)

var bytes = compaction.Counter(func(s string) int { return len(s) })

func TestWithDefaults(t *testing.T) {
	for name, tc := range map[string]struct {
		in                             compaction.Budget
		answer, tools, memories, limit int
	}{
		"shares":         {compaction.Budget{Window: 16_000}, 2000, 1000, 1000, 13_000},
		"at most":        {compaction.Budget{Window: 1_000_000}, 8192, 4096, 2048, 987_712},
		"given":          {compaction.Budget{Window: 1000, Answer: 1, Tools: 2, Memories: 3}, 1, 2, 3, 997},
		"nothing kept":   {compaction.Budget{Window: 1000, Answer: -1, Tools: -1, Memories: math.MinInt}, -1, -1, -1, 1000},
		"all but one":    {compaction.Budget{Window: 100, Answer: 97, Tools: 1, Memories: 1}, 97, 1, 1, 2},
		"one":            {compaction.Budget{Window: 1}, 0, 0, 0, 1},
		"a small window": {compaction.Budget{Window: 15}, 1, 0, 0, 14},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.in
			b, err := tc.in.WithDefaults()
			require.NoError(t, err)
			assert.Equal(t, []int{tc.answer, tc.tools, tc.memories, tc.limit}, []int{b.Answer, b.Tools, b.Memories, b.Limit()})
			assert.NotNil(t, b.Counter)
			assert.Equal(t, before, tc.in)
			again, err := b.WithDefaults()
			require.NoError(t, err)
			assert.Equal(t, []int{tc.answer, tc.tools, tc.memories, tc.limit}, []int{again.Answer, again.Tools, again.Memories, again.Limit()})
		})
	}
}

func TestBudgetsThatLeaveNothing(t *testing.T) {
	for name, b := range map[string]compaction.Budget{
		"no window":          {},
		"a negative window":  {Window: -1},
		"nothing is left":    {Window: 100, Answer: 100},
		"less than nothing":  {Window: 100, Answer: 50, Tools: 50, Memories: 50},
		"too much to add up": {Window: 100, Answer: math.MaxInt, Tools: math.MaxInt, Memories: 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.WithDefaults()
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
}

func TestEveryWindowHasALimit(t *testing.T) {
	for w := 1; w <= 100; w++ {
		b, err := compaction.Budget{Window: w}.WithDefaults()
		require.NoError(t, err)
		assert.Positive(t, b.Limit(), w)
		assert.LessOrEqual(t, b.Limit(), w)
		again, err := b.WithDefaults()
		require.NoError(t, err)
		assert.LessOrEqual(t, again.Limit(), w)
	}
}

func TestUsage(t *testing.T) {
	said := schema.UserMessage("123456")                             // 10 with what a message costs
	note := marked("1234567890123456", einox.Mark{Kind: einox.Note}) // 20
	core := marked("1234567890123456", einox.Mark{Kind: einox.Core}) // 20
	summary := marked("123456", einox.Mark{Kind: einox.Summary})     // 10: it stands in for what was said
	for name, tc := range map[string]struct {
		in   []*schema.Message
		want int
	}{
		"nothing":              {nil, 0},
		"nil messages":         {[]*schema.Message{nil, said, nil}, 10},
		"memories count, too":  {[]*schema.Message{core, said, note}, 50},
		"a summary, and words": {[]*schema.Message{summary, said}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := compaction.Budget{Window: 150, Answer: 10, Tools: 10, Counter: bytes}.WithDefaults()
			require.NoError(t, err)
			u := b.Usage(tc.in)
			assert.Equal(t, tc.want, u.Tokens)
			assert.Equal(t, b.Limit(), u.Limit)
			assert.Equal(t, tc.want-u.Limit, u.Over())
		})
	}
}

// A budget without its defaults counts with the default.
func TestUsageOfABudgetAsGiven(t *testing.T) {
	m := schema.UserMessage("how full is it?")
	u := compaction.Budget{Window: 100}.Usage([]*schema.Message{m})
	assert.Equal(t, compaction.Usage{Tokens: compaction.Estimate.Message(m), Limit: 100}, u)
}

func TestUsageReportsByHowMuch(t *testing.T) {
	for _, tc := range []struct {
		u       compaction.Usage
		percent float64
		text    string
	}{
		{compaction.Usage{Tokens: 0, Limit: 100}, 0, ""},
		{compaction.Usage{Tokens: 100, Limit: 100}, 100, ""},
		{compaction.Usage{Tokens: 101, Limit: 100}, 101, "context over budget: 101 tokens, 1 more than the 100 that fit"},
		{compaction.Usage{Tokens: 12_000, Limit: 8000}, 150, "12000 tokens, 4000 more than the 8000 that fit"},
		{compaction.Usage{Tokens: 5}, 500, "5 tokens, 5 more"},
	} {
		assert.InDelta(t, tc.percent, tc.u.Percent(), 1e-9)
		assert.Equal(t, tc.text != "", tc.u.Over() > 0)
		if tc.text != "" {
			require.ErrorContains(t, &compaction.OverError{Tokens: tc.u.Tokens, Limit: tc.u.Limit}, tc.text)
		}
	}
}

// The whole of the context, with what is kept free, is within the window if and only if
// the usage says so.
func TestWhatFitsIsWithinTheWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b, err := compaction.Budget{
			Window: rapid.IntRange(20, 200).Draw(rt, "window"), Answer: rapid.IntRange(-1, 6).Draw(rt, "answer"),
			Tools: rapid.IntRange(-1, 6).Draw(rt, "tools"), Counter: bytes,
		}.WithDefaults()
		require.NoError(rt, err)
		all := 0
		var messages []*schema.Message
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 60), 0, 6).Draw(rt, "messages") {
			m := &schema.Message{Role: schema.User, Content: string(make([]byte, n))}
			if n%3 == 0 {
				m = einox.Mark{Kind: einox.Note}.On(m)
			}
			all += n + 4
			messages = append(messages, m)
		}
		taken := all + max(b.Answer, 0) + max(b.Tools, 0)
		require.Equal(rt, taken <= b.Window, b.Usage(messages).Over() <= 0)
	})
}

func TestWhatAMessageCounts(t *testing.T) {
	call := schema.ToolCall{Function: schema.FunctionCall{Name: "find", Arguments: "red shoes"}}
	for name, tc := range map[string]struct {
		msg  *schema.Message
		want int // by a counter of bytes
	}{
		"nil":         {nil, 0},
		"empty":       {schema.UserMessage(""), 4},
		"content":     {schema.UserMessage("hello"), 9},
		"reasoning":   {&schema.Message{Content: "ab", ReasoningContent: "cde"}, 9},
		"tool calls":  {schema.AssistantMessage("", []schema.ToolCall{call, call}), 4 + 2*13},
		"tool result": {schema.ToolMessage("12345", "call-1"), 9},
		"text part":   {&schema.Message{UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "1234"}}}, 8},
		"image part":  {&schema.Message{AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeImageURL}}}, 804},
		"old image":   {&schema.Message{MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeImageURL}}}, 804},
		"no type":     {&schema.Message{MultiContent: []schema.ChatMessagePart{{Text: "1234"}}}, 8},
	} {
		assert.Equal(t, tc.want, bytes.Message(tc.msg), name)
	}
	assert.Equal(t, 4+2, compaction.Estimate.Message(schema.UserMessage("hello world")))
	assert.Equal(t, 11, bytes("hello world"))
}

func TestCountTools(t *testing.T) {
	find := func(desc string) []*schema.ToolInfo {
		return []*schema.ToolInfo{nil, {Name: "find", Desc: "Finds.", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"query": {Type: schema.String, Desc: desc, Required: true},
		})}}
	}
	bare := compaction.CountTools([]*schema.ToolInfo{{Name: "find", Desc: "Finds."}})
	assert.Zero(t, compaction.CountTools(nil))
	assert.Equal(t, 15, bare)
	short := compaction.CountTools(find("What to look for."))
	assert.Greater(t, short, bare+10, "the schema of the arguments counts")
	assert.Greater(t, compaction.CountTools(find(strings.Repeat("What to look for. ", 100))), short+350, "and what it says")
}

func ExampleBudget() {
	b, err := compaction.Budget{Window: 1000, Answer: 300, Tools: 200}.WithDefaults()
	if err != nil {
		panic(err)
	}
	messages := []*schema.Message{
		schema.SystemMessage("You are brief."),
		schema.UserMessage("What does this file say? " + strings.Repeat("All work and no play. ", 60)),
	}
	u := b.Usage(messages)
	fmt.Printf("%d of %d tokens, %.0f%%\n", u.Tokens, u.Limit, u.Percent())

	messages = append(messages, schema.UserMessage(strings.Repeat("And this one? ", 60)))
	fmt.Println("too large by", b.Usage(messages).Over())
	// Output:
	// 330 of 500 tokens, 66%
	// too large by 26
}

func ExampleCounter() {
	words := compaction.Counter(func(text string) int { return len(strings.Fields(text)) })
	fmt.Println(words("how long is a piece of string"))
	fmt.Println(words.Message(schema.UserMessage("as long as you like")), "with what a message costs")
	// Output:
	// 7
	// 9 with what a message costs
}
