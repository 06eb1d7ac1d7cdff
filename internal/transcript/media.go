// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import "github.com/cloudwego/eino/schema"

const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func userParts(before, behind string) []schema.MessageInputPart {
	data, address := picture, "https://example.com/plan.png"
	return []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: before},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
			MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}, Detail: schema.ImageURLDetailHigh}},
		{Type: schema.ChatMessagePartTypeText, Text: behind},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &address}}},
	}
}

func assistantParts(text string) []schema.MessageOutputPart {
	data := picture
	return []schema.MessageOutputPart{
		{Type: schema.ChatMessagePartTypeText, Text: text},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{
			MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}}},
	}
}

func oldParts(text string) []schema.ChatMessagePart {
	return []schema.ChatMessagePart{
		{Type: schema.ChatMessagePartTypeText, Text: text},
		{Type: schema.ChatMessagePartTypeImageURL, ImageURL: &schema.ChatMessageImageURL{URL: "https://example.com/old.png"}},
	}
}
