// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/internal/testkit"
)

func models(t *testing.T, m model.BaseChatModel, l flow.Limits) *flow.Models {
	t.Helper()
	out, err := flow.New(&flow.Config{Name: "test", Model: m, Limits: l})
	require.NoError(t, err)
	return out
}

func question() *flow.Question {
	return &flow.Question{System: "s", User: "u", Complaint: func(error) string { return "again" }}
}

func fine(*schema.Message) error { return nil }

func TestDEF16ModelCallsAreBoundedInNumberAndAtATime(t *testing.T) {
	var now, most atomic.Int64
	gate := make(chan struct{})
	m := testkit.New(func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-gate
		now.Add(-1)
		return schema.AssistantMessage("ok", nil), nil
	})
	run := models(t, m, flow.Limits{Calls: 7, Concurrency: 2}).Begin()
	var limited atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := run.Ask(t.Context(), question(), fine); errors.Is(err, flow.ErrLimit) {
				limited.Add(1)
			}
		})
	}
	for range 7 {
		gate <- struct{}{}
	}
	all.Wait()
	assert.EqualValues(t, 13, limited.Load())
	assert.LessOrEqual(t, most.Load(), int64(2))
	assert.Equal(t, 7, run.Usage().ModelCalls)
}

func TestRepeatsCountAsCalls(t *testing.T) {
	run := models(t, testkit.New(testkit.Text("?")), flow.Limits{Calls: 1}).Begin()
	err := run.Ask(t.Context(), question(), func(*schema.Message) error { return errors.New("unreadable") })
	require.ErrorIs(t, err, flow.ErrLimit)
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.NotErrorIs(t, err, backends.ErrUnavailable, "who waits and repeats it pays again for nothing")
	assert.Equal(t, 1, run.Usage().ModelCalls)
}

func TestTokensAreBounded(t *testing.T) {
	usage := &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: 90, CompletionTokens: 8}}
	m := testkit.New(func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		return &schema.Message{Role: schema.Assistant, Content: "ok", ResponseMeta: usage}, nil
	})
	run := models(t, m, flow.Limits{Tokens: 99}).Begin()
	require.NoError(t, run.Ask(t.Context(), question(), fine))
	err := run.Ask(t.Context(), question(), fine)
	require.ErrorIs(t, err, flow.ErrLimit, "98 of 99 are spent")
	longer := question()
	longer.User = strings.Repeat("u ", 100)
	require.EqualError(t, run.Ask(t.Context(), longer, fine), err.Error(), "of a thousand questions it is one error")
	assert.Equal(t, backends.Usage{ModelCalls: 1, PromptTokens: 90, CompletionTokens: 8}, run.Usage())
}

func TestAReportSaysWhatBecameOfEachStage(t *testing.T) {
	run := models(t, nil, flow.Limits{}).Begin()
	s := run.Stage("validate")
	s.Took(5)
	s.Gave(2)
	s.Drop(1)
	for range 2 {
		s.Fail(fmt.Errorf("judge: %w", backends.ErrModel))
	}
	run.Stage("store").Merge(1)
	assert.Same(t, s, run.Stage("validate"))
	report := run.Report()
	require.ErrorIs(t, report.Err(), backends.ErrModel)
	text, err := json.Marshal(report)
	require.NoError(t, err)
	assert.JSONEq(t, `{"stages":[{"name":"validate","in":5,"out":2,"dropped":1,"failed":2,"errors":["judge: model output not understood"]},
		{"name":"store","in":0,"out":0,"merged":1}],"usage":{"model_calls":0,"prompt_tokens":0,"completion_tokens":0,"embedded_texts":0}}`, string(text))
	assert.Equal(t, flow.StageReport{Name: "rerank"}, report.Stage("rerank"))
}

func TestWithoutAModelQuestionsAreErrors(t *testing.T) {
	m := models(t, nil, flow.Limits{})
	assert.False(t, m.HasModel())
	err := m.Begin().Ask(t.Context(), question(), fine)
	require.ErrorIs(t, err, flow.ErrNoModel)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestAWaitForTheModelEndsWithItsContext(t *testing.T) {
	block := make(chan struct{})
	m := testkit.New(func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		<-block
		return schema.AssistantMessage("ok", nil), nil
	})
	shared := models(t, m, flow.Limits{Concurrency: 1})
	var first sync.WaitGroup
	first.Go(func() { assert.NoError(t, shared.Begin().Ask(t.Context(), question(), fine)) })
	for len(m.Calls()) == 0 { // until the only place is taken
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, shared.Begin().Ask(ctx, question(), fine), context.Canceled)
	close(block)
	first.Wait()
}

func TestLimitsBelowZeroAreInvalid(t *testing.T) {
	for _, l := range []flow.Limits{{Calls: -1}, {Tokens: -1}, {Prompt: -1}, {Concurrency: -1}, {Timeout: -1}} {
		_, err := flow.New(&flow.Config{Name: "test", Limits: l})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

func TestWhatIsNoQuestionIsInvalid(t *testing.T) {
	_, err := flow.New(nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
	run := models(t, testkit.New(testkit.Text("42")), flow.Limits{}).Begin()
	require.ErrorIs(t, run.Ask(t.Context(), nil, fine), backends.ErrInvalid)
	require.ErrorIs(t, run.Ask(t.Context(), &flow.Question{User: "u"}, fine), backends.ErrInvalid)
	require.ErrorIs(t, run.Ask(t.Context(), question(), nil), backends.ErrInvalid)
	assert.Zero(t, run.Usage().ModelCalls)
}

func TestNobodyIsAskedOnceTheContextEnded(t *testing.T) {
	m := testkit.New(testkit.Text("42"))
	run := models(t, m, flow.Limits{}).Begin()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		require.ErrorIs(t, run.Ask(ctx, question(), fine), context.Canceled)
	}
	assert.Empty(t, m.Calls())
	assert.Zero(t, run.Usage().ModelCalls)
}

func Example() {
	models, err := flow.New(&flow.Config{Name: "example", Model: testkit.New(testkit.Text("42"))})
	if err != nil {
		panic(err)
	}
	run := models.Begin()
	stage := run.Stage("answer")
	stage.Took(1)
	q := &flow.Question{User: "What is six times seven?", Complaint: func(err error) string { return err.Error() }}
	err = run.Ask(context.Background(), q, func(out *schema.Message) error {
		fmt.Println(out.Content)
		stage.Gave(1)
		return nil
	})
	fmt.Println(err, run.Usage().ModelCalls, run.Report().Stage("answer").Out)
	// Output:
	// 42
	// <nil> 1 1
}
