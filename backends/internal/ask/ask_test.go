// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/jsontext"
	"github.com/einomem/einomem/internal/test/testkit"
)

type operation struct {
	Op       string         `json:"op" alias:"event,action" jsonschema:"enum=add,enum=retract"`
	Text     string         `json:"text" alias:"fact,memory"`
	Index    *int           `json:"index,omitempty" alias:"id"`
	Messages []int          `json:"messages,omitempty"`
	Tags     []string       `json:"tags,omitempty"`
	Sure     float64        `json:"confidence,omitempty"`
	Valid    bool           `json:"valid,omitempty"`
	Rest     map[string]any `json:"-"`
}

func (o *operation) Check() error {
	if o.Op == "" && o.Text == "" {
		return errors.New("has neither op nor text")
	}
	return nil
}

type operations struct {
	Operations []operation `json:"operations" alias:"memories"`
}

var question = &ask.Question{System: "be brief", User: "what is new?", Tool: "remember", Purpose: "changes the memory"}

func begin(t *testing.T, m model.BaseChatModel, l ask.Limits) *ask.Run {
	t.Helper()
	asked, err := ask.New(&ask.Config{Name: "test", Model: m})
	require.NoError(t, err)
	return asked.Begin(l)
}

func answerOf(t *testing.T, replies ...testkit.Reply) (*ask.Answer[operations], backends.Usage, error) {
	t.Helper()
	r := begin(t, testkit.New(replies...), ask.Limits{})
	a, err := ask.For[operations](t.Context(), r, question, nil)
	return a, r.Usage(), err
}

func one(n int) *int { return &n }

