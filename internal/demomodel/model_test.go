// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/demomodel"
)

func offered(t *testing.T, names ...string) model.ToolCallingChatModel {
	t.Helper()
	var tools []*schema.ToolInfo
	for _, n := range names {
		tools = append(tools, &schema.ToolInfo{Name: n})
	}
	m, err := demomodel.New(&demomodel.Config{Notes: true}).WithTools(tools)
	require.NoError(t, err)
	return m
}

func TestAQuestionIsSearchedForOnce(t *testing.T) {
	m := offered(t, "search_memory", "add_memory")
	in := []*schema.Message{schema.UserMessage("What am I allergic to?")}
	out, err := m.Generate(t.Context(), in)
	require.NoError(t, err)
	require.Len(t, out.ToolCalls, 1)
	assert.Equal(t, schema.FunctionCall{Name: "search_memory", Arguments: `{"keywords":["allergic","allergy"],"limit":30}`}, out.ToolCalls[0].Function)

	in = append(in, out, schema.ToolMessage("- [1] 2026-01-01: I am allergic to peanuts.", out.ToolCalls[0].ID))
	out, err = m.Generate(t.Context(), in)
	require.NoError(t, err)
	assert.Empty(t, out.ToolCalls)
	assert.Contains(t, out.Content, "peanuts")
}

func TestASearchThatFindsNothingEndsTheTurn(t *testing.T) {
	m := offered(t, "search_memory", "add_memory")
	in := []*schema.Message{schema.UserMessage("我对什么过敏？")}
	out, err := m.Generate(t.Context(), in)
	require.NoError(t, err)
	require.Len(t, out.ToolCalls, 1)
	assert.Equal(t, `{"keywords":["过敏"],"limit":30}`, out.ToolCalls[0].Function.Arguments)
	out, err = m.Generate(t.Context(), append(in, out, schema.ToolMessage("(no relevant memories found)", out.ToolCalls[0].ID)))
	require.NoError(t, err)
	assert.Empty(t, out.ToolCalls)
	assert.Contains(t, out.Content, unknownChinese)
}

func TestAStatementIsAdded(t *testing.T) {
	m := offered(t, "search_memory", "add_memory")
	in := []*schema.Message{schema.UserMessage("I like tea.")}
	out, err := m.Generate(t.Context(), in)
	require.NoError(t, err)
	require.Len(t, out.ToolCalls, 1)
	assert.Equal(t, "add_memory", out.ToolCalls[0].Function.Name)
	assert.JSONEq(t, `{"thinking":"the user said so","content":["I like tea."]}`, out.ToolCalls[0].Function.Arguments)
	out, err = m.Generate(t.Context(), append(in, out, schema.ToolMessage("Successfully recorded to memory", out.ToolCalls[0].ID)))
	require.NoError(t, err)
	assert.Equal(t, "Noted.", out.Content)
}

func TestASearchAsksForRelatedWordsToo(t *testing.T) {
	m := offered(t, "search_memory")
	out, err := m.Generate(t.Context(), []*schema.Message{schema.UserMessage("Where do I live?")})
	require.NoError(t, err)
	require.Len(t, out.ToolCalls, 1)
	assert.Contains(t, out.ToolCalls[0].Function.Arguments, `"live","move"`)
}

func TestToolsAreCalledOnlyWhereTheyHelp(t *testing.T) {
	quiet, err := demomodel.New(nil).WithTools([]*schema.ToolInfo{{Name: "search_memory"}, {Name: "add_memory"}})
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		m  model.BaseChatModel
		in []*schema.Message
	}{
		"the note answers":       {offered(t, "search_memory", "add_memory"), []*schema.Message{note("I am allergic to peanuts."), schema.UserMessage("What am I allergic to?")}},
		"takes no notes":         {quiet, []*schema.Message{schema.UserMessage("I like tea.")}},
		"another tool":           {offered(t, "weather"), []*schema.Message{schema.UserMessage("What am I allergic to?")}},
		"no tools":               {demomodel.New(&demomodel.Config{Notes: true}), []*schema.Message{schema.UserMessage("What am I allergic to?")}},
		"no tool for statements": {offered(t, "search_memory"), []*schema.Message{schema.UserMessage("I like tea.")}},
	} {
		out, err := tt.m.Generate(t.Context(), tt.in)
		require.NoError(t, err)
		assert.Empty(t, out.ToolCalls, name)
	}
}

func TestStreamSaysTheSame(t *testing.T) {
	in := []*schema.Message{note(english...), schema.UserMessage("Where does my sister live?")}
	stream, err := demomodel.New(nil).Stream(t.Context(), in)
	require.NoError(t, err)
	defer stream.Close()
	var all []*schema.Message
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		all = append(all, m)
	}
	require.Greater(t, len(all), 3)
	whole, err := schema.ConcatMessages(all)
	require.NoError(t, err)
	assert.Equal(t, reply(t, in...), whole.Content)
}

func TestItReportsToCallbacks(t *testing.T) {
	var in *model.CallbackInput
	var out *model.CallbackOutput
	h := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, _ *callbacks.RunInfo, i callbacks.CallbackInput) context.Context {
			in = model.ConvCallbackInput(i)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, o callbacks.CallbackOutput) context.Context {
			out = model.ConvCallbackOutput(o)
			return ctx
		}).Build()
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Component: components.ComponentOfChatModel}, h)
	_, err := demomodel.New(nil).Generate(ctx, []*schema.Message{schema.UserMessage("I like tea.")})
	require.NoError(t, err)
	assert.Equal(t, "I like tea.", in.Messages[0].Content)
	assert.Equal(t, "Noted.", out.Message.Content)
}

func TestWithoutAUserMessage(t *testing.T) {
	for _, in := range [][]*schema.Message{nil, {nil}, {schema.SystemMessage("x")}, {note("I like tea.")}, {schema.UserMessage("  ")}} {
		_, err := demomodel.New(nil).Generate(t.Context(), in)
		require.ErrorIs(t, err, backends.ErrInvalid)
		_, err = demomodel.New(nil).Stream(t.Context(), in)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

func TestACancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := demomodel.New(nil).Generate(ctx, []*schema.Message{schema.UserMessage("x")})
	require.ErrorIs(t, err, context.Canceled)
}

func FuzzReplyNeverPanics(f *testing.F) {
	f.Add("What am I allergic to?", "- [1] 2026-01-01: I am allergic to peanuts.")
	f.Add("我的", "- 我的")
	f.Add("my's ' our", "- my ' 的 , and my our is")
	f.Add("几岁?", "* \n  \n- [")
	f.Fuzz(func(t *testing.T, said, remembered string) {
		out, err := demomodel.New(nil).Generate(t.Context(), []*schema.Message{{Role: schema.User, Name: "memory", Content: remembered}, schema.UserMessage(said)})
		if err == nil && out.Content == "" {
			t.Fatal("an empty answer")
		}
	})
}
