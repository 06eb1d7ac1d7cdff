// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"bytes"
	"encoding/gob"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
)

func note(text, name string) *schema.Message {
	m := schema.UserMessage(text)
	m.Name = name
	return einox.Mark{Kind: einox.Note, Turn: "t1"}.On(m)
}

// Two messages of a user in a row, one of them memory's, are refused by some chat templates.
func TestNotesFoldIntoTheMessageBehindThemAndComeOutAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := transcript.New(testkit.Drawn(t), nil).Messages
		was := testkit.Lines(in)
		out := einox.Fold(einox.Decode(in))
		for i, m := range out[:max(0, len(out)-1)] {
			require.False(t, einox.IsNote(m) && m.Role == schema.User && out[i+1].Role == schema.User && !einox.IsNote(out[i+1]), "note %d stands alone", i)
		}
		require.Equal(t, in, einox.Encode(einox.Unfold(out)))
		require.Equal(t, out, einox.Fold(einox.Unfold(out)))
		require.Equal(t, was, testkit.Lines(in), "the messages given stay as they are")
	})
}

func TestAFoldedMessageIsWhatItsUserSaid(t *testing.T) {
	picture := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "What is this?"}, {Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{}},
	}}
	for _, said := range []*schema.Message{schema.UserMessage("What is this?"), picture} {
		folded := einox.Fold(einox.Decode([]*schema.Message{note("A", "memory"), note("B", "core_memory"), said}))
		require.Len(t, folded, 1)
		require.Equal(t, "What is this?", einox.Text(folded[0]))
		require.Equal(t, said, einox.Unfold(folded)[2].Message)
		require.Equal(t, said, einox.Stored(folded[0], func(s string) string { return s }))
		require.NoError(t, gob.NewEncoder(&bytes.Buffer{}).Encode(folded[0]), "a checkpoint holds it")
	}
}

func TestOthersMayChangeAFoldedMessage(t *testing.T) {
	folded := *einox.Fold(einox.Decode([]*schema.Message{note("A", "memory"), schema.UserMessage("Hi.")}))[0]
	folded.Content = "[page 3]\n" + folded.Content + "\n[end]"
	out := einox.Encode(einox.Unfold([]*schema.Message{&folded}))
	require.Equal(t, []string{"user: A", "user: [page 3]\nHi.\n[end]"}, testkit.Lines(out))
	folded.Content = "Good day."
	out = einox.Encode(einox.Unfold([]*schema.Message{&folded}))
	require.Equal(t, []string{"user: Good day."}, testkit.Lines(out), "its note is gone with the old text")
	require.Zero(t, einox.MarkOf(out[0]))
}

func TestANoteStaysApartWhereItIsMarkedOrNobodySpeaksBehindIt(t *testing.T) {
	for _, in := range [][]*schema.Message{
		{einox.Mark{Kind: einox.Note, Apart: true}.On(note("A", "memory")), schema.UserMessage("Hi.")},
		{note("A", "memory"), schema.AssistantMessage("Hi.", nil)},
		{schema.UserMessage("Hi."), note("A", "memory")},
	} {
		require.Equal(t, in, einox.Fold(einox.Decode(in)))
	}
}