func TestAnswersAreDecodedAsModelsMeanThem(t *testing.T) {
	tea := operation{Op: "add", Text: "likes tea"}
	for name, c := range map[string]struct {
		reply testkit.Reply
		want  []operation
	}{
		"a call":                   {testkit.Call("1", "remember", `{"operations":[{"op":"add","text":"likes tea"}]}`), []operation{tea}},
		"under a wrong name":       {testkit.Call("1", "functions.remember", `{"operations":[{"op":"add","text":"likes tea"}]}`), []operation{tea}},
		"text with thoughts":       {testkit.Text("<think>{</think>Sure:\n```json\n{'operations':[{'op':'add','text':'likes tea'},]}\n```"), []operation{tea}},
		"a bare list":              {testkit.Text(`[{"op":"add","text":"likes tea"}]`), []operation{tea}},
		"a single entry":           {testkit.Text(`{"operations":{"op":"add","text":"likes tea"}}`), []operation{tea}},
		"an entry without a list":  {testkit.Text(`{"op":"add","text":"likes tea"}`), []operation{tea}},
		"a list written as a text": {testkit.Text(`{"operations":"[{\"op\":\"add\",\"text\":\"likes tea\"}]"}`), []operation{tea}},
		"other names":              {testkit.Text(`{"memories":[{"event":"add","fact":"likes tea"}]}`), []operation{tea}},
		"numbers in quotes": {testkit.Text(`{"operations":[{"op":"add","text":"t","index":"3","messages":"2","tags":"a, b\nc\n","confidence":"0.5","valid":"True"}]}`),
			[]operation{{Op: "add", Text: "t", Index: one(3), Messages: []int{2}, Tags: []string{"a, b", "c"}, Sure: 0.5, Valid: true}}},
		"more than was asked for": {testkit.Text(`{"operations":[{"op":"add","text":"t","why":{"n":1},"no":null}]}`), []operation{{Op: "add", Text: "t", Rest: map[string]any{"why": map[string]any{"n": 1.0}}}}},
		"nothing":                 {testkit.Text(`{"operations":[]}`), []operation{}},
		"null":                    {testkit.Text(`{"operations":null}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, usage, err := answerOf(t, c.reply)
			require.NoError(t, err)
			assert.Equal(t, c.want, a.Value.Operations)
			assert.Empty(t, a.Bad)
			assert.Equal(t, 1, usage.ModelCalls)
		})
	}
}

func TestABareTextStandsForAnEntry(t *testing.T) {
	type facts struct {
		Facts []struct {
			Text string `json:"text"`
		} `json:"facts"`
	}
	a, err := ask.For[facts](t.Context(), begin(t, testkit.New(testkit.Text(`{"facts":["likes tea",{"text":"has a cat"}]}`)), ask.Limits{}), question, nil)
	require.NoError(t, err)
	require.Len(t, a.Value.Facts, 2)
	assert.Equal(t, "likes tea", a.Value.Facts[0].Text)
	assert.Empty(t, a.Bad)
}

func TestSeveralCallsAreOneAnswer(t *testing.T) {
	two := func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		call := func(arguments string) schema.ToolCall {
			return schema.ToolCall{Function: schema.FunctionCall{Name: "remember", Arguments: arguments}}
		}
		return schema.AssistantMessage("", []schema.ToolCall{call(`{"operations":[{"op":"add","text":"a"}]}`), call(`{"operations":[{"op":"add","text":"b"}]}`)}), nil
	}
	a, _, err := answerOf(t, two)
	require.NoError(t, err)
	require.Len(t, a.Value.Operations, 2)
}

func TestEntriesThatCannotBeDecodedAreReportedBesideTheOthers(t *testing.T) {
	a, _, err := answerOf(t, testkit.Text(`{"operations":[{"op":"add","text":"t"},{"op":"add","text":12},{"tags":["x"]},12]}`))
	require.NoError(t, err)
	require.Len(t, a.Value.Operations, 1)
	require.Len(t, a.Bad, 3)
	assert.Equal(t, ask.Bad{Raw: `{"op":"add","text":12}`, Err: a.Bad[0].Err}, a.Bad[0])
	assert.EqualError(t, a.Bad[0].Err, `"text" is no text`)
	assert.EqualError(t, a.Bad[1].Err, "has neither op nor text")
}

// What is nearly JSON is repaired; what is cut off stays an error.
func TestJSONIsReadAsModelsWriteIt(t *testing.T) {
	for in, want := range map[string]any{
		`{"a":"b"}`: map[string]any{"a": "b"}, "Sure:\n```json\n[\"a\"]\n```\nDone.": []any{"a"}, "<think>{</think>['a',]": []any{"a"},
		"<THINK>a\nb</THINK>\n\n[1]": []any{1.0}, "a</think>[1]": []any{1.0}, "<thinking>a</thinking>```\n[1]\n```": []any{1.0},
		`{"a":"x",}`:                                   map[string]any{"a": "x"},
		`{'a':'it\'s', b: None}`:                       map[string]any{"a": "it's", "b": nil},
		`[{"a":"x"} {"a":"y"}]`:                        []any{map[string]any{"a": "x"}, map[string]any{"a": "y"}},
		`{"a":"x" "b":"y"}`:                            map[string]any{"a": "x", "b": "y"},
		"{\"a\":\"x\ny\"}":                             map[string]any{"a": "x\ny"},
		`{"a":"he said "hi" to me"}`:                   map[string]any{"a": `he said "hi" to me`},
		`{'a':'it's Ann's rock'n'roll','b':['l'été']}`: map[string]any{"a": "it's Ann's rock'n'roll", "b": []any{"l'été"}},
		`{"a":"it's","b":True}`:                        map[string]any{"a": "it's", "b": true},
		`{"a":"\u4f4f\u5728 \ud83d\ude00 \ud800",}`:    map[string]any{"a": "住在 😀 �"},
		`{“a”：“住在上海，喜欢茶”，“b”：[2，3，4]}`:            map[string]any{"a": "住在上海，喜欢茶", "b": []any{2.0, 3.0, 4.0}},
		`{"a":"他说"你好"就走了",}`:                      map[string]any{"a": `他说"你好"就走了`},
		"[ // none\n \"http://x.y/z\", /* b */ ]": []any{"http://x.y/z"},
		`{"a":"C:\Users\x\new",}`:                 map[string]any{"a": `C:\Users\x\new`},
		`[true, -1.5e3]`:                          []any{true, -1500.0},
		`["a\u0000\u0000b", "\\u0000"]`:           []any{"ab", `\u0000`},
	} {
		got, err := jsontext.Parse(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for in, want := range map[string]error{
		"": jsontext.ErrEmpty, "<think>hm</think>": jsontext.ErrEmpty, "I cannot do that.": jsontext.ErrNoJSON, strings.Repeat(" ", 1<<19+1): jsontext.ErrTooLarge,
		`{"a":"I love trav`: jsontext.ErrTruncated, `[{"a":1},{"b"`: jsontext.ErrTruncated, `[{"a":1}`: jsontext.ErrTruncated, `{"a":tru`: jsontext.ErrTruncated, `{'a':`: jsontext.ErrTruncated, `{'a':'\`: jsontext.ErrTruncated,
		`{a 1}`: jsontext.ErrMalformed, `[1}`: jsontext.ErrTruncated, `{[`: jsontext.ErrTruncated, `{=1}`: jsontext.ErrMalformed, `[:]`: jsontext.ErrMalformed, `[some words]`: jsontext.ErrMalformed,
		strings.Repeat("[", 1<<16) + "]": jsontext.ErrMalformed, `{"a":"he said "hi", then left","b":1}`: jsontext.ErrMalformed, strings.Repeat(`'"`, 1<<17) + "{": jsontext.ErrTruncated,
	} {
		_, err := jsontext.Parse(in)
		require.ErrorIs(t, err, want, in)
	}
}

// However little of an answer is missing, nothing of it counts.
func TestNoBeginningOfAnAnswerIsRepaired(t *testing.T) {
	for _, in := range []string{
		`{'l':[{'op':'add','text':'one, two','n':[0,1]},{'op':'add','text':'three [x]', n: [2]},{'op':'none'}]}`, `[['a'],['b','c'],[]]`,
		`{“l”：[{“t”：“住在上海”，“n”：[0，1，2，34]}，{“t”：“喜欢茶”}]}`, `{"l":[{"t":"x",},{"t":"y (z) {q}",}],}`, `{'a':{'b':{'c':[{'d':"e "f" g"}]}},'h':{}}`,
	} {
		_, err := jsontext.Parse(in)
		require.NoError(t, err, in)
		for i := range in {
			_, err := jsontext.Parse(in[:i])
			require.Error(t, err, in[:i])
		}
	}
}

// What is JSON already is read as JSON, and what is repaired never ends earlier than it does.
func FuzzJSONIsReadAsJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,"b",null,true,{"c":"d\n\u4e2d"}]}`, `["x\"y","",-0.5e-3]`, `{"a":"b","c":{"d":[]}}`, `["\ud800"]`, `{'a':["b`, `[{"a":"b" 'c'}`, `{"a":"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := jsontext.Parse(s)
		var want any
		if json.Unmarshal([]byte(s), &want) != nil || strings.Contains(s, `\u0000`) {
			return
		}
		switch want.(type) {
		case []any, map[string]any:
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}

func TestAnAnswerThatCannotBeUsedIsExplainedOnce(t *testing.T) {
	m := testkit.New(testkit.Text("none"), testkit.Call("1", "remember", `{"operations":[]}`))
	r := begin(t, m, ask.Limits{})
	_, err := ask.For[operations](t.Context(), r, question, nil)
	require.NoError(t, err)
	assert.Equal(t, 2, r.Usage().ModelCalls)
	assert.Contains(t, m.Calls()[1][1].Content, "What was wrong: the answer holds no JSON")

	refused := 0
	r = begin(t, testkit.New(testkit.Text("{}")), ask.Limits{})
	_, err = ask.For(t.Context(), r, question, func(*operations) error { refused++; return errors.New("not enough") })
	require.ErrorIs(t, err, backends.ErrModel)
	require.ErrorContains(t, err, "not enough")
	assert.Equal(t, 2, refused)
}

func TestHalfAnAnswerIsNone(t *testing.T) {
	cut := func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		return &schema.Message{Content: `{"operations":[]}`, ResponseMeta: &schema.ResponseMeta{FinishReason: "length"}}, nil
	}
	for _, reply := range []testkit.Reply{cut, testkit.Call("1", "remember", `{"operations":[{"op":"add"`), testkit.Text(`{"operations":[{"op":"add","text":"I love trav`), testkit.Text("")} {
		_, _, err := answerOf(t, reply)
		require.ErrorIs(t, err, backends.ErrModel)
	}
}

func TestAModelThatCannotBeAskedIsUnavailable(t *testing.T) {
	for name, reply := range map[string]testkit.Reply{
		"an error": testkit.Fail(errors.New("*errors.errorString")),
		"a panic":  func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) { panic("boo") },
		"nothing":  func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			_, usage, err := answerOf(t, reply)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.NotErrorIs(t, err, backends.ErrModel)
			assert.Equal(t, 1, usage.ModelCalls)
		})
	}
	_, err := ask.New(&ask.Config{Name: "test"})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// What answers in a way that cannot be used is there; what does not answer is left alone,
// also if it heeds no context.
func TestAModelThatFailsInARowIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reply atomic.Pointer[testkit.Reply]
		now := func(r testkit.Reply) { reply.Store(&r) }
		m := testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
			return (*reply.Load())(ctx, in, o)
		})
		asked, err := ask.New(&ask.Config{Name: "test", Model: m, Timeout: time.Minute})
		require.NoError(t, err)
		question := func(n int) (err error) {
			for range n {
				_, err = ask.For[operations](t.Context(), asked.Begin(ask.Limits{}), question, nil)
			}
			return err
		}
		now(testkit.Text("no"))
		require.ErrorIs(t, question(5), backends.ErrModel)
		for _, refusal := range []error{fmt.Errorf("too long: %w", backends.ErrInvalid), errors.New("status code: 400, too long")} {
			now(testkit.Fail(refusal))
			require.ErrorIs(t, question(5), refusal)
			require.ErrorIs(t, question(1), backends.ErrInvalid)
		}
		now(testkit.Fail(errors.New("down")))
		require.ErrorContains(t, question(4), "*errors.errorString")
		now(func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
			time.Sleep(time.Hour)
			return nil, nil
		})
		start, calls := time.Now(), len(m.Calls())
		require.ErrorContains(t, question(1), "no answer within 1m0s")
		err = question(10)
		require.ErrorIs(t, err, fault.ErrOpen)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.Len(t, m.Calls(), calls+1)
		require.Equal(t, time.Minute, time.Since(start))
		now(testkit.Text("{}"))
		time.Sleep(time.Second)
		require.NoError(t, question(1), "the probe")
		time.Sleep(time.Hour)
	})
}

