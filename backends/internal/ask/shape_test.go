// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/test/testkit"
)

// What small models write in the place of a call, as they write it.
func TestTheWrappingOfAnAnswerIsTakenAway(t *testing.T) {
	tea := operation{Op: "add", Text: "likes tea"}
	gone := operation{Op: "retract", Text: "has a cat"}
	for in, want := range map[string][]operation{
		`<tool_call>{"name":"remember","arguments":{"operations":[{"op":"add","text":"likes tea"}]}}</tool_call>`:                                             {tea},
		"<tool_call>\n{\"name\":\"remember\",\"arguments\":\"{\\\"operations\\\":[{\\\"op\\\":\\\"add\\\",\\\"text\\\":\\\"likes tea\\\"}]}\"}\n</tool_call>": {tea},
		`<tool_call>{"name":"remember","arguments":{"op":"add","text":"likes tea"}}</tool_call>
		 <tool_call>{"name":"remember","arguments":{"op":"retract","text":"has a cat"}}</tool_call>`: {tea, gone},
		`{"name":"remember","parameters":{"operations":[{"op":"add","text":"likes tea"}]}}`:                                           {tea},
		`{"type":"function","function":{"name":"remember","arguments":"{\"operations\":[{\"op\":\"add\",\"text\":\"likes tea\"}]}"}}`: {tea},
		`{"function":{"name":"remember","parameters":{"op":"add","text":"likes tea"}}}`:                                               {tea},
		`[{"name":"remember","arguments":{"operations":[{"op":"add","text":"likes tea"}]}}]`:                                          {tea},
		`[TOOL_CALLS][{"name":"remember","arguments":{"operations":[{"op":"add","text":"likes tea"}]}}]`:                              {tea},
		`{"tool_calls":[{"function":{"name":"remember","arguments":{"operations":[{"op":"add","text":"likes tea"}]}}}]}`:              {tea},
		`{"remember":{"operations":[{"op":"add","text":"likes tea"}]}}`:                                                               {tea},
		`{"remember":[{"op":"add","text":"likes tea"}]}`:                                                                              {tea},
		`{"operations":{"add":[{"text":"likes tea"}],"retract":[{"text":"has a cat"}]}}`:                                              {tea, gone},
		`{"operations":[{"add":{"text":"likes tea"}},{"retract":{"fact":"has a cat"}}]}`:                                              {tea, gone},
		`{"operations":{"add":["likes tea"]}}`:                                                                                        {tea},
		`{"add":["likes tea"],"retract":"has a cat"}`:                                                                                 {tea, gone},
		"{\"op\":\"add\",\"text\":\"likes tea\"}\n{\"op\":\"retract\",\"text\":\"has a cat\"}":                                        {tea, gone},
		"```json\n{\"op\":\"add\",\"text\":\"likes tea\"}\n{\"op\":\"retract\",\"text\":\"has a cat\"}\n```":                          {tea, gone},
		`{{"name":"add","arguments":{"text":"likes tea"}}}`:                                                                           {tea},
		`{{"operations":[{{"op":"add","text":"likes tea"}}]}}`:                                                                        {tea},
		`{“operations”：[{“op”：“add”，“text”：“likes tea”}]}`:                                                                            {tea},
		`{"operations"：[{"op"："add"，"text"："likes tea"，"valid"：false}，{"op":"retract"，"text":"has a cat"}]}`:                          {tea, gone},
		`｛"operations"：[｛"op"："add"、"text"："likes tea"｝]｝`:                                                                            {tea},
	} {
		a, usage, err := answerOf(t, testkit.Text(in))
		require.NoError(t, err, in)
		require.Equal(t, want, a.Value.Operations, in)
		require.Empty(t, a.Bad, in)
		require.Equal(t, 1, usage.ModelCalls, in)
	}
}

func TestABareWordOrNumberIsNoEntry(t *testing.T) {
	a, _, err := answerOf(t, testkit.Text(`{"operations":["retract",5,{"op":"add","text":"likes tea"},"has a cat"]}`))
	require.NoError(t, err)
	require.Equal(t, []operation{{Op: "add", Text: "likes tea"}, {Text: "has a cat"}}, a.Value.Operations)
	require.Len(t, a.Bad, 2)
	assert.EqualError(t, a.Bad[0].Err, "is a bare word, and should be an object")
	assert.EqualError(t, a.Bad[1].Err, "is no object")
}

