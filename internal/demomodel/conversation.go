// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// conversation is what the model makes of its input.
type conversation struct {
	said     string   // the last thing that the user said
	evidence []clause // what was said or remembered before it, and in it
	told     bool     // a tool has answered since
}

// read takes a conversation apart. Evidence is what users said and what memory
// brought, by a note or by a tool; what an assistant said is none.
func read(in []*schema.Message) *conversation {
	c, asked := &conversation{}, -1
	for i, m := range in {
		if m != nil && m.Role == schema.User && !isNote(m) && strings.TrimSpace(text(m)) != "" {
			asked = i
		}
	}
	if asked < 0 {
		return c
	}
	c.said = strings.TrimSpace(text(in[asked]))
	for i, m := range in {
		switch {
		case m == nil:
		case isNote(m) || m.Role == schema.Tool && i > asked:
			c.evidence = append(c.evidence, fromBullets(text(m))...)
			c.told = c.told || m.Role == schema.Tool
		case m.Role == schema.User && i <= asked:
			// Later than every memory, in the order of the conversation.
			c.evidence = append(c.evidence, fromText(text(m), "9999")...)
		}
	}
	for i := range c.evidence {
		c.evidence[i].order = i
	}
	return c
}

func isNote(m *schema.Message) bool { return einox.IsNote(m) || m.Name == "memory" }

func text(m *schema.Message) string {
	parts := []string{m.Content}
	for _, p := range m.UserInputMultiContent {
		parts = append(parts, p.Text)
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// toolCall is the call that a turn begins with when the tools are there: search
// for a question, add for a statement. There is one in a turn.
func (c *conversation) toolCall(offered []*schema.ToolInfo) *schema.ToolCall {
	if c.told {
		return nil
	}
	name, arguments := "add_memory", map[string]any{"thinking": "the user said so", "content": []string{c.said}}
	if asked := questions(c.said); len(asked) > 0 {
		name, arguments = "search_memory", map[string]any{"keywords": keywords(asked)}
	}
	if !slices.ContainsFunc(offered, func(t *schema.ToolInfo) bool { return t.Name == name }) {
		return nil
	}
	raw, err := json.Marshal(arguments)
	if err != nil { // strings always marshal
		return nil
	}
	return &schema.ToolCall{ID: "demo-" + name, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: string(raw)}}
}

func keywords(asked []string) []string {
	var out []string
	for _, q := range asked {
		for _, t := range parseQuestion(q).terms {
			if !slices.Contains(out, t.shown) {
				out = append(out, t.shown)
			}
		}
	}
	if len(out) == 0 {
		return asked
	}
	return out
}