func TestACancelledContextIsNoOutage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := testkit.New(func(ctx context.Context, _ []*schema.Message, _ *model.Options) (*schema.Message, error) {
		cancel()
		return nil, ctx.Err()
	})
	r := begin(t, m, ask.Limits{})
	for range 2 { // under way, and before
		_, err := ask.For[operations](ctx, r, question, nil)
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, backends.ErrUnavailable)
	}
	assert.Len(t, m.Calls(), 1)
}

func TestTheModelIsForcedToCallTheTool(t *testing.T) {
	var seen *model.Options
	m := testkit.New(func(_ context.Context, _ []*schema.Message, o *model.Options) (*schema.Message, error) {
		seen = o
		return schema.AssistantMessage("{}", nil), nil
	})
	_, err := ask.For[operations](t.Context(), begin(t, m, ask.Limits{}), question, nil)
	require.NoError(t, err)
	require.NotNil(t, seen.ToolChoice)
	assert.Equal(t, schema.ToolChoiceForced, *seen.ToolChoice)
	assert.Equal(t, "be brief\n\nAnswer with one call of the tool remember.", m.Calls()[0][0].Content)
}

// plainModel is a chat model that calls no tools.
type plainModel struct{ model.BaseChatModel }

func TestAModelWithoutToolsIsShownTheJSON(t *testing.T) {
	m := testkit.New(testkit.Text("{}"))
	zh := *question
	zh.Language = backends.Chinese
	_, err := ask.For[operations](t.Context(), begin(t, plainModel{m}, ask.Limits{}), &zh, nil)
	require.NoError(t, err)
	assert.Equal(t, "be brief\n\n只回答 JSON，格式如下： "+`{"operations":[{"op":"add|retract","text":"…","index":0,"messages":[0],"tags":["…"],"confidence":0.0,"valid":true|false}]}`, m.Calls()[0][0].Content)
}

