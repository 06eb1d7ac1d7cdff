// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"
	api "github.com/sashabaranov/go-openai"

	"github.com/einomem/einomem/backends"
)

// toMessages translates a conversation into the API's terms.
func toMessages(in []*schema.Message) ([]api.ChatCompletionMessage, error) {
	if len(in) == 0 {
		return nil, fmt.Errorf("messages: %w: there are none", backends.ErrInvalid)
	}
	out := make([]api.ChatCompletionMessage, 0, len(in))
	for i, m := range in {
		if m == nil {
			return nil, fmt.Errorf("message %d: %w: nil", i, backends.ErrInvalid)
		}
		msg, err := toMessage(m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		out = append(out, msg)
	}
	return out, nil
}

func toMessage(m *schema.Message) (api.ChatCompletionMessage, error) {
	out := api.ChatCompletionMessage{Content: m.Content, Name: legalName(m.Name), ToolCallID: m.ToolCallID}
	switch m.Role {
	case schema.System, schema.User, schema.Assistant, schema.Tool:
		out.Role = string(m.Role)
	default:
		return out, fmt.Errorf("role %q: %w", m.Role, backends.ErrInvalid)
	}
	if m.Role == schema.Assistant {
		for _, c := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, api.ToolCall{
				ID: c.ID, Type: api.ToolTypeFunction, Function: api.FunctionCall{Name: c.Function.Name, Arguments: c.Function.Arguments},
			})
		}
	}
	parts, err := toParts(m)
	if err != nil {
		return out, err
	}
	if len(parts) > 0 {
		if m.Content != "" {
			parts = append([]api.ChatMessagePart{{Type: api.ChatMessagePartTypeText, Text: m.Content}}, parts...)
		}
		out.Content, out.MultiContent = "", parts
	}
	if out.Content == "" && out.MultiContent == nil && len(out.ToolCalls) == 0 {
		out.Content = " " // go-openai leaves out an empty content, which the API refuses
	}
	return out, nil
}

// toParts translates the parts of a message, whichever of Eino's three fields
// carries them.
func toParts(m *schema.Message) ([]api.ChatMessagePart, error) {
	var out []api.ChatMessagePart
	var errs []error
	add := func(kind schema.ChatMessagePartType, text string, image *api.ChatMessageImageURL) {
		part, err := toPart(kind, text, image)
		out, errs = append(out, part), append(errs, err)
	}
	for _, p := range m.MultiContent {
		var image *api.ChatMessageImageURL
		if p.ImageURL != nil {
			image = &api.ChatMessageImageURL{URL: p.ImageURL.URL, Detail: api.ImageURLDetail(p.ImageURL.Detail)}
		}
		add(p.Type, p.Text, image)
	}
	for _, p := range m.UserInputMultiContent {
		var image *api.ChatMessageImageURL
		if p.Image != nil {
			image = &api.ChatMessageImageURL{URL: imageURL(p.Image.MessagePartCommon), Detail: api.ImageURLDetail(p.Image.Detail)}
		}
		add(p.Type, p.Text, image)
	}
	for _, p := range m.AssistantGenMultiContent {
		var image *api.ChatMessageImageURL
		if p.Image != nil {
			image = &api.ChatMessageImageURL{URL: imageURL(p.Image.MessagePartCommon)}
		}
		add(p.Type, p.Text, image)
	}
	return out, errors.Join(errs...)
}

// toPart knows what go-openai knows: texts and images.
func toPart(kind schema.ChatMessagePartType, text string, image *api.ChatMessageImageURL) (api.ChatMessagePart, error) {
	switch {
	case kind == schema.ChatMessagePartTypeText:
		return api.ChatMessagePart{Type: api.ChatMessagePartTypeText, Text: text}, nil
	case kind == schema.ChatMessagePartTypeImageURL && image != nil && image.URL != "":
		return api.ChatMessagePart{Type: api.ChatMessagePartTypeImageURL, ImageURL: image}, nil
	}
	return api.ChatMessagePart{}, fmt.Errorf("part of type %q: %w: only text and images (by URL, or base64 with a MIME type) can be sent", kind, backends.ErrInvalid)
}

func imageURL(p schema.MessagePartCommon) string {
	switch {
	case p.URL != nil:
		return *p.URL
	case p.Base64Data != nil && p.MIMEType != "":
		return "data:" + p.MIMEType + ";base64," + *p.Base64Data
	}
	return ""
}

// legalName is the name of who speaks, with what the API refuses in a name
// replaced: white space and any of <|\/>; at most 64 characters.
func legalName(name string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<|\/>`, r) {
			return '_'
		}
		return r
	}, strings.TrimSpace(name)))
	return string(runes[:min(len(runes), 64)])
}
