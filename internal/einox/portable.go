// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"maps"

	"github.com/cloudwego/eino/schema"
)

// Portable takes out of what was loaded what Eino's checkpoints cannot hold: they
// are gob, which fails on lists and objects as JSON makes them, and only once a run
// is interrupted (trap T5). Texts, numbers and truth values that clients hang on the
// parts of a message stay. The messages are the caller's own, and are changed.
func Portable(messages []*schema.Message) {
	for _, m := range messages {
		for i := range m.UserInputMultiContent {
			inputPart(&m.UserInputMultiContent[i])
		}
		for i := range m.AssistantGenMultiContent {
			outputPart(&m.AssistantGenMultiContent[i])
		}
		for i := range m.MultiContent {
			part(&m.MultiContent[i])
		}
	}
}

func inputPart(p *schema.MessageInputPart) {
	p.Extra = scalars(p.Extra)
	if p.Image != nil {
		p.Image.Extra = scalars(p.Image.Extra)
	}
	if p.Audio != nil {
		p.Audio.Extra = scalars(p.Audio.Extra)
	}
	if p.Video != nil {
		p.Video.Extra = scalars(p.Video.Extra)
	}
	if p.File != nil {
		p.File.Extra = scalars(p.File.Extra)
	}
}

func outputPart(p *schema.MessageOutputPart) {
	p.Extra = scalars(p.Extra)
	if p.Image != nil {
		p.Image.Extra = scalars(p.Image.Extra)
	}
	if p.Audio != nil {
		p.Audio.Extra = scalars(p.Audio.Extra)
	}
	if p.Video != nil {
		p.Video.Extra = scalars(p.Video.Extra)
	}
}

func part(p *schema.ChatMessagePart) {
	if p.ImageURL != nil {
		p.ImageURL.Extra = scalars(p.ImageURL.Extra)
	}
	if p.AudioURL != nil {
		p.AudioURL.Extra = scalars(p.AudioURL.Extra)
	}
	if p.VideoURL != nil {
		p.VideoURL.Extra = scalars(p.VideoURL.Extra)
	}
	if p.FileURL != nil {
		p.FileURL.Extra = scalars(p.FileURL.Extra)
	}
}

// scalars returns extra without what is no text, number or truth value.
func scalars(extra map[string]any) map[string]any {
	maps.DeleteFunc(extra, func(_ string, v any) bool {
		switch v.(type) {
		case string, bool, float64, int, int64:
			return false
		}
		return true
	})
	return extra
}
