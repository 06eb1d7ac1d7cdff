// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

func ptr[T any](v T) *T { return &v }

func image(p schema.MessagePartCommon) schema.MessageInputPart {
	return schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: p, Detail: schema.ImageURLDetailLow}}
}

func TestMessagesAreTranslated(t *testing.T) {
	tests := []struct {
		name string
		in   *schema.Message
		want string
	}{
		{"system", schema.SystemMessage("be kind"), `{"role":"system","content":"be kind"}`},
		{"user with a name", &schema.Message{Role: schema.User, Content: "hi", Name: "memory"}, `{"role":"user","content":"hi","name":"memory"}`},
		{"a name that the API would refuse", &schema.Message{Role: schema.User, Content: "hi", Name: " Ann <x> "}, `{"role":"user","content":"hi","name":"Ann__x_"}`},
		{"tool call", schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "f", Arguments: "{}"}}}),
			`{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		{"tool result", schema.ToolMessage("42", "c1", schema.WithToolName("f")), `{"role":"tool","content":"42","tool_call_id":"c1"}`},
		{"empty tool result", schema.ToolMessage("", "c1"), `{"role":"tool","content":" ","tool_call_id":"c1"}`},
		{"extra and reasoning stay here", &schema.Message{Role: schema.Assistant, Content: "a", ReasoningContent: "r", Extra: map[string]any{"k": "v"}},
			`{"role":"assistant","content":"a"}`},
		{"image by URL, after the content", &schema.Message{Role: schema.User, Content: "look", UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "here"}, image(schema.MessagePartCommon{URL: ptr("http://x/a.png")})}},
			`{"role":"user","content":[{"type":"text","text":"look"},{"type":"text","text":"here"},{"type":"image_url","image_url":{"url":"http://x/a.png","detail":"low"}}]}`},
		{"image in base64", &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
			image(schema.MessagePartCommon{Base64Data: ptr("QUJD"), MIMEType: "image/png"})}},
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD","detail":"low"}}]}`},
		{"the older field", &schema.Message{Role: schema.User, MultiContent: []schema.ChatMessagePart{
			{Type: schema.ChatMessagePartTypeImageURL, ImageURL: &schema.ChatMessageImageURL{URL: "http://x/b.png"}}}},
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/b.png"}}]}`},
		{"an assistant's parts", &schema.Message{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "t"}}},
			`{"role":"assistant","content":[{"type":"text","text":"t"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := serve(t, text("ok"))
			before, _ := json.Marshal(tt.in)
			_, err := api.chatModel(t).Generate(t.Context(), []*schema.Message{tt.in})
			require.NoError(t, err)
			got, err := json.Marshal(api.requests()[0]["messages"].([]any)[0])
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(got))
			after, _ := json.Marshal(tt.in)
			assert.Equal(t, string(before), string(after), "the caller's message is not changed")
		})
	}
}

func TestMessagesThatCannotBeSent(t *testing.T) {
	for name, in := range map[string][]*schema.Message{
		"none": {}, "nil": {nil}, "no role": {{Content: "x"}},
		"audio": {{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeAudioURL}}}},
		"image without a type": {{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
			image(schema.MessagePartCommon{Base64Data: ptr("QUJD")})}}},
		"image that is missing": {{Role: schema.User, MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeImageURL}}}},
	} {
		t.Run(name, func(t *testing.T) {
			api := serve(t, text("ok"))
			_, err := api.chatModel(t).Generate(t.Context(), in)
			require.ErrorIs(t, err, backends.ErrInvalid)
			_, err = api.chatModel(t).Stream(t.Context(), in)
			require.ErrorIs(t, err, backends.ErrInvalid)
			assert.Empty(t, api.requests())
		})
	}
}

func TestLongNamesAreCut(t *testing.T) {
	api := serve(t, text("ok"))
	_, err := api.chatModel(t).Generate(t.Context(), []*schema.Message{{Role: schema.User, Content: "x", Name: strings.Repeat("名", 99)}})
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("名", 64), api.requests()[0]["messages"].([]any)[0].(map[string]any)["name"])
}
