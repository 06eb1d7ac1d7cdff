// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	api "github.com/sashabaranov/go-openai"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// prepare makes a request of messages and options, and the input of the callbacks
// for it. It returns backends.ErrInvalid for what cannot be sent.
func (m *ChatModel) prepare(in []*schema.Message, opts []model.Option) (api.ChatCompletionRequest, *model.CallbackInput, error) {
	defaults := m.defaults // a copy: options overwrite its fields
	o := model.GetCommonOptions(&defaults, opts...)
	r := api.ChatCompletionRequest{Model: *o.Model, Stop: o.Stop, MaxTokens: *o.MaxTokens}
	setSampling(&r, o)
	var err error
	if r.Messages, err = toMessages(in); err == nil {
		err = setTools(&r, o)
	}
	if err != nil {
		return r, nil, fmt.Errorf("openai: asking %s: %w", r.Model, err)
	}
	config := &model.Config{Model: r.Model, MaxTokens: *o.MaxTokens, Temperature: r.Temperature, TopP: r.TopP, Stop: r.Stop}
	return r, &model.CallbackInput{Messages: in, Tools: o.Tools, ToolChoice: o.ToolChoice, Config: config}, nil
}

// setSampling sets temperature and top p: none for reasoning models, which refuse
// them. go-openai leaves out a zero; the smallest number means the same.
func setSampling(r *api.ChatCompletionRequest, o *model.Options) {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5"} {
		if strings.HasPrefix(r.Model, prefix) {
			r.MaxTokens, r.MaxCompletionTokens = 0, r.MaxTokens
			return
		}
	}
	if o.Temperature != nil {
		r.Temperature = max(*o.Temperature, math.SmallestNonzeroFloat32)
	}
	if o.TopP != nil {
		r.TopP = max(*o.TopP, math.SmallestNonzeroFloat32)
	}
}

// What the API calls the tool choices.
var toolChoices = map[schema.ToolChoice]string{
	schema.ToolChoiceForced: "required", schema.ToolChoiceAllowed: "auto", schema.ToolChoiceForbidden: "none",
}

