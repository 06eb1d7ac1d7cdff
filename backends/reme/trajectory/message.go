// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// einoFields are those fields of an Eino message that OpenAI's protocol does not know.
type einoFields struct {
	MultiContent             []schema.ChatMessagePart   `json:"multi_content,omitempty"`
	UserInputMultiContent    []schema.MessageInputPart  `json:"user_input_multi_content,omitempty"`
	AssistantGenMultiContent []schema.MessageOutputPart `json:"assistant_output_multi_content,omitempty"`
	ResponseMeta             *schema.ResponseMeta       `json:"response_meta,omitempty"`
}

var einoKeys = []string{"multi_content", "user_input_multi_content", "assistant_output_multi_content", "response_meta"}

// messageIn reads a message. Keys that are not known are kept in its Extra.
func messageIn(data []byte) (*schema.Message, error) {
	var in object
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, err
	}
	if in == nil {
		return nil, errors.New("it is null")
	}
	m := &schema.Message{Role: schema.User}
	var eino einoFields
	if err := json.Unmarshal(data, &eino); err != nil {
		return nil, err
	}
	m.MultiContent, m.UserInputMultiContent = eino.MultiContent, eino.UserInputMultiContent
	m.AssistantGenMultiContent, m.ResponseMeta = eino.AssistantGenMultiContent, eino.ResponseMeta
	for _, key := range einoKeys {
		delete(in, key)
	}
	var calls []wireCall
	var extra map[string]any
	for _, f := range []struct {
		key  string
		into any
	}{
		{"role", &m.Role}, {"name", &m.Name}, {"reasoning_content", &m.ReasoningContent}, {"tool_calls", &calls},
		{"tool_call_id", &m.ToolCallID}, {"tool_name", &m.ToolName}, {"extra", &extra},
	} {
		if err := in.take(f.key, f.into); err != nil {
			return nil, err
		}
	}
	m.Role = roleIn(m.Role)
	for i := range calls {
		m.ToolCalls = append(m.ToolCalls, calls[i].call())
	}
	if err := readContent(m, in); err != nil {
		return nil, err
	}
	if m.Extra = in.rest(); m.Extra == nil {
		m.Extra = extra
	} else {
		maps.Copy(m.Extra, extra)
	}
	return m, nil
}

// roleIn knows older and newer names of the roles, and says user where none is given.
func roleIn(r schema.RoleType) schema.RoleType {
	switch r {
	case "":
		return schema.User
	case "developer":
		return schema.System
	case "function":
		return schema.Tool
	}
	return r
}

// readContent reads a content that is a text, or parts.
func readContent(m *schema.Message, in object) error {
	if !bytes.HasPrefix(bytes.TrimSpace(in["content"]), []byte("[")) {
		return in.take("content", &m.Content)
	}
	var parts []object
	if err := in.take("content", &parts); err != nil {
		return err
	}
	for _, o := range parts {
		p, err := partIn(o)
		if err != nil {
			return err
		}
		if m.Role == schema.Assistant {
			m.AssistantGenMultiContent = append(m.AssistantGenMultiContent, schema.MessageOutputPart{Type: p.Type, Text: p.Text, Extra: p.Extra})
			continue
		}
		m.UserInputMultiContent = append(m.UserInputMultiContent, p)
	}
	return nil
}

// partIn reads a part: its type, its text, and all else as it is.
func partIn(o object) (schema.MessageInputPart, error) {
	p := schema.MessageInputPart{Type: schema.ChatMessagePartTypeText}
	if err := o.take("type", &p.Type); err != nil {
		return p, err
	}
	if err := o.take("text", &p.Text); err != nil {
		return p, err
	}
	p.Extra = o.rest()
	return p, nil
}

// wireCall is a tool call as clients write it: OpenAI's, with an index, or with name
// and arguments beside the id.
type wireCall struct {
	Index     *int            `json:"index"`
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Function  wireFunction    `json:"function"`
	Extra     map[string]any  `json:"extra"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type wireFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (c *wireCall) call() schema.ToolCall {
	f := c.Function
	if f.Name == "" && f.Arguments == nil {
		f = wireFunction{Name: c.Name, Arguments: c.Arguments}
	}
	typ := c.Type
	if typ == "" {
		typ = "function"
	}
	return schema.ToolCall{Index: c.Index, ID: c.ID, Type: typ, Extra: c.Extra, Function: schema.FunctionCall{Name: f.Name, Arguments: argumentsIn(f.Arguments)}}
}

// argumentsIn reads arguments that are a text, as the protocol has it, or the object
// itself.
func argumentsIn(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return string(raw)
	}
	return compact.String()
}

// wireOf returns a message in OpenAI's protocol, with what else it holds beside.
func wireOf(m *schema.Message) map[string]any {
	out := map[string]any{}
	maps.Copy(out, m.Extra)
	out["role"], out["content"] = m.Role, m.Content
	setText(out, "name", m.Name)
	setText(out, "reasoning_content", m.ReasoningContent)
	setText(out, "tool_call_id", m.ToolCallID)
	setText(out, "tool_name", m.ToolName)
	if len(m.ToolCalls) > 0 {
		out["tool_calls"] = callsOut(m.ToolCalls)
	}
	if m.ResponseMeta != nil {
		out["response_meta"] = m.ResponseMeta
	}
	partsOut(out, m)
	return out
}

// callOut is a tool call as it is written: other than in Eino's own JSON, every field
// of the protocol is there.
type callOut struct {
	Index    int            `json:"index"`
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function functionOut    `json:"function"`
	Extra    map[string]any `json:"extra,omitempty"`
}

type functionOut struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func callsOut(calls []schema.ToolCall) []callOut {
	out := make([]callOut, len(calls))
	for i, c := range calls {
		out[i] = callOut{Index: i, ID: c.ID, Type: "function", Function: functionOut(c.Function), Extra: c.Extra}
		if c.Index != nil {
			out[i].Index = *c.Index
		}
		if c.Type != "" {
			out[i].Type = c.Type
		}
	}
	return out
}

// partsOut writes parts as the content where they are such as were read from one, or
// of text alone, else in the field of the Eino message.
func partsOut(out map[string]any, m *schema.Message) {
	if !einox.HasParts(m) {
		return
	}
	var parts []map[string]any
	simple := len(m.MultiContent) == 0 && strings.TrimSpace(m.Content) == ""
	for i := range m.UserInputMultiContent {
		p := &m.UserInputMultiContent[i]
		simple = simple && p.Image == nil && p.Audio == nil && p.Video == nil && p.File == nil
		parts = append(parts, partOut(p.Type, p.Text, p.Extra))
	}
	for i := range m.AssistantGenMultiContent {
		p := &m.AssistantGenMultiContent[i]
		simple = simple && p.Image == nil && p.Audio == nil && p.Video == nil
		parts = append(parts, partOut(p.Type, p.Text, p.Extra))
	}
	if simple {
		out["content"] = parts
		return
	}
	for key, list := range map[string]any{
		"multi_content": m.MultiContent, "user_input_multi_content": m.UserInputMultiContent, "assistant_output_multi_content": m.AssistantGenMultiContent,
	} {
		out[key] = list
	}
}

func partOut(kind schema.ChatMessagePartType, text string, extra map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, extra)
	out["type"] = kind
	if text != "" || kind == schema.ChatMessagePartTypeText {
		out["text"] = text
	}
	return out
}
