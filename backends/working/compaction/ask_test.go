// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
)

// summarised compacts ten rounds of a chat with a model, and returns the report
// of its step and the summary, if it was used.
func summarised(t *testing.T, m model.BaseChatModel, v *vault) (*compaction.Result, *schema.Message) {
	t.Helper()
	in := chat(10, 400)
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
	if einox.IsSummary(r.Messages[1]) {
		require.NoError(t, err)
		return r, r.Messages[1]
	}
	require.Equal(t, in, r.Messages, "the context is as it was")
	return r, nil
}

func cutOff(s string) testkit.Reply {
	return func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		return &schema.Message{Role: schema.Assistant, Content: s, ResponseMeta: &schema.ResponseMeta{FinishReason: "length"}}, nil
	}
}

var errRateLimit = errors.New("rate limit")

// What cannot be used is asked for once more; then the step fails, nothing is
// stored, and nothing is replaced.
func TestUnusableSummaries(t *testing.T) {
	long := harbour
	for range 40 {
		long.Facts = append(long.Facts, strings.Repeat("the harbour is closed and so on ", 9)+string(rune('a'+len(long.Facts))))
	}
	for name, tc := range map[string]struct {
		reply testkit.Reply
		calls int
		err   error
		says  string
	}{
		"garbage":        {testkit.Text("\xff\x00 ]]}{ ```"), 2, backends.ErrModel, "cut off"},
		"empty":          {testkit.Text(""), 2, backends.ErrModel, "was empty"},
		"NONE":           {testkit.Text("NONE"), 2, backends.ErrModel, "no JSON"},
		"NONE in parts":  {answer{Goal: "None.", Facts: []string{"n/a", "-", "无"}}.calls(t), 2, backends.ErrModel, "summarises nothing"},
		"nothing":        {testkit.Call("c", "keep_summary", "{}"), 2, backends.ErrModel, "summarises nothing"},
		"refusal":        {testkit.Text("I'm sorry, I can't help with that."), 2, backends.ErrModel, "no JSON"},
		"truncated JSON": {testkit.Call("c", "keep_summary", harbour.json(t)[:60]), 2, backends.ErrModel, "cut off"},
		"cut off":        {cutOff(harbour.json(t)), 2, backends.ErrModel, "cut off"},
		"too large":      {long.calls(t), 2, backends.ErrModel, "too long: at most 800 characters"},
		"foreign":        {answer{Goal: "bake bread", Facts: []string{"knead flour water yeast salt until smooth then leave overnight inside fridge covered with towel"}}.calls(t), 2, backends.ErrModel, "nothing to do with the messages"},
		"only archives":  {answer{Facts: []string{"log-1-999999", "a-aaaaaaaaaaaaaaaaaaaa"}}.calls(t), 2, backends.ErrModel, "summarises nothing"},
		"error":          {testkit.Fail(errRateLimit), 1, errRateLimit, "rate limit"},
		"panic": {func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
			panic("out of cheese")
		}, 1, backends.ErrUnavailable, "panicked: out of cheese"},
		"no message": {func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) { return nil, nil }, 1, backends.ErrUnavailable, "answered nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVault()
			r, sum := summarised(t, testkit.New(tc.reply), v)
			require.Nil(t, sum)
			require.Nil(t, r.Summary)
			require.Empty(t, v.held)
			require.Len(t, r.Steps, 1)
			require.ErrorIs(t, r.Steps[0].Err, tc.err)
			require.ErrorContains(t, r.Steps[0].Err, tc.says)
			require.Equal(t, tc.calls, r.Usage.ModelCalls)
			require.Zero(t, r.Steps[0].Replaced)
		})
	}
}

func TestRepairedAndRetried(t *testing.T) {
	tagged := "Here it is.\n<state_snapshot><overall_goal>find out about the harbour</overall_goal><key_knowledge>\n- the harbour is closed\n- wait\n</key_knowledge></state_snapshot>"
	for name, tc := range map[string]struct {
		replies []testkit.Reply
		has     string
	}{
		"content instead of the tool": {[]testkit.Reply{testkit.Text("```json\n" + harbour.json(t) + "\n```")}, "- the harbour is closed\n"},
		"nearly JSON":                 {[]testkit.Reply{testkit.Text(`{'goal': 'find out about the harbour', facts: ['it's closed',],}`)}, "- it's closed\n"},
		"nested":                      {[]testkit.Reply{testkit.Text(`{"summary":{"goal":"find out","next_steps":"call\nwait"}}`)}, "## Next steps\n- call\n- wait\n"},
		"tags":                        {[]testkit.Reply{testkit.Text(tagged)}, "## Facts and decisions\n- the harbour is closed\n- wait\n"},
		"twice the same":              {[]testkit.Reply{testkit.Text(`{"goal":"find out","facts":["closed","- closed"," closed "]}`)}, "## Facts and decisions\n- closed\n["},
		"objects":                     {[]testkit.Reply{testkit.Text(`{"facts":[{"tool":"search","arguments":"{}"},7]}`)}, "- arguments: {}; tool: search\n- 7\n"},
		"the second time":             {[]testkit.Reply{testkit.Text("I can't."), harbour.calls(t)}, "- the harbour is closed\n"},
		"Chinese":                     {[]testkit.Reply{testkit.Text(`{"目标":"查明港口的情况","事实":["港口关闭，等暴风雨过去再说"],"下一步":["无"]}`)}, "- 港口关闭，等暴风雨过去再说\n["},
	} {
		t.Run(name, func(t *testing.T) {
			m := testkit.New(tc.replies...)
			r, sum := summarised(t, m, newVault())
			require.NotNil(t, sum, "%v", r.Steps)
			require.Contains(t, sum.Content, tc.has)
			require.Equal(t, len(tc.replies), r.Usage.ModelCalls)
		})
	}
	t.Run("says why", func(t *testing.T) {
		m := testkit.New(testkit.Text("I can't."), harbour.calls(t))
		summarised(t, m, newVault())
		require.Equal(t, m.Calls()[0][1].Content+"\n\nYour answer before could not be used. Do the same task again, correctly and completely. What was wrong: the answer holds no JSON", m.Calls()[1][1].Content)
	})
}

