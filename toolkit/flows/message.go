// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
)

// trajectory is an attempt at a task.
type trajectory struct {
	TaskID   string         `json:"task_id,omitempty"`
	Messages []message      `json:"messages,omitempty"`
	Score    float64        `json:"score,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// message is a message in OpenAI's protocol, with what ReMe adds.
type message map[string]any

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

// eino returns a message of Eino. A list of content blocks becomes the text in it; media are
// left out.
func (m *message) eino() (*schema.Message, error) {
	known := map[string]any{"role": schema.User} // and nothing else: Eino's messages carry marks
	for _, name := range []string{"role", "reasoning_content", "tool_calls", "tool_call_id", "name"} {
		if v := (*m)[name]; v != nil && v != "" {
			known[name] = v
		}
	}
	raw, err := json.Marshal(known)
	out := &schema.Message{Content: textOf((*m)["content"])}
	if err == nil {
		err = json.Unmarshal(raw, out)
	}
	if err == nil && !slices.Contains([]schema.RoleType{schema.User, schema.System, schema.Assistant, schema.Tool}, out.Role) {
		err = fmt.Errorf("role %.40q: write system, user, assistant or tool", out.Role)
	}
	return out, err
}

func textOf(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		var lines []string
		for _, block := range c {
			b, _ := block.(map[string]any)
			for _, name := range []string{"text", "content"} {
				if s, ok := b[name].(string); ok {
					lines = append(lines, s)
				}
			}
		}
		return strings.Join(lines, "\n")
	}
	return ""
}

// messagesOf returns messages of Eino. Results of tools without the id of their call, as in
// ReMe's own examples, get those of the calls before them, in order.
func messagesOf(in []message) []*schema.Message {
	var out []*schema.Message
	var open []schema.ToolCall
	for _, m := range in {
		o, _ := m.eino() // UnmarshalJSON has checked it
		if out = append(out, o); o.Role == schema.Assistant {
			open = o.ToolCalls
		}
		if o.Role == schema.Tool && o.ToolCallID == "" && len(open) > 0 {
			o.ToolCallID, open = open[0].ID, open[1:]
		}
	}
	return out
}

// wire is a message as ReMe returns it.
type wire struct {
	Role             schema.RoleType   `json:"role"`
	Content          any               `json:"content"`
	ReasoningContent string            `json:"reasoning_content"`
	ToolCalls        []schema.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
}

func wires(messages []*schema.Message) []wire {
	out := make([]wire, len(messages))
	for i, m := range messages {
		out[i] = wire{Role: m.Role, Content: m.Content, ReasoningContent: m.ReasoningContent, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}
	}
	return out
}

// memory is a memory as ReMe writes it.
type memory struct {
	backends.Memory
	workspace string
	library   *reme.Library
}

// MarshalJSON implements json.Marshaler.
func (m memory) MarshalJSON() ([]byte, error) { return m.library.Encode(&m.Memory, m.workspace) }

// memories returns memories as ReMe writes them.
func (c *call) memories(in []backends.Memory) []memory {
	out := make([]memory, len(in))
	for i := range in {
		name := c.scope.Workspace
		if c.scope.UserID != "" && in[i].Kind == backends.KindPersonal {
			name = c.scope.UserID
		}
		out[i] = memory{Memory: in[i], workspace: name, library: c.memory.Library()}
	}
	return out
}

// found returns the memories of hits. Their score is the similarity, as in ReMe.
func (c *call) found(hits []backends.Hit) []memory {
	out := make([]backends.Memory, len(hits))
	for i := range hits {
		out[i] = hits[i].Memory
		out[i].Quality = &hits[i].Score
	}
	return c.memories(out)
}

// updated is what ReMe says of its writes.
func updated(deleted, inserted int) map[string]int {
	return map[string]int{"deleted_count": deleted, "inserted_count": inserted}
}
