// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/einomem/einomem/internal/einox"
)

func TestText(t *testing.T) {
	part := func(texts ...string) (ps []schema.MessageInputPart) {
		for _, s := range texts {
			ps = append(ps, schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: s})
		}
		return ps
	}
	image := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL}
	for want, m := range map[string]*schema.Message{
		"hi":     schema.UserMessage(" hi\n"),
		"":       {Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{image}},
		"a\nb":   {Role: schema.User, UserInputMultiContent: append(part("a", " "), append(part("b"), image)...)},
		"beside": {Role: schema.User, Content: "beside", UserInputMultiContent: []schema.MessageInputPart{image}},
		"parts":  {Role: schema.User, Content: "ignored", UserInputMultiContent: part("parts")},
		"drawn":  {Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: "drawn"}}},
		"old":    {Role: schema.User, MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeText, Text: "old"}}},
	} {
		assert.Equal(t, want, einox.Text(m))
	}
}

func TestIsRetold(t *testing.T) {
	for text, want := range map[string]bool{
		"For context: [planner] said: step one.":                         true,
		"For context: [planner] called tool: `echo` with arguments: {}.": true,
		"For context: [planner] `echo` tool returned result: x.":         true,
		"For context:":                            true,
		"For context: I live in Rome":             false,
		"For context: [1] is a citation":          false,
		"I said: For context: [planner] said: no": false,
		"": false,
	} {
		assert.Equal(t, want, einox.IsRetold(schema.UserMessage(text)), text)
	}
	assert.False(t, einox.IsRetold(schema.AssistantMessage("For context:", nil)), "agents speak in the role of the user")
	assert.False(t, einox.IsRetold(nil))
}