func TestTextIsWithoutThoughtsAndFences(t *testing.T) {
	r := begin(t, testkit.New(testkit.Text("``` \n```"), testkit.Text("<think>hm</think> ```text\ndone \n```")), ask.Limits{})
	answer, err := ask.Text(t.Context(), r, &ask.Question{System: "s", User: "u"}, nil)
	require.NoError(t, err)
	assert.Equal(t, "done", answer)
	assert.Equal(t, 2, r.Usage().ModelCalls)
}

func TestLimitsBoundCallsAndTokens(t *testing.T) {
	reply := func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		return &schema.Message{Content: "{}", ResponseMeta: &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 90, CompletionTokens: 8}}}, nil
	}
	for _, l := range []ask.Limits{{Calls: 1}, {Tokens: 99}} {
		m := testkit.New(reply)
		r := begin(t, m, l)
		_, err := ask.For[operations](t.Context(), r, question, nil)
		require.NoError(t, err)
		_, err = ask.For[operations](t.Context(), r, question, nil)
		require.ErrorIs(t, err, ask.ErrLimit)
		require.ErrorIs(t, err, backends.ErrInvalid)
		assert.Len(t, m.Calls(), 1)
		r.Embedded(3)
		assert.Equal(t, backends.Usage{ModelCalls: 1, PromptTokens: 90, CompletionTokens: 8, EmbeddedTexts: 3}, r.Usage())
	}
	// The repeat of a refused answer counts.
	_, err := ask.For(t.Context(), begin(t, testkit.New(reply), ask.Limits{Calls: 1}), question, func(*operations) error { return errors.New("no") })
	require.ErrorIs(t, err, ask.ErrLimit)
}

