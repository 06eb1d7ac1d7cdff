// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
)

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

// The handlers of an agent's run show people what they see: where an answer is replaced, that
// is the answer that the caller gets.
func TestAroundModelReplacesWhatTheModelSaid(t *testing.T) {
	chat := testkit.New(testkit.Text("no"), testkit.Text("yes"))
	around := &einox.Around{
		Name:     "Stubborn",
		Replaces: func(tools []*schema.ToolInfo) bool { return len(tools) > 0 },
		Call: func(ctx context.Context, c *einox.ModelCall) (*einox.ModelAnswer, error) {
			if _, err := c.Ask(ctx); err != nil {
				return nil, err
			}
			require.Len(t, c.Offered(), 1)
			c.Options = append(c.Options, model.WithTools(nil))
			require.Empty(t, c.Offered())
			return c.Ask(ctx)
		},
	}
	m, err := einox.AroundModel(chat, nil, around).WithTools([]*schema.ToolInfo{{Name: "read"}})
	require.NoError(t, err)
	require.True(t, components.IsCallbacksEnabled(einox.AroundModel(chat, nil, around)), "nothing is replaced where no tool is offered")

	g := compose.NewGraph[[]*schema.Message, *schema.Message]()
	require.NoError(t, g.AddChatModelNode("model", m))
	require.NoError(t, g.AddEdge(compose.START, "model"))
	require.NoError(t, g.AddEdge("model", compose.END))
	run, err := g.Compile(t.Context())
	require.NoError(t, err)
	var seen []string
	watch := callbacks.NewHandlerBuilder().OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
		if info.Component == components.ComponentOfChatModel {
			seen = append(seen, model.ConvCallbackOutput(out).Message.Content)
		}
		return ctx
	}).Build()
	out, err := run.Invoke(t.Context(), []*schema.Message{schema.UserMessage("well?")}, compose.WithCallbacks(watch))
	require.NoError(t, err)
	require.Equal(t, "yes", out.Content)
	require.Equal(t, []string{"yes"}, seen)

	_, err = einox.AroundModel(struct{ model.BaseChatModel }{chat}, nil, around).WithTools(nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

var repairTexts = &einox.RepairTexts{Begins: "(begins)", NoResult: "(no result)", NoAnswer: "(no answer)", Orphan: "[result of %s:]", Role: "[role %q:]"}

// spoken makes messages of short forms: "s", "u" and "a" speak, "a:x,y" calls under ids, "t:x"
// answers, "n" is a note.
func spoken(form string) (out []*schema.Message) {
	for _, word := range strings.Fields(form) {
		role, ids, _ := strings.Cut(word, ":")
		switch role {
		case "s":
			out = append(out, schema.SystemMessage("system"))
		case "u":
			out = append(out, schema.UserMessage("user"))
		case "n":
			out = append(out, schema.UserMessage("note"))
			out[len(out)-1] = einox.Mark{Kind: einox.Note}.On(out[len(out)-1])
		case "t":
			out = append(out, schema.ToolMessage("result", ids, schema.WithToolName("look")))
		case "a":
			m := schema.AssistantMessage("", nil)
			for _, id := range strings.Split(ids, ",") {
				m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: "look"}})
			}
			if word == "a" {
				m = schema.AssistantMessage("assistant", nil)
			}
			out = append(out, m)
		}
	}
	return out
}

