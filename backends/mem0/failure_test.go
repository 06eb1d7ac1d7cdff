// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testkit"
)

// answering is a model that gives these texts, by tool or not.
func answering(answers ...string) *testkit.Chat {
	script := make([]testkit.Reply, len(answers))
	for i, a := range answers {
		script[i] = testkit.Text(a)
	}
	return testkit.New(script...)
}

// scripted is a model that always answers by f.
func scripted(f testkit.Reply) *testkit.Chat { return testkit.New(f) }

func TestC1_07_FailureIsNoEmptyAnswer(t *testing.T) {
	down := errors.New("connection refused")
	for _, tc := range []struct {
		name  string
		reply []testkit.Reply
		want  error
		calls int
	}{
		{"network", []testkit.Reply{testkit.Fail(down)}, backends.ErrUnavailable, 1},
		{"empty text", []testkit.Reply{testkit.Text("")}, backends.ErrModel, 2},
		{"prose", []testkit.Reply{testkit.Text("I have nothing to say.")}, backends.ErrModel, 2},
		{"no list", []testkit.Reply{testkit.Text(`{"ok":true}`)}, backends.ErrModel, 2},
		{"null list", []testkit.Reply{testkit.Text(`{"operations":null}`)}, backends.ErrModel, 2},
		{"cut off", []testkit.Reply{testkit.Text(`{"operations":[{"op":"add","text":"a"},{"op":"add","te`)}, backends.ErrModel, 2},
		{"cut off after an entry", []testkit.Reply{testkit.Text(`{"operations":[{"op":"add","text":"a"}`)}, backends.ErrModel, 2},
		{"only nonsense entries", []testkit.Reply{testkit.Text(`[{"op":"dance"}]`)}, backends.ErrModel, 2},
		{"empty arguments", []testkit.Reply{testkit.Call("1", "remember", "")}, backends.ErrModel, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := testkit.New(tc.reply...)
			b := open(t, with(m))
			_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("I live in Beijing")})
			require.ErrorIs(t, err, tc.want)
			require.Len(t, m.Calls(), tc.calls)
			require.Empty(t, list(t, b, ann), "nothing is stored")
			if errors.Is(tc.want, backends.ErrUnavailable) {
				require.ErrorIs(t, err, down)
			}
		})
	}
}

func TestC1_07_EmptyListIsAnAnswer(t *testing.T) {
	for _, answer := range []string{`{"operations":[]}`, `[]`, `{"facts":[]}`, "```json\n{\"operations\": []}\n```", "<think>nothing [here]</think>{\"operations\":[]}"} {
		b := open(t, with(answering(answer)), factsOnly)
		resp := add(t, b, ann, user("hi")...)
		require.Empty(t, resp.Items)
		require.Equal(t, 1, resp.Usage.ModelCalls)
	}
}

func TestD6_RetryTellsWhatWasWrong(t *testing.T) {
	length := func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) {
		m := schema.AssistantMessage(`{"operations":[]}`, nil)
		m.ResponseMeta = &schema.ResponseMeta{FinishReason: "length", Usage: &schema.TokenUsage{PromptTokens: 100, CompletionTokens: 7}}
		return m, nil
	}
	m := testkit.New(length, testkit.Text(`{"operations":[{"op":"add","text":"The user likes tea."}]}`))
	b := open(t, with(m), factsOnly)
	resp := add(t, b, ann, user("I like tea")...)
	require.Equal(t, backends.Usage{ModelCalls: 2, PromptTokens: 100, CompletionTokens: 7}, resp.Usage)
	require.Equal(t, []string{"The user likes tea."}, list(t, b, ann))
	require.Contains(t, m.Calls()[1][1].Content, "cut off")
	require.True(t, strings.HasPrefix(m.Calls()[1][1].Content, m.Calls()[0][1].Content))
}