// setTools sets the tools and the tool choice. Allowed tool names narrow the tools
// themselves, which every service understands; a single forced tool is named.
func setTools(r *api.ChatCompletionRequest, o *model.Options) error {
	for _, t := range o.Tools {
		if t == nil {
			return fmt.Errorf("tools: %w: one of them is nil", backends.ErrInvalid)
		}
		parameters, err := t.ToJSONSchema()
		if err != nil {
			return fmt.Errorf("parameters of tool %q: %w: %w", t.Name, backends.ErrInvalid, err)
		}
		function := &api.FunctionDefinition{Name: t.Name, Description: t.Desc, Parameters: parameters}
		if parameters == nil {
			function.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if len(o.AllowedToolNames) == 0 || slices.Contains(o.AllowedToolNames, t.Name) {
			r.Tools = append(r.Tools, api.Tool{Type: api.ToolTypeFunction, Function: function})
		}
	}
	if o.ToolChoice == nil {
		return nil
	}
	choice, n := *o.ToolChoice, len(r.Tools)
	switch {
	case toolChoices[choice] == "":
		return fmt.Errorf("tool choice %q: %w: use forced, allowed or forbidden", choice, backends.ErrInvalid)
	case n < len(o.AllowedToolNames), n == 0 && choice == schema.ToolChoiceForced:
		return fmt.Errorf("tool choice %q %q: %w: not offered", choice, o.AllowedToolNames, backends.ErrInvalid)
	case n == 1 && choice == schema.ToolChoiceForced:
		r.ToolChoice = api.ToolChoice{Type: api.ToolTypeFunction, Function: api.ToolFunction{Name: r.Tools[0].Function.Name}}
	case n > 0: // the API refuses a choice among nothing
		r.ToolChoice = toolChoices[choice]
	}
	return nil
}

func toMessages(in []*schema.Message) (out []api.ChatCompletionMessage, err error) {
	for i, m := range in {
		if m == nil {
			return nil, fmt.Errorf("message %d: %w: nil", i, backends.ErrInvalid)
		}
		message := api.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, Name: legalName(m.Name), ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			function := api.FunctionCall{Name: c.Function.Name, Arguments: c.Function.Arguments}
			message.ToolCalls = append(message.ToolCalls, api.ToolCall{ID: c.ID, Type: api.ToolTypeFunction, Function: function})
		}
		if message.MultiContent, err = toParts(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		switch {
		case len(message.MultiContent) > 0:
			message.Content = "" // it is the first part
		case m.Content == "" && len(m.ToolCalls) == 0:
			message.Content = " " // go-openai leaves out an empty content, which the API refuses
		}
		out = append(out, message)
	}
	return out, nil
}

// toParts returns the content and the parts of a message that has parts: texts, and images
// in a user's message.
func toParts(m *schema.Message) (out []api.ChatMessagePart, err error) {
	if einox.HasParts(m) && m.Content != "" {
		out = append(out, api.ChatMessagePart{Type: api.ChatMessagePartTypeText, Text: m.Content})
	}
	for _, p := range einox.Parts(m) {
		url := p.URL
		if url == "" && p.Data != "" && p.MIME != "" {
			url = "data:" + p.MIME + ";base64," + p.Data
		}
		switch {
		case p.Media == "":
			out = append(out, api.ChatMessagePart{Type: api.ChatMessagePartTypeText, Text: p.Text})
		case p.Media == "image" && url != "" && m.Role == schema.User:
			image := &api.ChatMessageImageURL{URL: url, Detail: api.ImageURLDetail(p.Detail)}
			out = append(out, api.ChatMessagePart{Type: api.ChatMessagePartTypeImageURL, ImageURL: image})
		default:
			return nil, fmt.Errorf("part of type %q: %w: only texts, and images of a user (by URL, or base64 with a MIME type), can be sent", p.Media, backends.ErrInvalid)
		}
	}
	return out, nil
}

var illegalInNames = regexp.MustCompile(`[\s\p{Z}\p{C}<|\\/>]`)

// legalName replaces what the API refuses in the name of a speaker, and shortens
// it to the 64 characters that it accepts.
func legalName(name string) string {
	return fmt.Sprintf("%.64s", illegalInNames.ReplaceAllString(strings.TrimSpace(name), "_"))
}

// fromAnswer returns the message of a complete answer's first choice.
func fromAnswer(resp *api.ChatCompletionResponse) *schema.Message {
	choice := resp.Choices[0]
	content := choice.Message.Content
	for _, p := range choice.Message.MultiContent { // some services answer in parts
		content += p.Text
	}
	m := fromParts(cmp.Or(content, choice.Message.Refusal), choice.Message.ReasoningContent, choice.Message.ToolCalls)
	m.ResponseMeta = &schema.ResponseMeta{FinishReason: string(choice.FinishReason), Usage: fromUsage(&resp.Usage)}
	return m
}

// fromPiece returns the message of one piece of a stream, which may be empty.
func fromPiece(resp *api.ChatCompletionStreamResponse) *schema.Message {
	var choice api.ChatCompletionStreamChoice
	if len(resp.Choices) > 0 {
		choice = resp.Choices[0]
	}
	m := fromParts(choice.Delta.Content+choice.Delta.Refusal, choice.Delta.ReasoningContent, choice.Delta.ToolCalls)
	if resp.Usage != nil || choice.FinishReason != "" {
		m.ResponseMeta = &schema.ResponseMeta{FinishReason: string(choice.FinishReason), Usage: fromUsage(resp.Usage)}
	}
	return m
}

// fromParts keeps the index of the tool calls, which shows what pieces of a stream
// belong together.
func fromParts(content, reasoning string, calls []api.ToolCall) *schema.Message {
	m := &schema.Message{Role: schema.Assistant, Content: content, ReasoningContent: reasoning}
	for _, c := range calls {
		function := schema.FunctionCall{Name: c.Function.Name, Arguments: c.Function.Arguments}
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{Index: c.Index, ID: c.ID, Type: string(c.Type), Function: function})
	}
	return m
}

func fromUsage(u *api.Usage) *schema.TokenUsage {
	if u == nil {
		return nil
	}
	out := &schema.TokenUsage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
	if u.PromptTokensDetails != nil {
		out.PromptTokenDetails.CachedTokens = u.PromptTokensDetails.CachedTokens
	}
	if u.CompletionTokensDetails != nil {
		out.CompletionTokensDetails.ReasoningTokens = u.CompletionTokensDetails.ReasoningTokens
	}
	return out
}
