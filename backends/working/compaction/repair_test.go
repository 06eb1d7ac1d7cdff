// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/internal/transcript/drawn"
)

// s, u, a, t: the roles; a:x,y calls; t:x answers; * of memory's own; ^ stands in.
func TestRepairPutsResultsBehindTheirCalls(t *testing.T) {
	early, late := result("x", "early"), result("x", "late")
	for name, tc := range map[string]struct {
		in   []*schema.Message
		want string
	}{
		"nothing":                   {nil, ""},
		"only nil":                  {[]*schema.Message{nil, nil}, ""},
		"only the system":           {[]*schema.Message{system("a"), system("b")}, "s s"},
		"as it should be":           {[]*schema.Message{system("a"), user("b"), calls("x", "y"), result("x", "1"), result("y", "2"), reply("c")}, "s u a:x,y t:x t:y a"},
		"results in another order":  {[]*schema.Message{user("b"), calls("x", "y"), result("y", "2"), result("x", "1")}, "u a:x,y t:y t:x"},
		"a result far away":         {[]*schema.Message{user("b"), calls("x", "y"), result("y", "2"), user("c"), reply("d"), result("x", "1")}, "u a:x,y t:y t:x u a"},
		"a note in between":         {[]*schema.Message{user("b"), calls("x"), noteOf("n"), result("x", "1")}, "u a:x t:x u*"},
		"no result":                 {[]*schema.Message{user("b"), calls("x", "y"), result("y", "1"), user("c")}, "u a:x,y t:y t:x* u"},
		"no result at the end":      {[]*schema.Message{user("b"), calls("x")}, "u a:x t:x*"},
		"no call":                   {[]*schema.Message{user("b"), result("x", "1"), reply("c")}, "u u* a"},
		"a result before its call":  {[]*schema.Message{user("b"), result("x", "1"), calls("x")}, "u u* a:x t:x*"},
		"an id in every round":      {[]*schema.Message{user("b"), calls("x"), result("x", "1"), user("c"), calls("x"), result("x", "2")}, "u a:x t:x u a:x t:x"},
		"an id again, interrupted":  {[]*schema.Message{user("b"), calls("x"), user("c"), calls("x"), result("x", "2")}, "u a:x t:x* u a:x t:x"},
		"the other is interrupted":  {[]*schema.Message{user("b"), calls("x"), result("x", "1"), user("c"), calls("x")}, "u a:x t:x u a:x t:x*"},
		"one id twice in a message": {[]*schema.Message{user("b"), calls("x", "x"), result("x", "1"), result("x", "2")}, "u a:x,x-2 t:x t:x-2"},
		"no ids":                    {[]*schema.Message{user("b"), calls("", ""), result("", "1"), result("", "2")}, "u a:call-1,call-2 t:call-1 t:call-2"},
		"an id that looks made up":  {[]*schema.Message{user("b"), calls("x", "x", "x-2"), result("x-2", "1")}, "u a:x,x-3,x-2 t:x-2 t:x* t:x-3*"},
		"two results":               {[]*schema.Message{user("b"), calls("x"), early, late}, "u a:x t:x u*"},
		"the assistant begins":      {[]*schema.Message{system("a"), reply("hello"), user("b")}, "s u* a u"},
		"a call begins":             {[]*schema.Message{calls("x"), result("x", "1")}, "u* a:x t:x"},
		"a result begins":           {[]*schema.Message{result("x", "1"), user("b")}, "u* u"},
		"empty messages":            {[]*schema.Message{system(" "), user(""), user("b"), reply(" \n"), nil, reply("c")}, "u a"},
		"a tool that says nothing":  {[]*schema.Message{user("b"), calls("x"), result("x", "")}, "u a:x t:x"},
		"roles nobody knows":        {[]*schema.Message{{Role: "developer", Content: "d"}, user("b"), {Content: "e"}}, "u* u u*"},
	} {
		t.Run(name, func(t *testing.T) {
			out := repairedOf(t, tc.in)
			require.Equal(t, tc.want, shapeOf(out))
			again := repairedOf(t, out)
			require.Len(t, again, len(out))
			for i := range out {
				require.Same(t, out[i], again[i], "repaired twice")
			}
		})
	}
}

