// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// alone returns the text of a message that is read by itself: its content if that
// is all there is.
func (d *document) alone() string {
	if d.ReasoningContent == "" && len(d.ToolCalls) == 0 && !einox.HasParts(d.Message) && einox.RefOf(d.Message) == "" {
		return d.Content
	}
	return d.block()
}

// block returns the text of a message among others: whole lines, the first of
// which says whose it is.
func (d *document) block() string {
	b := &builder{}
	b.Grow(len(d.Content) + len(d.ReasoningContent) + 64)
	b.line(d.header())
	if d.ReasoningContent != "" {
		b.line("reasoning: " + d.ReasoningContent)
	}
	b.line(d.Content)
	b.parts(d.Message)
	for i := range d.ToolCalls {
		b.line(callLine(&d.ToolCalls[i]) + d.ToolCalls[i].Function.Arguments + ")")
	}
	return b.String()
}

// callLine begins the line of a tool call.
func callLine(c *schema.ToolCall) string { return "call " + c.Function.Name + "(" }

// header is like "[12] tool read_file 2026-11-21 10:00".
func (d *document) header() string {
	words := []string{"[" + d.label + "]", string(d.Role)}
	for _, name := range []string{d.ToolName, d.Name} {
		if name != "" {
			words = append(words, name)
		}
	}
	if !d.when.IsZero() {
		words = append(words, d.when.UTC().Format("2006-01-02 15:04"))
	}
	if id := einox.RefOf(d.Message); id != "" {
		words = append(words, "(stands in for "+id+")")
	}
	return strings.Join(words, " ")
}

// builder makes a text of whole lines.
type builder struct{ strings.Builder }

func (b *builder) line(s string) {
	if s == "" {
		return
	}
	b.WriteString(s)
	if !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
}

func (b *builder) parts(m *schema.Message) {
	for _, p := range m.UserInputMultiContent {
		b.line(p.Text)
		switch {
		case p.Image != nil:
			b.media("image", p.Image.MessagePartCommon, string(p.Image.Detail))
		case p.Audio != nil:
			b.media("audio", p.Audio.MessagePartCommon, "")
		case p.Video != nil:
			b.media("video", p.Video.MessagePartCommon, "")
		case p.File != nil:
			b.media("file", p.File.MessagePartCommon, p.File.Name)
		}
	}
	for _, p := range m.AssistantGenMultiContent {
		b.line(p.Text)
		switch {
		case p.Image != nil:
			b.media("image", p.Image.MessagePartCommon, "")
		case p.Audio != nil:
			b.media("audio", p.Audio.MessagePartCommon, "")
		case p.Video != nil:
			b.media("video", p.Video.MessagePartCommon, "")
		}
	}
	for _, p := range m.MultiContent {
		b.line(p.Text)
		switch {
		case p.ImageURL != nil:
			b.link("image", p.ImageURL.URL, p.ImageURL.URI, p.ImageURL.MIMEType, string(p.ImageURL.Detail))
		case p.AudioURL != nil:
			b.link("audio", p.AudioURL.URL, p.AudioURL.URI, p.AudioURL.MIMEType, "")
		case p.VideoURL != nil:
			b.link("video", p.VideoURL.URL, p.VideoURL.URI, p.VideoURL.MIMEType, "")
		case p.FileURL != nil:
			b.link("file", p.FileURL.URL, p.FileURL.URI, p.FileURL.MIMEType, p.FileURL.Name)
		}
	}
}

func (b *builder) media(kind string, c schema.MessagePartCommon, name string) {
	url, data := "", ""
	if c.URL != nil {
		url = *c.URL
	}
	if c.Base64Data != nil {
		data = fmt.Sprintf("%d bytes of base64", len(*c.Base64Data))
	}
	b.link(kind, url, data, c.MIMEType, name)
}

// link writes a line like "[image https://… image/png]". Data in place of an
// address is measured, not shown: no text is in it.
func (b *builder) link(kind string, words ...string) {
	out := "[" + kind
	for _, w := range words {
		if strings.HasPrefix(w, "data:") {
			w = fmt.Sprintf("%d bytes of data", len(w))
		}
		if w != "" {
			out += " " + w
		}
	}
	b.line(out + "]")
}
