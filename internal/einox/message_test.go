// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
)

func TestANoteIsKnownByItsMark(t *testing.T) {
	for mark, is := range map[string][4]bool{"note": {true, true, false, false}, "summary": {true, false, true, false}, "core": {true, false, false, true}, "": {}} {
		m := schema.UserMessage("a note")
		shared := map[string]any{"kept": 1}
		m.Extra = shared
		map[string]func(*schema.Message){"note": einox.MarkNote, "summary": einox.MarkSummary, "core": einox.MarkCore, "": func(*schema.Message) {}}[mark](m)
		require.Equal(t, is, [4]bool{einox.IsNote(m), einox.IsRecalled(m), einox.IsSummary(m), einox.IsCore(m)}, mark)
		require.Equal(t, 1, m.Extra["kept"])
		require.Len(t, shared, 1, "a map that others may hold is not written to")
		m.Extra[einox.MarkerKey] = 7
		require.False(t, einox.IsNote(m), "a mark of another type is not ours")
	}
	require.False(t, einox.IsNote(nil))
}

func TestMarksOfATurn(t *testing.T) {
	m := schema.UserMessage("hi")
	_, ok := einox.IndexOf(m)
	require.False(t, ok)
	marked := einox.MarkSession(einox.MarkRef(einox.MarkSeq(einox.MarkSearch(einox.MarkIndex(einox.MarkTurn(m, "t"), 12), "memory", true), 34), "a-1"), "s")
	i, ok := einox.IndexOf(marked)
	require.True(t, ok)
	require.Equal(t, 12, i)
	require.Equal(t, "t", einox.TurnOf(marked))
	require.EqualValues(t, 34, einox.SeqOf(marked))
	require.Equal(t, "a-1", einox.RefOf(marked))
	require.Equal(t, "s", einox.SessionOf(marked))
	searched, found := einox.SearchOf(marked, "memory")
	require.True(t, searched && found)
	searched, _ = einox.SearchOf(marked, "other")
	require.False(t, searched)
	searched, found = einox.SearchOf(einox.MarkSearch(m, "memory", false), "memory")
	require.True(t, searched && !found)
	require.Nil(t, m.Extra, "marks are set on copies")

	marked.Extra["kept"] = 1
	require.Equal(t, map[string]any{"kept": 1}, einox.Unmark(marked).Extra)
	require.Same(t, m, einox.Unmark(m))
	require.Nil(t, einox.Unmark(einox.MarkTurn(m, "t")).Extra)
	require.Nil(t, einox.Marks(m))
	require.Equal(t, marked.Extra, einox.WithMarks(einox.Unmark(marked), einox.Marks(marked)).Extra)
	require.True(t, einox.IsTied(marked))
	untied := einox.Untie(marked)
	require.False(t, einox.IsTied(untied))
	require.Equal(t, "t", einox.TurnOf(untied))
	require.Empty(t, einox.TurnOf(nil))
}

func TestText(t *testing.T) {
	part := func(texts ...string) (ps []schema.MessageInputPart) {
		for _, s := range texts {
			ps = append(ps, schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: s})
		}
		return ps
	}
	image := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL}
	for want, m := range map[string]*schema.Message{
		"hi":     schema.UserMessage(" hi\n"),
		"":       {Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{image}},
		"a\nb":   {Role: schema.User, UserInputMultiContent: append(part("a", " "), append(part("b"), image)...)},
		"beside": {Role: schema.User, Content: "beside", UserInputMultiContent: []schema.MessageInputPart{image}},
		"parts":  {Role: schema.User, Content: "ignored", UserInputMultiContent: part("parts")},
		"drawn":  {Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: "drawn"}}},
		"old":    {Role: schema.User, MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeText, Text: "old"}}},
	} {
		require.Equal(t, want, einox.Text(m))
		require.Equal(t, want != "hi", einox.HasParts(m))
		m.ToolCalls = []schema.ToolCall{{Extra: map[string]any{"a": 1}, Function: schema.FunctionCall{Arguments: "x"}}}
		m.Extra, m.ReasoningContent = map[string]any{"a": 1}, "why"
		stored := einox.Stored(m, strings.ToUpper)
		require.Equal(t, strings.ToUpper(want), einox.Text(stored))
		require.Equal(t, "WHYX", stored.ReasoningContent+stored.ToolCalls[0].Function.Arguments)
		require.Nil(t, stored.Extra)
		require.Nil(t, stored.ToolCalls[0].Extra)
		require.Equal(t, want, einox.Text(m), "it is a copy")
	}
}

// Agents speak in the role of the user where Eino hands over, and so does the summary of
// its own middleware.
func TestWhatNoUserSaid(t *testing.T) {
	for text, want := range map[string]bool{
		"For context: [planner] said: step one.":                         true,
		"For context: [planner] called tool: `echo` with arguments: {}.": true,
		"For context: [planner] `echo` tool returned result: x.":         true,
		"For context:":                            true,
		"For context: I live in Rome":             false,
		"For context: [1] is a citation":          false,
		"I said: For context: [planner] said: no": false,
		"": false,
	} {
		require.Equal(t, want, einox.IsRetold(schema.UserMessage(text)), text)
	}
	require.False(t, einox.IsRetold(schema.AssistantMessage("For context:", nil)))
	require.False(t, einox.IsRetold(nil))
	require.False(t, einox.IsDigest(nil))
	require.True(t, einox.IsDigest(&schema.Message{Extra: map[string]any{"_eino_summarization_content_type": "summary"}}))
}

func TestBeforeModelChangesWhatTheModelIsGiven(t *testing.T) {
	refused := errors.New("refused")
	var tools []*schema.ToolInfo
	chat := testkit.New(func(_ context.Context, _ []*schema.Message, o *model.Options) (*schema.Message, error) {
		tools = o.Tools
		return schema.AssistantMessage("read", nil), nil
	})
	before := func(_ context.Context, c *einox.ModelCall) error {
		if len(c.Messages) == 0 {
			return refused
		}
		c.Messages = c.Messages[1:]
		if len(c.Tools) > 0 {
			c.Options = append(c.Options, model.WithTools([]*schema.ToolInfo{{Name: c.Tools[0].Name + " more"}}))
		}
		return nil
	}
	m := einox.BeforeModel(chat, "Changed", before)
	in := []*schema.Message{schema.UserMessage("one"), schema.UserMessage("two")}
	withTools, err := m.WithTools([]*schema.ToolInfo{{Name: "read"}})
	require.NoError(t, err)
	_, err = withTools.Generate(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, "read more", tools[0].Name)
	stream, err := m.Stream(t.Context(), in)
	require.NoError(t, err)
	out, err := schema.ConcatMessageStream(stream)
	require.NoError(t, err)
	require.Equal(t, "read", out.Content)
	require.Empty(t, tools, "the model that was given is not changed")
	_, err = m.Generate(t.Context(), nil)
	require.ErrorIs(t, err, refused)
	_, err = m.Stream(t.Context(), nil)
	require.ErrorIs(t, err, refused)
	require.Equal(t, [][]*schema.Message{in[1:], in[1:]}, chat.Calls(), "it is not asked what is refused")

	require.True(t, components.IsCallbacksEnabled(m))
	unnamed := einox.BeforeModel(struct{ model.ToolCallingChatModel }{chat}, "Changed", before) // leaves callbacks to Eino
	require.False(t, components.IsCallbacksEnabled(unnamed))
	for want, m := range map[string]model.ToolCallingChatModel{chat.GetType(): m, "Changed": unnamed} {
		got, ok := components.GetType(m)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
}