func TestRepairLosesNoWord(t *testing.T) {
	picture := "https://example.com/p.png"
	part := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &picture}}}
	in := []*schema.Message{
		result("gone", "the orphan's words"),
		{Role: "critic", Content: "the critic's words", ToolCalls: calls("z").ToolCalls},
		{Role: schema.User, Content: "the caller's words", ToolCalls: calls("user-calls").ToolCalls},
		{Role: "painter", UserInputMultiContent: []schema.MessageInputPart{part}},
		{Role: "writer", MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeText, Text: "old parts"}}},
		thinks(reply(""), "only thoughts"),
	}
	out := repairedOf(t, in)
	require.Equal(t, "u* u* u* u* u* a", shapeOf(out))
	require.Contains(t, out[0].Content, "the orphan's words")
	require.Contains(t, out[0].Content, "look", "the tool's name")
	require.Contains(t, out[1].Content, "the critic's words")
	require.Contains(t, out[1].Content, `look({"at":"z"})`)
	require.Contains(t, out[2].Content, "user-calls")
	require.Equal(t, part, out[3].UserInputMultiContent[1])
	require.Equal(t, "old parts", out[4].MultiContent[1].Text)
	require.Equal(t, "only thoughts", out[5].ReasoningContent)
	require.NotEmpty(t, out[5].Content)
}

// Only an assistant calls: what a tool calls is text, and what answers that is too.
func TestRepairOfAToolThatCalls(t *testing.T) {
	confused := result("x", "one")
	confused.ToolCalls = calls("y").ToolCalls
	out := repairedOf(t, []*schema.Message{user("b"), calls("x"), confused, result("y", "the other's words"), reply("c")})
	require.Equal(t, "u a:x t:x u* a", shapeOf(out))
	require.Equal(t, "one\nlook({\"at\":\"y\"})", out[2].Content)
	require.Empty(t, out[2].ToolCalls)
	require.Contains(t, out[3].Content, "the other's words")
}

// Clients take a content or parts.
func TestRepairPutsContentInParts(t *testing.T) {
	picture := "https://example.com/p.png"
	common := schema.MessagePartCommon{URL: &picture}
	in := []*schema.Message{
		{Role: schema.User, Content: "of a user", UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: common}}}},
		{Role: schema.Assistant, Content: "of an assistant", AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{MessagePartCommon: common}}}},
		{Role: schema.User, Content: "of long ago", MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeImageURL, ImageURL: &schema.ChatMessageImageURL{URL: picture}}}},
		{Role: schema.User, Content: " ", MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeImageURL, ImageURL: &schema.ChatMessageImageURL{URL: picture}}}},
	}
	out := repairedOf(t, in)
	for i, m := range out {
		require.Empty(t, m.Content, i)
	}
	require.Equal(t, "of a user", out[0].UserInputMultiContent[0].Text)
	require.Equal(t, in[0].UserInputMultiContent[0], out[0].UserInputMultiContent[1])
	require.Equal(t, "of an assistant", out[1].AssistantGenMultiContent[0].Text)
	require.Equal(t, "of long ago", out[2].MultiContent[0].Text)
	require.Len(t, out[3].MultiContent, 1)
	for i, m := range repairedOf(t, out) {
		require.Same(t, out[i], m, "repaired twice")
	}
}

// A turn that was interrupted has a result made up for it; the true one comes when
// it is resumed.
func TestRepairPrefersTheTrueResult(t *testing.T) {
	interrupted := repairedOf(t, []*schema.Message{user("b"), calls("x", "y")})
	resumed := repairedOf(t, append(interrupted, result("x", "true")))
	require.Equal(t, "u a:x,y t:y* t:x", shapeOf(resumed))
	require.Equal(t, "true", resumed[3].Content)
	require.NotContains(t, shapeOf(resumed), "u*", "the one that was made up is gone")
}