// An answer that is cut off within a call, or of which one line is, is none.
func TestHalfAWrappedAnswerIsNone(t *testing.T) {
	for _, in := range []string{
		`<tool_call>{"name":"remember","arguments":{"operations":[{"op":"add"`,
		"{\"op\":\"add\",\"text\":\"likes tea\"}\n{\"op\":\"retract\",\"te",
		`{{"name":"add","arguments":{"text":"likes`,
	} {
		_, _, err := answerOf(t, testkit.Text(in))
		require.ErrorIs(t, err, ask.ErrUnusable, in)
		require.ErrorIs(t, err, backends.ErrModel, in)
	}
}

// takes returns a server that takes a request if accept, which gets the tool choice and whether
// there is a tool, says no error.
func takes(accept func(o *model.Options, in []*schema.Message) error) (*testkit.Chat, *[]string) {
	var asked []string
	m := testkit.New(func(_ context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		how := "prompt"
		switch {
		case len(o.Tools) > 0 && o.ToolChoice != nil:
			how = "forced"
		case len(o.Tools) > 0:
			how = "auto"
		}
		asked = append(asked, how)
		if err := accept(o, in); err != nil {
			return nil, err
		}
		return schema.AssistantMessage(`{"operations":[{"op":"add","text":"likes tea"}]}`, nil), nil
	})
	return m, &asked
}

func TestARefusedFormLeadsToTheNextAndIsRemembered(t *testing.T) {
	status := func(s string) error {
		return errors.New("error, status code: 400, status: 400 Bad Request, message: " + s)
	}
	for name, c := range map[string]struct {
		accept func(o *model.Options, in []*schema.Message) error
		first  []string
	}{
		"everything": {func(*model.Options, []*schema.Message) error { return nil }, []string{"forced"}},
		"thinking": {func(o *model.Options, _ []*schema.Message) error {
			if o.ToolChoice != nil {
				return status("The tool_choice parameter does not support being set to required or object in thinking mode")
			}
			return nil
		}, []string{"forced", "auto"}},
		"no tools": {func(o *model.Options, _ []*schema.Message) error {
			if len(o.Tools) > 0 {
				return status("registry.ollama.ai/library/gemma:2b does not support tools")
			}
			return nil
		}, []string{"forced", "auto", "prompt"}},
		"no tools, and no reason": {func(o *model.Options, _ []*schema.Message) error {
			if len(o.Tools) > 0 {
				return status("Bad Request")
			}
			return nil
		}, []string{"forced", "auto", "prompt"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, asked := takes(c.accept)
			var reports []string
			for range 3 { // two backends share what one of them learnt
				a, err := ask.New(&ask.Config{Name: "test", Model: m, OnError: func(_ context.Context, _ string, err error) { reports = append(reports, err.Error()) }})
				require.NoError(t, err)
				_, err = ask.For[operations](t.Context(), a.Begin(ask.Limits{Calls: 1}), question, nil)
				require.NoError(t, err)
			}
			last := c.first[len(c.first)-1]
			require.Equal(t, append(c.first, last, last), *asked)
			if len(c.first) == 1 {
				require.Empty(t, reports)
				return
			}
			require.Equal(t, []string{fmt.Sprintf("test: the model does not answer in the form %q. It is asked in the form %q from now on", "forced", last)}, reports)
		})
	}
}

func TestRefusedContentIsAskedOnce(t *testing.T) {
	for text, want := range map[string]error{
		"status code: 400, code: content_filter":                               fault.ErrContent,
		"status code: 400, This model's maximum context length is 8192 tokens": fault.ErrContent,
		"status code: 400, Content Exists Risk":                                fault.ErrContent,
		"status code: 429, slow down, and do not set tool_choice":              backends.ErrUnavailable,
		"status code: 400, Your credit balance is too low for tool_choice":     backends.ErrUnavailable,
		"status code: 413, too large for response_format":                      backends.ErrInvalid,
	} {
		m, asked := takes(func(*model.Options, []*schema.Message) error { return errors.New(text) })
		_, err := ask.For[operations](t.Context(), begin(t, m, ask.Limits{}), question, nil)
		require.ErrorIs(t, err, want, text)
		require.Equal(t, []string{"forced"}, *asked, text)
	}
}

