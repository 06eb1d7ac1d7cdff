// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

// utterance is one message of a run's events.
type utterance struct {
	path    []string        // the agents from the root to the one that spoke
	message *schema.Message // nil when it failed
}

func pathOf(steps []adk.RunStep) []string {
	path := make([]string, len(steps))
	for i := range steps {
		path[i] = steps[i].String()
	}
	return path
}

// conversation returns the messages that belong to the turn, in the order in
// which they arrived: what the agents of the tree said and what their tools
// returned, without agents inside tools and without transfers.
func conversation(heard []*utterance) []*schema.Message {
	var out []*schema.Message
	for i, u := range heard {
		if ofConversation(heard, i) {
			out = append(out, u.message)
		}
	}
	return out
}

func ofConversation(heard []*utterance, i int) bool {
	m := heard[i].message
	return m != nil && said(m) && m.Role != schema.User && !transfers(m) && !insideTool(heard, i)
}

// transfers reports whether m only hands the conversation over to another agent.
func transfers(m *schema.Message) bool {
	if m.Role == schema.Tool {
		return m.ToolName == adk.TransferToAgentToolName
	}
	return m.Content == "" && len(m.ToolCalls) > 0 && !slices.ContainsFunc(m.ToolCalls, func(c schema.ToolCall) bool {
		return c.Function.Name != adk.TransferToAgentToolName
	})
}

// insideTool reports whether heard[i] comes from an agent that runs inside a tool
// of another. The path of such an agent looks like that of a sub-agent; but it
// speaks while an agent above it waits for a tool.
func insideTool(heard []*utterance, i int) bool {
	waiting := map[string]string{} // tool call id → path of the agent that waits
	for _, u := range heard[:i] {
		if u.message == nil || !above(u.path, heard[i].path) {
			continue
		}
		for _, c := range u.message.ToolCalls {
			waiting[c.ID] = ""
		}
		delete(waiting, u.message.ToolCallID)
	}
	if len(waiting) > 0 {
		return true
	}
	// In a resumed run the call was made before the interrupt: only its result is here.
	return slices.ContainsFunc(heard[i:], func(u *utterance) bool {
		return u.message != nil && u.message.Role == schema.Tool && above(u.path, heard[i].path) && !called(heard, u.message.ToolCallID)
	})
}

// called reports whether the tool call was made in this run.
func called(heard []*utterance, id string) bool {
	return slices.ContainsFunc(heard, func(u *utterance) bool {
		return u.message != nil && slices.ContainsFunc(u.message.ToolCalls, func(c schema.ToolCall) bool { return c.ID == id })
	})
}

// above reports whether the agent at path runs the one at below.
func above(path, below []string) bool {
	return len(path) < len(below) && slices.Equal(path, below[:len(path)])
}