func TestRepairKeepsMessagesThatAreRight(t *testing.T) {
	in := []*schema.Message{system("a"), user("b"), calls("x"), result("x", "1"), reply("c")}
	for i, m := range repairedOf(t, in) {
		require.Same(t, in[i], m)
	}
}

func TestRepairSpeaksTheLanguage(t *testing.T) {
	for name, tc := range map[string]struct {
		language compaction.Language
		said     string
		want     string
	}{
		"as the user does": {"", "请帮我查一下 PDF", "没有结果"},
		"english":          {"", "look at 东京", "No result"},
		"configured":       {compaction.LanguageChinese, "look", "没有结果"},
		"the other":        {compaction.LanguageEnglish, "请帮我查一下", "No result"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := compactedWith(t, &compaction.Config{Budget: window(1000), Language: tc.language}, []*schema.Message{user(tc.said), calls("x")}, nil)
			require.NoError(t, err)
			require.Contains(t, out.Messages[2].Content, tc.want)
		})
	}
}

func TestRepairOfAnything(t *testing.T) { rapid.Check(t, repairsAnything) }

func repairsAnything(t *rapid.T) {
	h := transcript.New(drawn.Source(t), &transcript.Shape{Broken: true})
	messages := rapid.Permutation(h.Messages).Draw(t, "order")
	out, err := compacted(t, window(1<<30), messages, newShelf())
	require.NoError(t, err)
	require.Empty(t, transcript.WordsOf(messages...).Without(transcript.WordsOf(out.Messages...)), "words are lost")
}

// roles and ids are few, so that calls and results meet, miss and repeat each other.
func drawMessage(t *rapid.T) *schema.Message {
	id := func() string { return rapid.SampledFrom([]string{"", "a", "a", "b", "a-2", "call-1"}).Draw(t, "id") }
	text := rapid.SampledFrom([]string{"", " \n", "word", "字", "\xff"}).Draw(t, "text")
	role := rapid.SampledFrom([]schema.RoleType{schema.User, schema.Assistant, schema.Assistant, schema.Tool, schema.Tool, schema.System, "", "critic"}).Draw(t, "role")
	m := &schema.Message{Role: role, Content: text}
	if role == schema.Tool {
		m.ToolCallID = id()
	}
	if rapid.Bool().Draw(t, "calls") {
		for range rapid.IntRange(0, 3).Draw(t, "many") {
			m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id(), Function: schema.FunctionCall{Name: rapid.SampledFrom([]string{"", "look"}).Draw(t, "name")}})
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "thinks") == 0 {
		m.ReasoningContent = "hm"
	}
	return m
}

// Whatever the ids and roles: providers take it, and once is enough.
func repairsIDs(t *rapid.T) {
	messages := rapid.SliceOfN(rapid.OneOf(rapid.Custom(drawMessage), rapid.Just[*schema.Message](nil)), 0, 12).Draw(t, "messages")
	out, err := compacted(t, window(1<<30), messages, newShelf())
	require.NoError(t, err)
	again, err := compacted(t, window(1<<30), out.Messages, newShelf())
	require.NoError(t, err)
	require.Equal(t, out.Messages, again.Messages)
	small, err := compacted(t, window(1), messages, newShelf(), compaction.Free()...)
	if err == nil {
		require.LessOrEqual(t, small.After.Tokens, 1)
	}
}

func TestRepairOfIDs(t *testing.T) { rapid.Check(t, repairsIDs) }

func FuzzRepair(f *testing.F) {
	f.Add([]byte("a seed of some length, so that there is something to draw from: 0123456789abcdef"))
	f.Fuzz(rapid.MakeFuzz(repairsIDs))
}

// What came from the provider stays where nothing is wrong; notes of memory's own
// say that they are.
func TestRepairMarksWhatItSays(t *testing.T) {
	out := repairedOf(t, []*schema.Message{reply("hi"), calls("x"), result("orphan", strings.Repeat("w ", 10))})
	for _, i := range []int{0, 3, 4} {
		require.True(t, einox.IsNote(out[i]), i)
		require.False(t, einox.IsRecalled(out[i]), "a note of a search would be dropped")
	}
}
