// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"strings"

	"github.com/cloudwego/eino/schema"
)

// Part is one part of a message, of whichever of Eino's three sorts.
type Part struct {
	Text  string
	Media string // such as "image" or "audio"; "" for a text
	URL   string // of the media, if they have an address
	Data  int    // bytes of base64, if they are in the message
	MIME  string
	Name  string // of a file
}

// Parts returns the parts of a message, none for one that has a content instead.
func Parts(m *schema.Message) []Part {
	var out []Part
	for i := range m.UserInputMultiContent {
		p := &m.UserInputMultiContent[i]
		part := partOf(p.Type, p.Text)
		switch {
		case p.Image != nil:
			part.locate(&p.Image.MessagePartCommon)
		case p.Audio != nil:
			part.locate(&p.Audio.MessagePartCommon)
		case p.Video != nil:
			part.locate(&p.Video.MessagePartCommon)
		case p.File != nil:
			part.locate(&p.File.MessagePartCommon)
			part.Name = p.File.Name
		}
		out = append(out, part)
	}
	for i := range m.AssistantGenMultiContent {
		p := &m.AssistantGenMultiContent[i]
		part := partOf(p.Type, p.Text)
		switch {
		case p.Image != nil:
			part.locate(&p.Image.MessagePartCommon)
		case p.Audio != nil:
			part.locate(&p.Audio.MessagePartCommon)
		case p.Video != nil:
			part.locate(&p.Video.MessagePartCommon)
		}
		out = append(out, part)
	}
	for i := range m.MultiContent {
		p := &m.MultiContent[i]
		part := partOf(p.Type, p.Text)
		switch {
		case p.ImageURL != nil:
			part.URL, part.MIME = p.ImageURL.URL, p.ImageURL.MIMEType
		case p.AudioURL != nil:
			part.URL, part.MIME = p.AudioURL.URL, p.AudioURL.MIMEType
		case p.VideoURL != nil:
			part.URL, part.MIME = p.VideoURL.URL, p.VideoURL.MIMEType
		case p.FileURL != nil:
			part.URL, part.MIME, part.Name = p.FileURL.URL, p.FileURL.MIMEType, p.FileURL.Name
		}
		out = append(out, part)
	}
	return out
}

func partOf(kind schema.ChatMessagePartType, text string) Part {
	if kind == schema.ChatMessagePartTypeText {
		kind = ""
	}
	return Part{Text: text, Media: strings.TrimSuffix(string(kind), "_url")}
}

func (p *Part) locate(c *schema.MessagePartCommon) {
	p.MIME = c.MIMEType
	if c.URL != nil {
		p.URL = *c.URL
	}
	if c.Base64Data != nil {
		p.Data = len(*c.Base64Data)
	}
}
