// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"strings"

	"github.com/cloudwego/eino/schema"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/internal/einox"
)

var words = []string{
	"timeout", "Error", "KELVIN", "straße", "ſhip", "İstanbul", "茶", "数据库连接失败", "naïve", "🫖", "{\"k\":", "<b>", "&", "a.b*c", "\\n", "\u2028", "0x1F", "σίσυφος",
}

// texts are lines of words, some of them long, some broken.
func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			for range rapid.IntRange(0, 6).Draw(t, "words") {
				b.WriteString(rapid.SampledFrom(words).Draw(t, "word"))
				b.WriteString(rapid.SampledFrom([]string{" ", "", "\t", "\r"}).Draw(t, "space"))
			}
			if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
				b.WriteString(strings.Repeat("long line 长行 ", rapid.IntRange(10, 120).Draw(t, "times")))
			}
			if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
				b.WriteString("\xff\xfe")
			}
			b.WriteString(rapid.SampledFrom([]string{"\n", "\n", "\n\n", ""}).Draw(t, "end"))
		}
		return b.String()
	})
}

// names are legal texts of one word, or none.
func names() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "read_file", "查找", "c1", "c2", "image/png", "https://example.com/a?b=c&d"})
}

// messages are of any role, with any sort of content.
func messages() *rapid.Generator[*schema.Message] {
	return rapid.Custom(func(t *rapid.T) *schema.Message {
		m := &schema.Message{Role: rapid.SampledFrom([]schema.RoleType{schema.User, schema.Assistant, schema.Tool, schema.System}).Draw(t, "role"), Content: texts().Draw(t, "content")}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			m.ReasoningContent, m.Name = texts().Draw(t, "reasoning"), names().Draw(t, "name")
		case 1:
			m.ToolCalls = rapid.SliceOfN(toolCalls(), 0, 3).Draw(t, "calls")
		case 2:
			m.ToolCallID, m.ToolName = names().Draw(t, "call"), names().Draw(t, "tool")
		case 3:
			parts(t, m)
		}
		if rapid.Bool().Draw(t, "extra") {
			m.Extra = map[string]any{"provider": make(chan int)}
			m.ResponseMeta = &schema.ResponseMeta{FinishReason: "stop"}
		}
		if rapid.Bool().Draw(t, "marked") {
			m = einox.MarkIndex(einox.MarkTurn(m, "t1"), rapid.IntRange(0, 9).Draw(t, "index"))
		}
		return m
	})
}

func toolCalls() *rapid.Generator[schema.ToolCall] {
	return rapid.Custom(func(t *rapid.T) schema.ToolCall {
		c := schema.ToolCall{ID: names().Draw(t, "id"), Type: "function", Function: schema.FunctionCall{Name: names().Draw(t, "function"), Arguments: texts().Draw(t, "arguments")}}
		if rapid.Bool().Draw(t, "indexed") {
			c.Index = rapid.Ptr(rapid.IntRange(0, 3), false).Draw(t, "index")
		}
		if rapid.Bool().Draw(t, "extra") {
			c.Extra = map[string]any{"f": func() {}}
		}
		return c
	})
}

// parts gives m the parts of one kind of multimodal content.
func parts(t *rapid.T, m *schema.Message) {
	n := rapid.IntRange(0, 3).Draw(t, "parts")
	kind := rapid.IntRange(0, 2).Draw(t, "of")
	for range n {
		text, name, c, at := texts().Draw(t, "text"), names().Draw(t, "name"), common(t), rapid.IntRange(0, 4).Draw(t, "medium")
		switch kind {
		case 0:
			p := schema.MessageInputPart{Type: "x", Text: text, Extra: c.Extra}
			switch at {
			case 0:
				p.Image = &schema.MessageInputImage{MessagePartCommon: c, Detail: schema.ImageURLDetailLow}
			case 1:
				p.Audio = &schema.MessageInputAudio{MessagePartCommon: c}
			case 2:
				p.Video = &schema.MessageInputVideo{MessagePartCommon: c}
			case 3:
				p.File = &schema.MessageInputFile{MessagePartCommon: c, Name: name}
			}
			m.UserInputMultiContent = append(m.UserInputMultiContent, p)
		case 1:
			p := schema.MessageOutputPart{Type: "x", Text: text}
			switch at {
			case 0:
				p.Image = &schema.MessageOutputImage{MessagePartCommon: c}
			case 1:
				p.Audio = &schema.MessageOutputAudio{MessagePartCommon: c}
			case 2:
				p.Video = &schema.MessageOutputVideo{MessagePartCommon: c}
			}
			m.AssistantGenMultiContent = append(m.AssistantGenMultiContent, p)
		case 2:
			p := schema.ChatMessagePart{Type: "x", Text: text}
			switch at {
			case 0:
				p.ImageURL = &schema.ChatMessageImageURL{URL: name, Detail: schema.ImageURLDetailAuto, Extra: c.Extra}
			case 1:
				p.AudioURL = &schema.ChatMessageAudioURL{URI: name, MIMEType: c.MIMEType}
			case 2:
				p.VideoURL = &schema.ChatMessageVideoURL{URL: name}
			case 3:
				p.FileURL = &schema.ChatMessageFileURL{URL: "data:text/plain;base64,aGk=", Name: name}
			}
			m.MultiContent = append(m.MultiContent, p)
		}
	}
}

func common(t *rapid.T) schema.MessagePartCommon {
	c := schema.MessagePartCommon{MIMEType: names().Draw(t, "mime")}
	if rapid.Bool().Draw(t, "url") {
		c.URL = rapid.Ptr(names(), false).Draw(t, "address")
	}
	if rapid.Bool().Draw(t, "data") {
		c.Base64Data = rapid.Ptr(names(), false).Draw(t, "base64")
	}
	if rapid.Bool().Draw(t, "more") {
		c.Extra = map[string]any{"id": "f-1", "n": 1.5, "deep": map[string]any{"list": []any{true, nil, "茶"}}}
	}
	return c
}

// stored returns what is to come back of a message.
func stored(m *schema.Message) *schema.Message {
	valid := func(s *string) { *s = strings.ToValidUTF8(*s, "\uFFFD") }
	c := *einox.WithMarks(&schema.Message{}, einox.Marks(m))
	extra := c.Extra
	c = *m
	c.Extra, c.ResponseMeta = extra, nil
	valid(&c.Content)
	valid(&c.ReasoningContent)
	c.ToolCalls = append([]schema.ToolCall(nil), m.ToolCalls...)
	for i := range c.ToolCalls {
		c.ToolCalls[i].Extra = nil
		valid(&c.ToolCalls[i].Function.Arguments)
	}
	c.UserInputMultiContent = append([]schema.MessageInputPart(nil), m.UserInputMultiContent...)
	for i := range c.UserInputMultiContent {
		valid(&c.UserInputMultiContent[i].Text)
	}
	c.AssistantGenMultiContent = append([]schema.MessageOutputPart(nil), m.AssistantGenMultiContent...)
	for i := range c.AssistantGenMultiContent {
		valid(&c.AssistantGenMultiContent[i].Text)
	}
	c.MultiContent = append([]schema.ChatMessagePart(nil), m.MultiContent...)
	for i := range c.MultiContent {
		valid(&c.MultiContent[i].Text)
	}
	return &c
}

func allStored(messages []*schema.Message) []*schema.Message {
	out := make([]*schema.Message, len(messages))
	for i, m := range messages {
		out[i] = stored(m)
	}
	return out
}
