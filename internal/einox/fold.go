// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// Chat templates of Mistral and Gemma refuse two user messages in a row. So a model reads the notes
// inside the user's message behind them, and other readers get them apart.

// Folded is a note inside a user's message.
type Folded struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
	Mark Mark   `json:"mark"`
}

// foldedSeparator stands between notes, and between them and the user's words.
const foldedSeparator = "\n\n"

// Fold returns messages as models read them, their marks encoded. Each note in the role of the user
// stands at the beginning of the user's message right behind it, unless it is marked apart.
func Fold(messages []Marked) []*schema.Message {
	if messages == nil {
		return nil
	}
	out := make([]*schema.Message, 0, len(messages))
	var notes []Marked
	for _, m := range messages {
		if m.Kind != "" && m.Role == schema.User && !HasParts(m.Message) && !m.Apart {
			notes = append(notes, m)
			continue
		}
		if len(notes) > 0 && m.Message != nil && m.Role == schema.User && m.Kind == "" && len(m.Folded) == 0 {
			m, notes = fold(notes, m), nil
		}
		out, notes = append(append(out, Encode(notes)...), m.encode()), nil
	}
	return append(out, Encode(notes)...)
}

func fold(notes []Marked, m Marked) Marked {
	for _, n := range notes {
		m.Folded = append(m.Folded, Folded{Name: n.Name, Text: n.Content, Mark: n.Mark})
	}
	c, text := *m.Message, foldedText(m.Folded)
	switch {
	case len(c.UserInputMultiContent) > 0:
		c.UserInputMultiContent = slices.Insert(slices.Clone(c.UserInputMultiContent), 0, schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: text})
	case len(c.MultiContent) > 0:
		c.MultiContent = slices.Insert(slices.Clone(c.MultiContent), 0, schema.ChatMessagePart{Type: schema.ChatMessagePartTypeText, Text: text})
	default:
		c.Content = text + c.Content
	}
	m.Message = &c
	return m
}

func foldedText(notes []Folded) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString(n.Text + foldedSeparator)
	}
	return b.String()
}

// Unfold returns messages with their marks, and folded messages taken apart, even if the user's
// message was changed around the notes.
func Unfold(messages []*schema.Message) []Marked {
	if messages == nil {
		return nil
	}
	out := make([]Marked, 0, len(messages)+1)
	for _, m := range messages {
		d := DecodeOne(m)
		if len(d.Folded) > 0 {
			out = append(out, d.unfold()...)
		}
		out = append(out, d)
	}
	return out
}

// own returns a user's message freed of its notes, or m itself if it has none.
func own(m *schema.Message) *schema.Message {
	if m.Role != schema.User {
		return m
	}
	d := Marked{Message: m, Mark: MarkOf(m)}
	if len(d.Folded) > 0 {
		d.unfold()
	}
	return d.Message
}

// unfold frees a message of its notes, and returns them. A note is gone if its text is gone from
// the message, because somebody replaced it.
func (m *Marked) unfold() (notes []Marked) {
	inside := m.Folded
	m.Folded = nil
	words := *Mark{}.On(m.Message)
	m.Message = &words
	if !cutFrom(&words, foldedText(inside)) {
		return nil
	}
	for _, n := range inside {
		note := schema.UserMessage(n.Text)
		note.Name = n.Name
		notes = append(notes, Marked{Message: note, Mark: n.Mark})
	}
	return notes
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