func TestD6_RepairsWhatModelsWrite(t *testing.T) {
	for name, answer := range map[string]string{
		"plain":            `{"operations":[{"op":"add","text":"User likes 茶."}]}`,
		"code fence":       "Sure!\n```json\n{\"operations\":[{\"op\":\"add\",\"text\":\"User likes 茶.\"}]}\n```\nDone.",
		"thoughts":         "<think>add {\"operations\":[]}?</think>\n{\"operations\":[{\"op\":\"add\",\"text\":\"User likes 茶.\"}]}",
		"unopened thought": "so I add it</think>[{\"text\":\"User likes 茶.\"}]",
		"prose around":     `Here it is: {"operations":[{"op":"add","text":"User likes 茶."}]} I hope that helps.`,
		"trailing comma":   `{"operations":[{"op":"add","text":"User likes 茶.",},]}`,
		"single quotes":    `{'operations':[{'op':'add','text':'User likes 茶.'}]}`,
		"unicode escapes":  `{"operations":[{"op":"add","text":"User likes \u8336."},]}`,
		"missing comma":    `{"operations":[{"op":"add" "text":"User likes 茶."}]}`,
		"single object":    `{"op":"add","text":"User likes 茶."}`,
		"object for list":  `{"operations":{"op":"add","text":"User likes 茶."}}`,
		"fact key":         `{"operations":[{"fact":"User likes 茶."}]}`,
		"bare texts":       `{"facts":["User likes 茶."]}`,
		"mem0 today":       `{"memory":[{"id":"0","text":"User likes 茶.","attributed_to":"user"}]}`,
		"upper case":       `{"operations":[{"op":"ADD","text":"User likes 茶.","index":null}]}`,
		"list as text":     `{"operations":"[{\"op\":\"add\",\"text\":\"User likes 茶.\"}]"}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := answering(answer)
			b := open(t, with(m), factsOnly)
			add(t, b, ann, user("tea")...)
			require.Equal(t, []string{"User likes 茶."}, list(t, b, ann))
			require.Len(t, m.Calls(), 1, "no retry was needed")
		})
	}
}

func TestD6_WrongEntriesAreReported(t *testing.T) {
	b := open(t, with(answering(`{"operations":[
		{"op":"add","text":"The user likes tea."}, {"op":"explode","text":"boom"}, {"op":"retract","index":7}, {"op":"add"}, 3.5
	]}`)), factsOnly)
	resp := add(t, b, ann, user("x")...)
	failed := 0
	for _, i := range resp.Items {
		if i.Outcome == backends.OutcomeFailed {
			require.ErrorIs(t, i.Err, backends.ErrModel)
			failed++
		}
	}
	require.Equal(t, 4, failed)
	require.Equal(t, []string{"The user likes tea."}, list(t, b, ann))
}

func TestD6_ModelTimeout(t *testing.T) {
	hang := func(ctx context.Context, _ []*schema.Message, _ *model.Options) (*schema.Message, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b := open(t, with(testkit.New(hang)), func(c *mem0.Config) { c.ModelTimeout = time.Millisecond })
	_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("x")})
	require.ErrorIs(t, err, backends.ErrUnavailable)

	b = open(t, with(testkit.New(hang)))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = b.Add(cancelled, &backends.AddRequest{Scope: ann, Messages: user("x")})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, backends.ErrUnavailable)
}

func TestD6_MessagesThatCannotBeStored(t *testing.T) {
	b := open(t)
	for name, text := range map[string]string{"UTF-8": "ab\xff", "16 MiB": strings.Repeat("x", store.MaxText+1)} {
		_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: append(user("fine"), backends.Message{ID: "bad-one", Message: schema.UserMessage(text)})})
		require.ErrorIs(t, err, backends.ErrInvalid, name)
		require.ErrorContains(t, err, "bad-one")
	}
	require.Empty(t, list(t, b, ann))
}

func TestD6_LongMessagesAreShownInPartAndStoredWhole(t *testing.T) {
	m := thinking(t, func(s shown) string { return operations() })
	b := open(t, with(m))
	long := strings.Repeat("word ", 1<<18) + "end"
	add(t, b, ann, user(long)...)
	prompt := m.Calls()[0][1].Content
	require.Less(t, len(prompt), 10_000)
	require.Contains(t, prompt, "characters left out")
	require.Contains(t, prompt, "end")
	require.Equal(t, []string{long}, list(t, b, ann))
}
