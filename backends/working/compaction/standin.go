// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// standInKey is the mark of a message whose text this package wrote. It is memory's
// own, so that archives keep it.
const standInKey = einox.MarkerKey + "_standin"

// What stands under standInKey; what stands for several messages has its tale
// there.
const (
	textMark   = "text"   // in the place of one message
	orphanMark = "orphan" // the result of a call that is gone, in the role of the user
	retoldMark = "retold" // what a role said that providers do not know
)

// draftRef has the length of the longest usual reference: with it a stand-in is
// measured before anything is stored.
const draftRef = "a-xxxxxxxxxxxxxxxxxxxx"

func markOf(m *schema.Message, key string) string {
	s, _ := m.Extra[key].(string)
	return s
}

// withMark returns a copy of m with one more of memory's marks.
func withMark(m *schema.Message, key, value string) *schema.Message {
	marks := einox.Marks(m)
	if marks == nil {
		marks = make(map[string]string, 1)
	}
	marks[key] = value
	return einox.WithMarks(m, marks)
}

// isOrphan reports whether m is the result of a call that is gone.
func isOrphan(m *schema.Message) bool { return markOf(m, standInKey) == orphanMark }

// standIn returns the message that takes the place of m: it says text, plays m's
// part for the provider, carries memory's marks, and names the archive.
func standIn(m *schema.Message, text, ref string) *schema.Message {
	n := &schema.Message{Role: m.Role, Name: m.Name, Content: text, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, ToolName: m.ToolName}
	n = einox.WithMarks(n, einox.Marks(m))
	return einox.MarkRef(withMark(n, standInKey, textMark), ref)
}

// standsForMany reports whether m stands in for several messages: ours, or a model's
// summary.
func standsForMany(m *schema.Message) bool {
	return einox.IsSummary(m) && einox.RefOf(m) != "" && markOf(m, standInKey) != textMark
}

// where says where something is kept, and how it is read.
func (c *Context) where(ref string) string {
	p := phrases(c.language)
	if c.config.NoTools {
		return fmt.Sprintf(p.kept, ref)
	}
	return fmt.Sprintf(p.readable, ref)
}

// sizeOf tells the size of a message.
func (c *Context) sizeOf(m *schema.Message, tokens int) string {
	p := phrases(c.language)
	text := einox.Text(m)
	out := fmt.Sprintf(p.size, tokens, len(text), strings.Count(text, "\n")+1)
	if media := c.mediaOf(m); media != "" {
		out += ", " + media
	}
	return out
}

// mediaOf tells which media a message has, or "".
func (c *Context) mediaOf(m *schema.Message) string {
	var kinds []string
	counts := make(map[string]int)
	for _, kind := range mediaIn(m) {
		if counts[kind]++; counts[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf(phrases(c.language).item, counts[kind], kind)
	}
	return strings.Join(kinds, ", ")
}

// mediaIn returns the kinds of the media of a message, one for each: "image", "audio".
func mediaIn(m *schema.Message) []string {
	var kinds []string
	see := func(kind schema.ChatMessagePartType) {
		if kind != schema.ChatMessagePartTypeText && kind != "" {
			kinds = append(kinds, strings.TrimSuffix(string(kind), "_url"))
		}
	}
	for i := range m.MultiContent {
		see(m.MultiContent[i].Type)
	}
	for i := range m.UserInputMultiContent {
		see(m.UserInputMultiContent[i].Type)
	}
	for i := range m.AssistantGenMultiContent {
		see(m.AssistantGenMultiContent[i].Type)
	}
	return kinds
}

// withExcerpt returns headline with the beginning of a text below it.
func (c *Context) withExcerpt(headline, text string, runes int) string {
	quoted := quote(text, runes)
	if quoted == "" {
		return headline
	}
	return headline + "\n" + phrases(c.language).excerpt + "\n" + quoted
}
