// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                     {},
		" … -- ":               {},
		"Read the READ-me, 2x": {"read", "the", "me", "2x"},
		"ＡＰＩ ｖ２":               {"api", "v2"},
		"逐页读取":                 {"逐页", "页读", "读取"},
		"用API读取":               {"用", "api", "读取"},
		"Größe naïve":          {"grösse", "naïve"},
	} {
		got := []string{}
		for w := range wordsOf(text) {
			got = append(got, w)
		}
		assert.ElementsMatch(t, want, got, text)
	}
}

func TestDice(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"", "", 0}, {"a", "", 0}, {"a b", "b a", 1}, {"a b", "b c", 0.5}, {"A b", "a, B!", 1}, {"a b c d", "a", 0.4}, {"逐页读取", "逐页读完", 2.0 / 3},
	} {
		assert.InDelta(t, c.want, dice(wordsOf(c.a), wordsOf(c.b)), 1e-12, "%q %q", c.a, c.b)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := wordsOf(rapid.String().Draw(t, "a")), wordsOf(rapid.String().Draw(t, "b"))
		d := dice(a, b)
		require.Equal(t, d, dice(b, a))
		require.True(t, d >= 0 && d <= 1)
		if len(a) > 0 {
			require.Equal(t, 1.0, dice(a, a))
		}
	})
}

func TestSameSense(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"ask for a token", "ask for the token", true},
		{"always ask", "never ask", false},
		{"wait 5 seconds", "wait 10 seconds", false},
		{"a before b", "b after a", false},
		{"don't ask", "ask", false},
		{"先读取再核对", "读取之后核对", false},
		{"不要重试", "要重试", false},
		{"逐页读取", "一页一页读取", true},
	} {
		assert.Equal(t, c.same, sameSense(c.a, c.b), "%q %q", c.a, c.b)
	}
}

func TestCosine(t *testing.T) {
	assert.InDelta(t, 1, cosine([]float32{1, 2}, []float32{2, 4}), 1e-9)
	assert.InDelta(t, 0, cosine([]float32{1, 0}, []float32{0, 1}), 1e-9)
	for _, v := range [][]float32{nil, {1}, {0, 0}} {
		assert.Zero(t, cosine(v, []float32{1, 1}))
	}
}

func TestNumbersOfMetadata(t *testing.T) {
	for _, c := range []struct {
		v    any
		want float64
	}{{3.5, 3.5}, {3, 3}, {int64(3), 3}, {json.Number("3"), 3}, {json.Number("x"), 0}, {" 3", 3}, {"x", 0}, {"inf", 0}, {nil, 0}, {[]any{3}, 0}} {
		assert.Equal(t, c.want, number(&backends.Memory{Metadata: map[string]any{"n": c.v}}, "n"), "%v", c.v)
	}
	assert.Zero(t, number(&backends.Memory{}, "n"))
	assert.Equal(t, []string{"a", "b"}, texts(&backends.Memory{Metadata: map[string]any{"l": []any{"a", 1, "b"}}}, "l"))
	assert.Equal(t, []string{"a"}, texts(&backends.Memory{Metadata: map[string]any{"l": []string{"a"}}}, "l"))
	assert.Empty(t, texts(&backends.Memory{Metadata: map[string]any{"l": "a"}}, "l"))
}

func TestOtherWordingsAreBounded(t *testing.T) {
	m := &backends.Memory{}
	for i := range 100 {
		corroborate(m, keeper.TextKey("task", "", strings.Repeat("k", i+1)))
	}
	assert.EqualValues(t, 100, m.Metadata[MetaCorroborated])
	assert.Len(t, texts(m, MetaSameAs), maxSameAs)
}

func TestClip(t *testing.T) {
	f := &englishFrame
	assert.Equal(t, "short", f.clip("short", 10))
	long := strings.Repeat("前", 30) + strings.Repeat("后", 30)
	got := f.clip(long, 10)
	assert.Equal(t, "前前前前前 [… 50 characters left out …] 后后后后后", got)
}

// Whatever a model answers, what is read of it is in order: every number that was
// shown at most once, every pair decided once.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`{"ranked_indices":[1,0],"decisions":[{"pair":0,"verdict":"same"},{"pair":1,"verdict":"merge","when_to_use":"a","content":"b"}]}`,
		`{"ranked_indices":[3]}`, `{"ranked_indices":"1"}`, `{"decisions":[{"pair":-1}]}`, `[]`, ``, `{"ranked_indices":[1e400]}`, `{"decisions":[{"pair":0.0,"verdict":"distinct"}]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := answerIn(schema.AssistantMessage(s, nil), toolRerank)
		if err != nil {
			return
		}
		const n = 3
		if order, err := indexesOf(o, "ranked_indices", n); err == nil {
			seen := map[int]bool{}
			for _, i := range order {
				require.True(t, i >= 0 && i < n && !seen[i])
				seen[i] = true
			}
		}
		if verdicts, err := readVerdicts(o, n); err == nil {
			require.Len(t, verdicts, n)
			for _, v := range verdicts {
				require.Contains(t, []string{verdictSame, verdictMerge, verdictDistinct}, v.Kind)
				require.Equal(t, v.Kind == verdictMerge, v.Content != "")
			}
		}
	})
}

func TestAnAnswerThatWasCutOffIsNone(t *testing.T) {
	m := schema.AssistantMessage(`{"query":"x"}`, nil)
	m.ResponseMeta = &schema.ResponseMeta{FinishReason: "length"}
	_, err := answerIn(m, toolQuery)
	require.Error(t, err)
	m.ResponseMeta = nil
	_, err = answerIn(m, toolQuery)
	require.NoError(t, err)
}

// A model that calls the tool once an entry has answered all the same.
func TestSeveralCallsAreOneAnswer(t *testing.T) {
	call := func(arguments string) schema.ToolCall {
		return schema.ToolCall{Function: schema.FunctionCall{Name: toolDuplicates, Arguments: arguments}}
	}
	o, err := answerIn(schema.AssistantMessage("", []schema.ToolCall{
		call(`{"decisions":[{"pair":0,"verdict":"same"}]}`), call(`{"decisions":[{"pair":1,"verdict":"distinct"}]}`),
	}), toolDuplicates)
	require.NoError(t, err)
	verdicts, err := readVerdicts(o, 2)
	require.NoError(t, err)
	require.Len(t, verdicts, 2)
	_, err = answerIn(schema.AssistantMessage("", []schema.ToolCall{call(`{"decisions":[]}`), call(`[]`)}), toolDuplicates)
	require.ErrorIs(t, err, errNoObject)
}

// Comparing many lessons with each other ends with the context.
func TestComparingEndsWithTheContext(t *testing.T) {
	m := &Memory{config: Config{DuplicateWords: 0.1}}
	tr := &try{m: m, draft: &Draft{memo: newMemo()}}
	open := []*lesson{{memory: backends.Memory{WhenToUse: "w", Text: "a b"}}, {memory: backends.Memory{WhenToUse: "w", Text: "a b c"}}}
	require.NoError(t, tr.measure(t.Context(), []string{"w\na b", "w\na b c"}))
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, tr.compare(ctx, open, make([][]backends.Hit, 2)))
	assert.Len(t, open[1].pairs, 1)
	cancel()
	open[1].pairs = nil
	require.ErrorIs(t, tr.compare(ctx, open, make([][]backends.Hit, 2)), context.Canceled)
	assert.Empty(t, open[1].pairs)
}
