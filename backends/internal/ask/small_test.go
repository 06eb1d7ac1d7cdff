// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/internal/test/testkit"
)

var plainQuestion = &ask.Question{
	System: "be brief", User: "what is new?", Tool: "remember", Purpose: "changes the memory",
	Small: &ask.Small{System: "lines of JSON", User: "0 I like tea."},
}

// asSmall asks a model that is known to be small.
func asSmall(t *testing.T, answer *schema.Message) (*ask.Answer[operations], error) {
	t.Helper()
	m := testkit.New(func(_ context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		require.Empty(t, o.Tools)
		require.Equal(t, []string{"lines of JSON", "0 I like tea."}, []string{in[0].Content, in[1].Content[:13]})
		require.NotNil(t, o.MaxTokens, "a small model may not find an end")
		return answer, nil
	})
	asked, err := ask.New(&ask.Config{Name: "test", Model: m, Small: true})
	require.NoError(t, err)
	return ask.For[operations](t.Context(), asked.Begin(ask.Limits{}), plainQuestion, nil)
}

// What small models write where lines of JSON are asked for.
func TestLinesOfJSONAreReadOneByOne(t *testing.T) {
	tea, cat := operation{Text: "likes tea"}, operation{Text: "has a cat"}
	for in, want := range map[string][]operation{
		"{\"fact\":\"likes tea\"}\n{\"fact\":\"has a cat\"}":                                        {tea, cat},
		"Answer:\n```json\n{\"fact\":\"likes tea\"},\n{\"fact\":\"has a cat\"}\n```":                {tea, cat},
		"[{\"fact\":\"likes tea\"},\n{\"fact\":\"has a cat\"}]":                                     {tea, cat},
		"<think>{</think>1. {\"fact\":\"likes tea\"}\n- {\"fact\":\"has a cat\"}":                   {tea, cat},
		"{“fact”：“likes tea”}\n｛\"fact\"：\"has a cat\"｝":                                            {tea, cat},
		"{{\"fact\":\"likes tea\"}}\n{{\"fact\":\"has a cat\"}}":                                    {tea, cat},
		"{\"messages\":[\"0\"],\"fact\":\"likes tea\"}":                                             {{Text: "likes tea", Messages: []int{0}}},
		"{\"add\":{\"fact\":\"likes tea\"}}\n{\"operations\":{\"add\":[{\"fact\":\"has a cat\"}]}}": {{Op: "add", Text: "likes tea"}, {Op: "add", Text: "has a cat"}},
		"{\"operations\":[{\"add\":{\"fact\":\"likes tea\"}}]}":                                     {{Op: "add", Text: "likes tea"}},
		"{\n  \"operations\": [\n    {\"fact\": \"likes tea\"}\n  ]\n}":                             {tea},
		"{\"fact\":\"\"}\n{\"fact\":\"likes tea\"}":                                                 {tea},
		"{\"fact\":\"\"}": {}, "[]": {}, "{}": {}, "None.": {}, "无。": {}, "```json\n[]\n```": {},
	} {
		a, err := asSmall(t, schema.AssistantMessage(in, nil))
		require.NoError(t, err, in)
		require.Equal(t, want, a.Value.Operations, in)
		require.Empty(t, a.Bad, in)
		require.True(t, a.Small)
	}
}

func TestABadLineSpoilsNoOther(t *testing.T) {
	for _, bad := range []string{`{"fact":"has a`, `{"fact":12}`, `{"op":"add"`} {
		a, err := asSmall(t, schema.AssistantMessage("{\"fact\":\"likes tea\"}\n"+bad+"\n{\"fact\":\"has a cat\"}", nil))
		require.NoError(t, err, bad)
		require.Equal(t, []operation{{Text: "likes tea"}, {Text: "has a cat"}}, a.Value.Operations, bad)
		require.Len(t, a.Bad, 1, bad)
	}
	cut := schema.AssistantMessage("{\"fact\":\"likes tea\"}\n{\"fact\":\"has a", nil)
	cut.ResponseMeta = &schema.ResponseMeta{FinishReason: "length"}
	a, err := asSmall(t, cut)
	require.NoError(t, err)
	require.Equal(t, []operation{{Text: "likes tea"}}, a.Value.Operations)
	require.Len(t, a.Bad, 1)
	for _, prose := range []string{"", "The user likes tea.", "retract", "5", `{"fact":12}`} {
		_, err := asSmall(t, schema.AssistantMessage(prose, nil))
		require.ErrorIs(t, err, ask.ErrUnusable, prose)
	}
}

// limited returns a model that answers questions of the usual form as sensible says, and small ones always.
func limited(sensible func(n int) bool) (*testkit.Chat, *[]string) {
	var asked []string
	return testkit.New(func(_ context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		if in[0].Content == "lines of JSON" {
			asked = append(asked, "small")
			return schema.AssistantMessage(`{"fact":"likes tea"}`, nil), nil
		}
		asked = append(asked, "usual")
		if !sensible(len(asked)) {
			return testkit.Call("1", "remember", `{"operations":"I like"}`)(context.Background(), in, o)
		}
		return testkit.Call("1", "remember", `{"operations":[]}`)(context.Background(), in, o)
	}), &asked
}

func TestAModelThatMakesNoSenseIsAskedInTheSmallForm(t *testing.T) {
	for name, c := range map[string]struct {
		sensible func(n int) bool
		asked    []string
		reports  int
	}{
		"a small one":                 {func(int) bool { return false }, []string{"usual", "small", "usual", "small", "small", "small"}, 1},
		"one that slips at first":     {func(n int) bool { return n > 1 }, []string{"usual", "small", "usual", "usual", "usual"}, 0},
		"one that slips later":        {func(n int) bool { return n != 2 }, []string{"usual", "usual", "usual", "usual", "usual"}, 0},
		"one that gets lost later":    {func(n int) bool { return n < 2 }, []string{"usual", "usual", "usual", "usual", "small", "small"}, 1},
		"one that is never at a loss": {func(int) bool { return true }, []string{"usual", "usual", "usual", "usual"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, asked := limited(c.sensible)
			reports := 0
			a, err := ask.New(&ask.Config{Name: "test", Model: m, OnError: func(context.Context, string, error) { reports++ }})
			require.NoError(t, err)
			for range 4 {
				_, err = ask.For[operations](t.Context(), a.Begin(ask.Limits{Calls: 2}), plainQuestion, nil)
				if err != nil {
					require.ErrorIs(t, err, ask.ErrUnusable)
				}
			}
			other, err := ask.New(&ask.Config{Name: "test", Model: m})
			require.NoError(t, err)
			require.Equal(t, c.reports == 1, other.Small(), "backends share what one of them learnt")
			require.Equal(t, c.asked, *asked)
			require.Equal(t, c.reports, reports)
		})
	}
}

// A question that has no small form is asked as ever.
func TestOtherQuestionsKeepTheirForm(t *testing.T) {
	m, asked := limited(func(int) bool { return true })
	a, err := ask.New(&ask.Config{Name: "test", Model: m, Small: true})
	require.NoError(t, err)
	r := a.Begin(ask.Limits{})
	for _, q := range []*ask.Question{plainQuestion, question, plainQuestion} {
		_, err = ask.For[operations](t.Context(), r, q, nil)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"small", "usual", "small"}, *asked)
}
