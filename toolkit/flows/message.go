// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// message is a message in OpenAI's protocol, with what ReMe adds.
type message struct {
	Role             string            `json:"role,omitempty"`    // defaults to user
	Content          any               `json:"content,omitempty"` // a text, or a list of blocks
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ToolCalls        []schema.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
	Name             *string           `json:"name,omitempty"`
	TimeCreated      string            `json:"time_created,omitempty"`

	raw json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *message) UnmarshalJSON(b []byte) error {
	type plain message
	m.raw = bytes.Clone(b)
	return json.Unmarshal(b, (*plain)(m))
}

// text returns what a message says: blocks of text joined by newlines. Media have no text.
func (m *message) text() string {
	if s, ok := m.Content.(string); ok {
		return s
	}
	var lines []string
	blocks, _ := m.Content.([]any)
	for _, b := range blocks {
		block, _ := b.(map[string]any)
		for _, name := range []string{"text", "content"} {
			if s, ok := block[name].(string); ok {
				lines = append(lines, s)
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}

// messagesOf returns messages of Eino. Results of tools without the id of their call, as in
// ReMe's own examples, get those of the calls before them, in order.
func messagesOf(in []message) ([]*schema.Message, error) {
	if err := bounded("messages", len(in), mostMessages); err != nil {
		return nil, err
	}
	out := make([]*schema.Message, len(in))
	var open []string
	for i := range in {
		m := &in[i]
		o := &schema.Message{
			Role: schema.RoleType(m.Role), Content: m.text(), ReasoningContent: m.ReasoningContent, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID,
		}
		if m.Name != nil {
			o.Name = *m.Name
		}
		switch o.Role {
		case "":
			o.Role = schema.User
		case schema.User, schema.System:
		case schema.Assistant:
			open = nil
			for _, call := range o.ToolCalls {
				open = append(open, call.ID)
			}
		case schema.Tool:
			if o.ToolCallID == "" && len(open) > 0 {
				o.ToolCallID = open[0]
			}
			open = slices.DeleteFunc(open, func(id string) bool { return id == o.ToolCallID })
		default:
			return nil, fmt.Errorf("%w: message %d: role %.40q: write system, user, assistant or tool", backends.ErrInvalid, i, m.Role)
		}
		out[i] = o
	}
	return out, nil
}

// said returns messages with their times.
func said(in []message) ([]backends.Message, error) {
	messages, err := messagesOf(in)
	out := make([]backends.Message, len(messages))
	for i, m := range messages {
		out[i] = backends.Message{Message: m, Time: text.Time(in[i].TimeCreated, time.UTC)}
	}
	return out, err
}

// trajectory is an attempt at a task.
type trajectory struct {
	TaskID   string         `json:"task_id,omitempty"`
	Messages []message      `json:"messages,omitempty"`
	Score    float64        `json:"score,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
}