// formOf is the inverse; * marks messages of memory's own.
func formOf(messages []*schema.Message) string {
	var out []string
	for _, m := range messages {
		var ids []string
		for i := range m.ToolCalls {
			ids = append(ids, m.ToolCalls[i].ID)
		}
		word := string(m.Role[0])
		if m.Role == schema.Tool {
			word += ":" + m.ToolCallID
		}
		if len(ids) > 0 {
			word += ":" + strings.Join(ids, ",")
		}
		if einox.IsNote(m) {
			word += "*"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func repaired(messages []*schema.Message) []*schema.Message {
	return einox.Encode(einox.Repair(einox.Decode(messages), repairTexts))
}

func TestRepairPutsResultsBehindTheirCalls(t *testing.T) {
	for name, tc := range map[string][2]string{
		"nothing":                   {"", ""},
		"only the system":           {"s s", "s s"},
		"as it should be":           {"s u a:x,y t:x t:y a", "s u a:x,y t:x t:y a"},
		"results in another order":  {"u a:x,y t:y t:x", "u a:x,y t:y t:x"},
		"a result far away":         {"u a:x,y t:y u a t:x", "u a:x,y t:y t:x u a"},
		"a note in between":         {"u a:x n t:x", "u a:x t:x u*"},
		"no result":                 {"u a:x,y t:y u", "u a:x,y t:y t:x* u"},
		"no result at the end":      {"u a:x", "u a:x t:x*"},
		"no call":                   {"u t:x a", "u u* a"},
		"a result before its call":  {"u t:x a:x", "u u* a:x t:x*"},
		"an id in every round":      {"u a:x t:x u a:x t:x", "u a:x t:x u a:x t:x"},
		"an id again, interrupted":  {"u a:x u a:x t:x", "u a:x t:x* u a:x t:x"},
		"the other is interrupted":  {"u a:x t:x u a:x", "u a:x t:x u a:x t:x*"},
		"one id twice in a message": {"u a:x,x t:x t:x", "u a:x,x-2 t:x t:x-2"},
		"no ids":                    {"u a:, t: t:", "u a:call-1,call-2 t:call-1 t:call-2"},
		"an id that looks made up":  {"u a:x,x,x-2 t:x-2", "u a:x,x-3,x-2 t:x-2 t:x* t:x-3*"},
		"two results":               {"u a:x t:x t:x", "u a:x t:x u*"},
		"the assistant begins":      {"s a u", "s u* a u"},
		"a note and the assistant":  {"s n a u", "s u* u* a u"},
		"a call begins":             {"a:x t:x", "u* a:x t:x"},
		"a result begins":           {"t:x u", "u* u"},
	} {
		t.Run(name, func(t *testing.T) {
			out := repaired(spoken(tc[0]))
			require.Equal(t, tc[1], formOf(out))
			again := repaired(out)
			require.Len(t, again, len(out))
			for i := range out {
				require.Same(t, out[i], again[i], "repaired twice")
			}
		})
	}
	in := spoken("s u a:x t:x a")
	for i, m := range repaired(in) {
		require.Same(t, in[i], m, "what is right stays")
	}
}

func TestRepairOfMessagesThatStandAlone(t *testing.T) {
	picture := "https://example.com/p.png"
	image := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &picture}}}
	in := []*schema.Message{
		schema.SystemMessage(" "), schema.UserMessage(""), nil, schema.AssistantMessage(" \n", nil),
		schema.ToolMessage("the orphan's words", "gone", schema.WithToolName("look")),
		{Role: "developer", Content: "the developer's words"},
		{Role: "painter", UserInputMultiContent: []schema.MessageInputPart{image}},
		{Role: "writer", MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeText, Text: "old parts"}}},
		{Role: schema.Assistant, ReasoningContent: "only thoughts"},
		{Role: schema.Assistant, Content: " ", ToolCalls: spoken("a:x")[0].ToolCalls},
		schema.ToolMessage("", "x"),
	}
	out := repaired(in)
	require.Equal(t, "u* u* u* u* a a:x t:x", formOf(out))
	require.Equal(t, "[result of look:]\nthe orphan's words", out[0].Content)
	require.Equal(t, "[role \"developer\":]\nthe developer's words", out[1].Content)
	require.Equal(t, image, out[2].UserInputMultiContent[1])
	require.Equal(t, "old parts", out[3].MultiContent[1].Text)
	require.Equal(t, []string{"(no answer)", "only thoughts"}, []string{out[4].Content, out[4].ReasoningContent})
	require.Empty(t, out[5].Content)
	require.Equal(t, " ", in[9].Content, "the caller's is as it was")
	for _, m := range out[:4] {
		require.False(t, einox.MarkOf(m).Kind == einox.Note, "a note of a search would be dropped")
	}
}

// A turn that was interrupted has a result made up for it; the real one comes when it is
// resumed.
func TestRepairPrefersTheRealResult(t *testing.T) {
	interrupted := repaired(spoken("u a:x,y"))
	require.Equal(t, "u a:x,y t:x* t:y*", formOf(interrupted))
	resumed := repaired(append(interrupted, spoken("t:x")...))
	require.Equal(t, "u a:x,y t:y* t:x", formOf(resumed), "the one that was made up is gone")
}

// Whatever the ids and roles, in whatever order: providers take it, no word is lost, and
// once is enough. Roles and ids are few, so that calls and results meet, miss and repeat.
func repairsAnything(t *rapid.T) {
	draw := rapid.Custom(func(t *rapid.T) *schema.Message {
		id := func() string { return rapid.SampledFrom([]string{"", "a", "a", "b", "a-2", "call-1"}).Draw(t, "id") }
		m := &schema.Message{
			Role:    rapid.SampledFrom([]schema.RoleType{schema.User, schema.Assistant, schema.Assistant, schema.Tool, schema.Tool, schema.System, "", "critic"}).Draw(t, "role"),
			Content: rapid.SampledFrom([]string{"", " \n", "word", "字", "\xff"}).Draw(t, "text"),
		}
		if m.Role == schema.Tool {
			m.ToolCallID = id()
		}
		if m.Role == schema.Assistant {
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id(), Function: schema.FunctionCall{Name: "look"}})
			}
			m.ReasoningContent = rapid.SampledFrom([]string{"", "hm"}).Draw(t, "thinks")
		}
		return m
	})
	messages := rapid.SliceOfN(rapid.OneOf(draw, rapid.Just[*schema.Message](nil)), 0, 12).Draw(t, "messages")
	out := repaired(messages)
	require.NoError(t, transcript.Check(append(out[:len(out):len(out)], schema.UserMessage("?"))))
	require.Empty(t, transcript.WordsOf(messages...).Without(transcript.WordsOf(out...)), "words are lost")
	require.Equal(t, out, repaired(out))
	rounds := einox.Rounds(einox.Decode(out))
	at := 0
	for _, r := range rounds {
		require.Equal(t, at, r.From)
		for _, e := range einox.Exchanges(einox.Decode(out), r) {
			require.Equal(t, at, e.From)
			require.True(t, e.To == e.From+1 || len(out[e.From].ToolCalls) == e.To-e.From-1)
			at = e.To
		}
		require.Equal(t, at, r.To, "rounds and exchanges make up the whole")
	}
	require.Equal(t, len(out), at)
}