// A server that refuses everything about the form is away, and nothing is wrong with what was said.
func TestARefusalOfEachFormIsNoFaultOfTheContent(t *testing.T) {
	m, asked := takes(func(*model.Options, []*schema.Message) error { return errors.New("status code: 422, extra_forbidden") })
	r := begin(t, m, ask.Limits{})
	for range 3 {
		_, err := ask.For[operations](t.Context(), r, question, nil)
		require.ErrorIs(t, err, fault.ErrForm)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.NotErrorIs(t, err, backends.ErrInvalid)
		require.NotErrorIs(t, err, fault.ErrOpen, "what is refused opens no circuit")
	}
	require.Len(t, *asked, 3*3+1, "the last form once more, without a temperature")
}

// An extraction is greedy. Reasoning models refuse any temperature, some without a reason; a second
// answer has to differ from the first.
func TestATemperatureOfZeroIsAskedForUntilItIsRefused(t *testing.T) {
	for refusal, first := range map[string][]string{
		"": {"forced 0"},
		"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.": {"forced 0", "forced"},
		"Bad Request": {"forced 0", "auto 0", "prompt 0", "prompt"},
	} {
		var asked []string
		m, how := takes(func(o *model.Options, _ []*schema.Message) error {
			at := ""
			if o.Temperature != nil {
				at = fmt.Sprint(" ", *o.Temperature)
			}
			asked = append(asked, at)
			if refusal != "" && o.Temperature != nil {
				return errors.New("error, status code: 400, message: " + refusal)
			}
			return nil
		})
		var all []string
		for range 2 {
			_, err := ask.For[operations](t.Context(), begin(t, m, ask.Limits{Calls: 1}), question, nil)
			require.NoError(t, err, refusal)
		}
		for i := range *how {
			all = append(all, (*how)[i]+asked[i])
		}
		require.Equal(t, append(first, first[len(first)-1]), all, refusal)
	}
	var temperatures []*float32
	m := testkit.New(func(_ context.Context, _ []*schema.Message, o *model.Options) (*schema.Message, error) {
		temperatures = append(temperatures, o.Temperature)
		return schema.AssistantMessage("I do not know.", nil), nil
	})
	_, err := ask.For[operations](t.Context(), begin(t, m, ask.Limits{}), question, nil)
	require.ErrorIs(t, err, backends.ErrModel)
	require.NotNil(t, temperatures[0])
	require.Nil(t, temperatures[1])
}

// llama.cpp's server ignores a tool choice that names the function, and answers as text.
func TestAModelThatIgnoresTheToolIsAskedForJSON(t *testing.T) {
	m, asked := takes(func(*model.Options, []*schema.Message) error { return nil })
	talks := testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		if len(o.Tools) > 0 {
			*asked = append(*asked, "ignored")
			return schema.AssistantMessage("Sure, I will remember that.", nil), nil
		}
		return m.Generate(ctx, in)
	})
	r := begin(t, talks, ask.Limits{})
	for range 2 {
		_, err := ask.For[operations](t.Context(), r, question, nil)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"ignored", "prompt", "prompt"}, *asked)
}

func TestALimitOfTimeIsNamed(t *testing.T) {
	var greedy []bool
	slow := testkit.New(func(ctx context.Context, _ []*schema.Message, o *model.Options) (*schema.Message, error) {
		greedy = append(greedy, o.Temperature != nil)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	m, err := ask.New(&ask.Config{Name: "mem0", Model: slow, Timeout: time.Millisecond, Limit: "mem0.Config.ModelTimeout"})
	require.NoError(t, err)
	for range 2 {
		_, err = ask.For[operations](t.Context(), m.Begin(ask.Limits{}), question, nil)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.ErrorContains(t, err, "raise mem0.Config.ModelTimeout if the model needs longer than 1ms")
	}
	require.Equal(t, []bool{true, false}, greedy, "a greedy answer that repeats itself has no end")
}