func TestModelWithoutTools(t *testing.T) {
	m := testkit.New(testkit.Text(harbour.json(t)))
	_, sum := summarised(t, plain{m}, newVault())
	require.NotNil(t, sum)
	require.Contains(t, m.Calls()[0][0].Content, `Answer with JSON alone: {"goal":`)
}

func TestAnswerIsForced(t *testing.T) {
	reply := harbour.calls(t)
	m := testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		require.Equal(t, schema.ToolChoiceForced, *o.ToolChoice)
		require.Len(t, o.Tools, 1)
		s, err := o.Tools[0].ToJSONSchema()
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"goal", "directives", "facts", "failed", "open", "next"}, s.Required)
		return reply(ctx, in, o)
	})
	_, sum := summarised(t, m, newVault())
	require.NotNil(t, sum)
}

// A call that takes too long is given up; the context of the whole is not over.
func TestTimeout(t *testing.T) {
	m := testkit.New(func(ctx context.Context, _ []*schema.Message, _ *model.Options) (*schema.Message, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000, Timeout: time.Millisecond}).
		Compact(t.Context(), &compaction.Request{Messages: chat(10, 400), Archive: newVault()})
	require.Error(t, err, "it does not fit")
	require.ErrorIs(t, r.Steps[0].Err, backends.ErrUnavailable)
	require.ErrorIs(t, r.Steps[0].Err, context.DeadlineExceeded)
	require.NoError(t, t.Context().Err())
}

// When the caller's context ends, so does everything, at once.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := testkit.New(func(ctx context.Context, _ []*schema.Message, _ *model.Options) (*schema.Message, error) {
		cancel()
		return nil, ctx.Err()
	})
	in := chat(10, 400)
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, GroupTokens: 400}).Compact(ctx, &compaction.Request{Messages: in, Archive: newVault()})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, r.Steps[0].Err, backends.ErrUnavailable)
	require.Equal(t, in, r.Messages)
	require.Len(t, m.Calls(), 1)
}

// A context that ended while the model answered is not worked on any more.
func TestCancelledBetweenGroups(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reply := harbour.calls(t)
	m := testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		cancel()
		return reply(ctx, in, o)
	})
	r, err := compactorOf(t, 1000, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000, GroupTokens: 400}).
		Compact(ctx, &compaction.Request{Messages: chat(10, 400), Archive: newVault()})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, m.Calls(), 1)
	require.ErrorIs(t, r.Steps[0].Err, context.Canceled)
	require.True(t, einox.IsSummary(r.Messages[1]), "what was answered stands")
}

// Handlers of the agent that is running do not see memory's own calls: they would
// make them events of the agent (trap T3).
func TestSummaryIsNoEventOfTheAgent(t *testing.T) {
	seen := 0
	handler := callbacks.NewHandlerBuilder().OnStartFn(func(ctx context.Context, _ *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
		seen++
		return ctx
	}).Build()
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Name: "agent"}, handler)
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: testkit.New(harbour.calls(t)), SummaryWindow: 10_000}).
		Compact(ctx, &compaction.Request{Messages: chat(10, 400), Archive: newVault()})
	require.NoError(t, err)
	require.Equal(t, 1, r.Usage.ModelCalls)
	require.Zero(t, seen)
}

func TestUsageIsCounted(t *testing.T) {
	metered := func(reply testkit.Reply) testkit.Reply {
		return func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
			m, err := reply(ctx, in, o)
			m.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 100, CompletionTokens: 7}}
			return m, err
		}
	}
	r, sum := summarised(t, testkit.New(metered(testkit.Text("no")), metered(harbour.calls(t))), newVault())
	require.NotNil(t, sum)
	require.Equal(t, backends.Usage{ModelCalls: 2, PromptTokens: 200, CompletionTokens: 14}, r.Usage)
}
