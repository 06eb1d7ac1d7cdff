// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"encoding/json"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
)

func TestOffloadMessagesOfFormerRounds(t *testing.T) {
	s := newShelf()
	in := []*schema.Message{
		system(long(3000)), user("old " + long(3000)), reply("said " + long(3000)), user("b"), reply("c " + long(3000)), user("now " + long(3000)), reply("running " + long(3000)),
	}
	out, err := compacted(t, window(16_000), in, s, compaction.OffloadMessages{Preview: 10})
	require.NoError(t, err)
	require.Equal(t, "s u^ a u a u a", shapeOf(out.Messages))
	require.Contains(t, out.Messages[1].Content, "a long message, about 3005 tokens, 12003 bytes, 1 lines")
	require.Contains(t, out.Messages[1].Content, "> old abc…")
	require.Equal(t, in[1:2], s.held[einox.RefOf(out.Messages[1])])

	out, err = compacted(t, window(10), in, s, compaction.OffloadMessages{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, "s u^ a^ u a^ u a", shapeOf(out.Messages), "neither the system nor the running round")
	out, err = compacted(t, window(10), in, s, compaction.OffloadMessages{KeepRecent: 4})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, "s u^ a^ u a u a", shapeOf(out.Messages))
	out, err = compacted(t, window(10), in, nil, compaction.OffloadMessages{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.ErrorIs(t, out.Steps[0].Err, compaction.ErrNoArchive)
	require.Equal(t, in, out.Messages)
}

// All messages of the running turn are the user's last word.
func TestOffloadMessagesKnowsTheTurn(t *testing.T) {
	turn := func(m *schema.Message, id string) *schema.Message { return einox.MarkTurn(m, id) }
	in := []*schema.Message{
		turn(user(long(3000)), "t1"), turn(reply("b"), "t1"), turn(user(long(3000)), "t2"), turn(user("and this"), "t2"), turn(reply("c"), "t2"), turn(user("also"), "t2"),
	}
	out, err := compacted(t, window(10), in, newShelf(), compaction.OffloadMessages{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, "u^ a u u a u", shapeOf(out.Messages))
}

func TestOffloadMessagesMovesMedia(t *testing.T) {
	picture := "https://example.com/p.png"
	image := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &picture}}}
	words := schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: "what is on these?"}
	in := []*schema.Message{
		{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{words, image, image}}, reply("boats"),
		{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{image}}, reply("a boat"),
		{Role: schema.User, MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeText, Text: long(3000)}, {Type: schema.ChatMessagePartTypeImageURL, ImageURL: &schema.ChatMessageImageURL{URL: picture}}}}, reply("long"),
		{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{words, image}},
	}
	out, err := compacted(t, window(1500), in, newShelf(), compaction.OffloadMessages{})
	require.NoError(t, err)
	require.Equal(t, "u^ a u^ a u^ a u", shapeOf(out.Messages))
	require.Regexp(t, `^what is on these\?\n\[Moved to the archive: 2 × image\. It is kept as a-.*\]$`, out.Messages[0].Content)
	require.Regexp(t, `^\[Moved to the archive: 1 × image\.`, out.Messages[2].Content)
	require.Regexp(t, `^\[Moved to the archive: a long message, about 3804 tokens, .* lines, 1 × image\.`, out.Messages[4].Content)
	require.Same(t, in[6], out.Messages[6])
}

func TestOffloadMessagesShortensArguments(t *testing.T) {
	write := calls("x", "y")
	write.ToolCalls[0].Function.Arguments = `{"text":"` + long(5000) + `"}`
	write.Content = "I write it down."
	in := []*schema.Message{user("a"), thinks(write, "hm"), result("x", "ok"), result("y", "ok"), user("b")}
	s := newShelf()
	out, err := compacted(t, window(1000), in, s, compaction.OffloadMessages{})
	require.NoError(t, err)
	m := out.Messages[1]
	require.Equal(t, "u a:x,y^ t:x t:y u", shapeOf(out.Messages))
	require.Equal(t, write.Content, m.Content)
	require.Equal(t, write.ToolCalls[1], m.ToolCalls[1])
	var arguments map[string]any
	require.NoError(t, json.Unmarshal([]byte(m.ToolCalls[0].Function.Arguments), &arguments), "providers want an object")
	require.Equal(t, einox.RefOf(m), arguments["archived_as"])
	require.Greater(t, len(write.ToolCalls[0].Function.Arguments), 20_000, "the caller's is as it was")

	out, err = compacted(t, window(1000), in, s, compaction.OffloadMessages{Preview: -1})
	require.NoError(t, err)
	require.NotContains(t, out.Messages[1].ToolCalls[0].Function.Arguments, "abc")
}

// Many calls, none of them large alone.
func TestOffloadMessagesShortensManyArguments(t *testing.T) {
	m := calls("1", "2", "3", "4", "5")
	in := []*schema.Message{user("a"), m}
	for i := range m.ToolCalls {
		m.ToolCalls[i].Function.Arguments = `{"text":"` + long(600) + `"}`
		in = append(in, result(m.ToolCalls[i].ID, "ok"))
	}
	out, err := compacted(t, window(1000), append(in, user("b")), newShelf(), compaction.OffloadMessages{})
	require.NoError(t, err)
	require.Less(t, chars.Message(out.Messages[1]), 500)
}

// Reasoning that left before comes back with the rest of the message.
func TestOffloadMessagesAfterReasoning(t *testing.T) {
	s := newShelf()
	in := []*schema.Message{user("a"), thinks(reply(long(3000)), long(500)), user("b")}
	out, err := compacted(t, window(1000), in, s, compaction.DropDerived{}, compaction.OffloadMessages{})
	require.NoError(t, err)
	require.Equal(t, 1, s.puts, "the original is stored already")
	require.Len(t, out.Steps, 2)
	require.Equal(t, "u a^ u", shapeOf(out.Messages))
}
