// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// Chat templates of Mistral and Gemma refuse two user messages in a row. So a model reads the notes
// inside the user's message behind them, and other readers get them apart.

// folded is a note inside a user's message. The message carries its notes as JSON.
type folded struct {
	Name  string            `json:"name,omitempty"`
	Text  string            `json:"text"`
	Marks map[string]string `json:"marks"`
}

// foldedSeparator stands between notes, and between them and the user's words.
const foldedSeparator = "\n\n"

// MarkApart returns a copy of a note that stays a message of its own.
func MarkApart(m *schema.Message) *schema.Message { return marked(m, apartKey, "true") }

// Fold returns messages as models read them: each note in the role of the user stands at the
// beginning of the user's message right behind it, unless it is marked apart. It returns messages
// itself if all stay as they are.
func Fold(messages []*schema.Message) []*schema.Message {
	if !slices.ContainsFunc(messages, folds) {
		return messages
	}
	out := make([]*schema.Message, 0, len(messages))
	var notes []*schema.Message
	for _, m := range messages {
		switch {
		case folds(m):
			notes = append(notes, m)
			continue
		case len(notes) > 0 && m != nil && m.Role == schema.User && !IsNote(m) && markOf(m, foldedKey) == "":
			m = fold(notes, m)
		default:
			out = append(out, notes...)
		}
		out, notes = append(out, m), nil
	}
	return append(out, notes...)
}

func folds(m *schema.Message) bool {
	return IsNote(m) && m.Role == schema.User && !HasParts(m) && markOf(m, apartKey) == ""
}

func fold(notes []*schema.Message, m *schema.Message) *schema.Message {
	inside := make([]folded, len(notes))
	for i, n := range notes {
		inside[i] = folded{Name: n.Name, Text: n.Content, Marks: Marks(n)}
	}
	encoded, _ := json.Marshal(inside) // texts encode
	c := marked(m, foldedKey, string(encoded))
	text := foldedText(inside)
	switch {
	case len(c.UserInputMultiContent) > 0:
		c.UserInputMultiContent = slices.Insert(slices.Clone(c.UserInputMultiContent), 0, schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: text})
	case len(c.MultiContent) > 0:
		c.MultiContent = slices.Insert(slices.Clone(c.MultiContent), 0, schema.ChatMessagePart{Type: schema.ChatMessagePartTypeText, Text: text})
	default:
		c.Content = text + c.Content
	}
	return c
}

func foldedText(notes []folded) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString(n.Text + foldedSeparator)
	}
	return b.String()
}

// Unfold takes folded messages apart, even if the user's message was changed around the notes. It
// returns messages itself if all are plain.
func Unfold(messages []*schema.Message) []*schema.Message {
	if !slices.ContainsFunc(messages, isFolded) {
		return messages
	}
	out := make([]*schema.Message, 0, len(messages)+1)
	for _, m := range messages {
		if isFolded(m) {
			notes, words := unfold(m)
			out, m = append(out, notes...), words
		}
		out = append(out, m)
	}
	return out
}

func isFolded(m *schema.Message) bool { return markOf(m, foldedKey) != "" }

// own returns a user's message freed of its notes, or m itself if it has none.
func own(m *schema.Message) *schema.Message {
	if !isFolded(m) {
		return m
	}
	_, words := unfold(m)
	return words
}

// unfold returns the notes in a message, and the message freed of them. A note is gone if its text
// is gone from the message, because somebody replaced it.
func unfold(m *schema.Message) (notes []*schema.Message, words *schema.Message) {
	words = without(m, func(key string) bool { return key == foldedKey })
	var inside []folded
	if json.Unmarshal([]byte(markOf(m, foldedKey)), &inside) != nil {
		return nil, words
	}
	if !cutFrom(words, foldedText(inside)) {
		return nil, words
	}
	for _, n := range inside {
		note := schema.UserMessage(n.Text)
		note.Name = n.Name
		notes = append(notes, WithMarks(note, n.Marks))
	}
	return notes, words
}

// cutFrom removes the text of notes from a copy of a message, if it is there.
func cutFrom(m *schema.Message, text string) (found bool) {
	cut := func(s string) string {
		before, after, ok := strings.Cut(s, text)
		found = found || ok
		return before + after
	}
	m.Content = cut(m.Content)
	m.UserInputMultiContent = told(m.UserInputMultiContent, func(p *schema.MessageInputPart) *string { return &p.Text }, cut)
	m.MultiContent = told(m.MultiContent, func(p *schema.ChatMessagePart) *string { return &p.Text }, cut)
	const kind = schema.ChatMessagePartTypeText // an empty one was the notes'
	m.UserInputMultiContent = slices.DeleteFunc(m.UserInputMultiContent, func(p schema.MessageInputPart) bool { return p.Type == kind && p.Text == "" })
	m.MultiContent = slices.DeleteFunc(m.MultiContent, func(p schema.ChatMessagePart) bool { return p.Type == kind && p.Text == "" })
	return found
}