func TestRepairOfAnything(t *testing.T) { rapid.Check(t, repairsAnything) }

func FuzzRepair(f *testing.F) {
	f.Add([]byte("a seed of some length, so that there is something to draw from: 0123456789abcdef"))
	f.Fuzz(rapid.MakeFuzz(repairsAnything))
}

func TestRounds(t *testing.T) {
	turn := func(form string) []*schema.Message {
		out := spoken(form)
		for i := range out {
			out[i] = einox.Mark{Turn: "t1"}.On(out[i])
		}
		return out
	}
	other := schema.UserMessage("For context: [planner] said: step one.")
	for name, tc := range map[string]struct {
		in   []*schema.Message
		want []einox.Span
	}{
		"nothing":                    {nil, []einox.Span{{0, 0}}},
		"no user asked":              {spoken("a a"), []einox.Span{{0, 2}}},
		"one":                        {spoken("s u a"), []einox.Span{{0, 1}, {1, 3}}},
		"a note belongs to the next": {spoken("u a n u a"), []einox.Span{{0, 2}, {2, 5}}},
		"what came before anybody":   {spoken("a a u a u"), []einox.Span{{0, 2}, {2, 4}, {4, 5}}},
		"the running turn has two":   {append(spoken("u a"), turn("u a u a")...), []einox.Span{{0, 2}, {2, 6}}},
		"other agents are not users": {append(spoken("u a"), other), []einox.Span{{0, 3}}},
	} {
		require.Equal(t, tc.want, einox.Rounds(einox.Decode(tc.in)), name)
	}
}

func TestParts(t *testing.T) {
	url, data := "https://x/cat.png", "aGk="
	common := schema.MessagePartCommon{URL: &url, MIMEType: "image/png"}
	link := schema.ChatMessagePart{Type: schema.ChatMessagePartTypeText}
	require.Empty(t, einox.Parts(schema.UserMessage("content")))
	require.Equal(t, []einox.Part{{Text: "a"}, {Media: "image", URL: url, MIME: "image/png"}, {Media: "audio", URL: url, MIME: "image/png"}, {Media: "video", URL: url, MIME: "image/png"}, {Media: "file", Data: data, Name: "hi.txt"}},
		einox.Parts(&schema.Message{UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "a"}, {Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: common}},
			{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageInputAudio{MessagePartCommon: common}}, {Type: schema.ChatMessagePartTypeVideoURL, Video: &schema.MessageInputVideo{MessagePartCommon: common}},
			{Type: schema.ChatMessagePartTypeFileURL, File: &schema.MessageInputFile{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data}, Name: "hi.txt"}},
		}}))
	require.Equal(t, []einox.Part{{Media: "image", URL: url, MIME: "image/png"}, {Media: "audio", URL: url, MIME: "image/png"}, {Media: "video", URL: url, MIME: "image/png"}},
		einox.Parts(&schema.Message{AssistantGenMultiContent: []schema.MessageOutputPart{
			{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{MessagePartCommon: common}}, {Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageOutputAudio{MessagePartCommon: common}},
			{Type: schema.ChatMessagePartTypeVideoURL, Video: &schema.MessageOutputVideo{MessagePartCommon: common}},
		}}))
	old := []schema.ChatMessagePart{link, link, link, link}
	old[0].ImageURL = &schema.ChatMessageImageURL{URL: url}
	old[1].AudioURL = &schema.ChatMessageAudioURL{URL: url}
	old[2].VideoURL = &schema.ChatMessageVideoURL{URL: url}
	old[3].FileURL = &schema.ChatMessageFileURL{URL: url, Name: "hi.txt"}
	require.Equal(t, []einox.Part{{URL: url}, {URL: url}, {URL: url}, {URL: url, Name: "hi.txt"}}, einox.Parts(&schema.Message{MultiContent: old}))
}
