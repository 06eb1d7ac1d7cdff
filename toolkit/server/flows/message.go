// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// trajectory is an attempt at a task.
type trajectory struct {
	TaskID   string         `json:"task_id,omitempty"`
	Messages []message      `json:"messages,omitempty"`
	Score    float64        `json:"score,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// message is the caller's message in OpenAI's protocol.
type message map[string]any

// wire are the relevant members of a message.
type wire struct {
	Role             schema.RoleType   `json:"role"`
	Content          any               `json:"content"` // a text, or a list of blocks
	ReasoningContent string            `json:"reasoning_content"`
	ToolCalls        []schema.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *message) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err := d.Decode((*map[string]any)(m))
	if err == nil {
		_, err = m.eino()
	}
	return err
}

var roles = []schema.RoleType{schema.User, schema.System, schema.Assistant, schema.Tool}

// eino returns a message of Eino. A list of content blocks becomes the text in it; media are left
// out.
func (m *message) eino() (*schema.Message, error) {
	var w wire
	raw, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(raw, &w)
	}
	if w.Role = cmp.Or(w.Role, schema.User); err == nil && !slices.Contains(roles, w.Role) {
		err = fmt.Errorf("role %.40q: write system, user, assistant or tool", w.Role)
	}
	return &schema.Message{
		Role: w.Role, Content: textOf(w.Content), ReasoningContent: w.ReasoningContent, ToolCalls: w.ToolCalls, ToolCallID: w.ToolCallID,
	}, err
}

func textOf(content any) string {
	if text, ok := content.(string); ok {
		return text
	}
	var lines []string
	blocks, _ := content.([]any)
	for _, block := range blocks {
		b, _ := block.(map[string]any)
		if s, ok := b["text"].(string); ok {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}

// messagesOf returns messages of Eino. Results of tools without the id of their call, as in ReMe's
// own examples, get the ids of the calls before them, in order.
func messagesOf(in []message) []*schema.Message {
	out := make([]*schema.Message, len(in))
	var open []schema.ToolCall
	for i := range in {
		m, _ := in[i].eino() // UnmarshalJSON has checked it
		if m.Role == schema.Assistant {
			open = m.ToolCalls
		}
		if m.Role == schema.Tool && m.ToolCallID == "" && len(open) > 0 {
			m.ToolCallID, open = open[0].ID, open[1:]
		}
		out[i] = m
	}
	return out
}

// memories returns memories in ReMe's form.
func (c *call) memories(in []backends.Memory) []json.RawMessage {
	out := make([]json.RawMessage, len(in))
	for i := range in {
		workspace := c.scope.Workspace
		if in[i].Kind == backends.KindPersonal {
			workspace = c.scope.UserID
		}
		out[i], _ = c.memory.Library().Encode(&in[i], workspace) // a store returns what JSON can hold
	}
	return out
}

// found returns the memories of hits. Their score is the similarity, as in ReMe.
func (c *call) found(hits []backends.Hit) []json.RawMessage {
	out := make([]backends.Memory, len(hits))
	for i := range hits {
		out[i] = hits[i].Memory
		out[i].Quality = &hits[i].Score
	}
	return c.memories(out)
}

// written is ReMe's report of its writes.
func written(inserted int, deleted ...string) map[string]any {
	return map[string]any{
		"deleted_memory_ids": append([]string{}, deleted...),
		"update_result":      map[string]int{"deleted_count": len(deleted), "inserted_count": inserted},
	}
}