func TestCallsAtTheSameTimeAreBounded(t *testing.T) {
	var now, most atomic.Int64
	m := testkit.New(func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		return schema.AssistantMessage("{}", nil), nil
	})
	asked, err := ask.New(&ask.Config{Name: "test", Model: m, Concurrency: 2})
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			_, err := ask.For[operations](t.Context(), asked.Begin(ask.Limits{}), question, nil)
			assert.NoError(t, err)
		})
	}
	all.Wait()
	assert.LessOrEqual(t, most.Load(), int64(2))
}

func TestAReportSaysWhatBecameOfEachStage(t *testing.T) {
	r := begin(t, testkit.New(), ask.Limits{})
	s := r.Stage("validate")
	s.In(5)
	s.Out(2)
	s.Drop(1)
	for range 2 {
		s.Fail(fmt.Errorf("judge: %w", backends.ErrModel))
	}
	r.Stage("store").Merge(1)
	assert.Same(t, s, r.Stage("validate"))
	report := r.Report()
	require.ErrorIs(t, testkit.Failed(report), backends.ErrModel)
	encoded, err := json.Marshal(report)
	require.NoError(t, err)
	assert.JSONEq(t, `{"stages":[{"name":"validate","in":5,"out":2,"dropped":1,"failed":2,"errors":["judge: model output not understood"]},
		{"name":"store","in":0,"out":0,"merged":1}],"usage":{"model_calls":0,"prompt_tokens":0,"completion_tokens":0,"embedded_texts":0}}`, string(encoded))
	assert.Equal(t, backends.StageReport{Name: "rerank"}, testkit.Stage(report, "rerank"))
}
