// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"strings"

	"github.com/cloudwego/eino/schema"
)

func hasParts(m *schema.Message) bool {
	return len(m.MultiContent)+len(m.UserInputMultiContent)+len(m.AssistantGenMultiContent) > 0
}

// partsOf checks the parts of a message, as Eino's clients send them: those of a
// user and those that an assistant made cannot change places, and a message has
// parts or a content.
func partsOf(m *schema.Message, provider string, i int) error {
	broken := func(r Rule, detail string) error {
		return &Violation{Provider: provider, Index: i, Rule: r, Detail: detail}
	}
	switch {
	case len(m.UserInputMultiContent) > 0 && m.Role != schema.User:
		return broken(RuleParts, "a user's parts on a message of "+string(m.Role))
	case len(m.AssistantGenMultiContent) > 0 && m.Role != schema.Assistant:
		return broken(RuleParts, "an assistant's parts on a message of "+string(m.Role))
	case hasParts(m) && m.Content != "":
		return broken(RuleParts, "both parts and content")
	}
	for _, p := range parts(m) {
		switch {
		case p.kind == schema.ChatMessagePartTypeText && strings.TrimSpace(p.text) == "":
			return broken(RuleText, "a blank part")
		case p.kind != schema.ChatMessagePartTypeText && !p.media:
			return broken(RuleMedia, string(p.kind))
		}
	}
	return nil
}

// part is what the three sorts of parts have in common.
type part struct {
	kind  schema.ChatMessagePartType
	text  string
	media bool // it has data, or an address
}

func parts(m *schema.Message) []part {
	var out []part
	for _, p := range m.MultiContent {
		media := p.ImageURL != nil && p.ImageURL.URL != "" || p.AudioURL != nil && p.AudioURL.URL != "" ||
			p.VideoURL != nil && p.VideoURL.URL != "" || p.FileURL != nil && p.FileURL.URL != ""
		out = append(out, part{kind: p.Type, text: p.Text, media: media})
	}
	for _, p := range m.UserInputMultiContent {
		media := p.Image != nil && there(&p.Image.MessagePartCommon) || p.Audio != nil && there(&p.Audio.MessagePartCommon) ||
			p.Video != nil && there(&p.Video.MessagePartCommon) || p.File != nil && there(&p.File.MessagePartCommon)
		out = append(out, part{kind: p.Type, text: p.Text, media: media})
	}
	for _, p := range m.AssistantGenMultiContent {
		media := p.Image != nil && there(&p.Image.MessagePartCommon) || p.Audio != nil && there(&p.Audio.MessagePartCommon) ||
			p.Video != nil && there(&p.Video.MessagePartCommon)
		out = append(out, part{kind: p.Type, text: p.Text, media: media})
	}
	return out
}

func there(c *schema.MessagePartCommon) bool {
	return c.URL != nil && *c.URL != "" || c.Base64Data != nil && *c.Base64Data != ""
}
