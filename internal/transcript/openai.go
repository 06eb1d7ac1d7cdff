// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// OpenAI returns a [*Violation] for a list of messages that OpenAI's chat
// completions refuse, or that Eino's client cannot send there.
//
// The order of calls and results: https://platform.openai.com/docs/guides/function-calling;
// the fields of each role: https://platform.openai.com/docs/api-reference/chat/create;
// what the API answers where that is broken:
// https://docs.langchain.com/oss/python/langchain/errors/INVALID_TOOL_RESULTS. Two
// messages may reuse an id, where all calls of the first are answered before the second.
func OpenAI(messages []*schema.Message) error {
	c := &openAI{}
	if len(messages) == 0 {
		return c.broken(0, RuleNone, "the list is empty")
	}
	for i, m := range messages {
		if err := c.message(i, m); err != nil {
			return err
		}
	}
	if err := c.settled(len(messages)); err != nil {
		return err
	}
	return nil
}

// openAI reads a list. calls are those of the last assistant message as long as
// only results followed, with whether they are answered.
type openAI struct{ calls map[string]bool }

func (c *openAI) broken(i int, r Rule, format string, args ...any) error {
	return &Violation{Provider: "OpenAI", Index: i, Rule: r, Detail: fmt.Sprintf(format, args...)}
}

func (c *openAI) message(i int, m *schema.Message) error {
	if m == nil {
		return c.broken(i, RuleNil, "nil")
	}
	if m.Role == schema.Tool {
		return c.result(i, m)
	}
	if err := c.settled(i); err != nil {
		return err
	}
	c.calls = nil
	switch m.Role {
	case schema.System, schema.User, schema.Assistant:
	default:
		return c.broken(i, RuleRole, "%q", m.Role)
	}
	if m.Role != schema.Assistant && len(m.ToolCalls) > 0 {
		return c.broken(i, RuleCaller, "%s", m.Role)
	}
	if err := c.content(i, m); err != nil {
		return err
	}
	return c.called(i, m)
}

// result checks the answer of a tool.
func (c *openAI) result(i int, m *schema.Message) error {
	answered, known := c.calls[m.ToolCallID]
	switch {
	case !known:
		return c.broken(i, RuleOrphan, "nothing right before calls %q", m.ToolCallID)
	case answered:
		return c.broken(i, RuleTwice, "%q", m.ToolCallID)
	}
	c.calls[m.ToolCallID] = true
	if err := partsOf(m, "OpenAI", i); err != nil {
		return err
	}
	return nil
}

func (c *openAI) settled(i int) error {
	for id, answered := range c.calls {
		if !answered {
			return c.broken(i, RuleUnanswered, "%q is not", id)
		}
	}
	return nil
}

func (c *openAI) content(i int, m *schema.Message) error {
	if err := partsOf(m, "OpenAI", i); err != nil {
		return err
	}
	if strings.TrimSpace(m.Content) == "" && !hasParts(m) && len(m.ToolCalls) == 0 {
		return c.broken(i, RuleContent, "%s says nothing", m.Role)
	}
	return nil
}

func (c *openAI) called(i int, m *schema.Message) error {
	if len(m.ToolCalls) == 0 {
		return nil
	}
	c.calls = make(map[string]bool)
	for _, call := range m.ToolCalls {
		if _, twice := c.calls[call.ID]; twice || call.ID == "" || call.Function.Name == "" {
			return c.broken(i, RuleCallID, "call %q of %q", call.ID, call.Function.Name)
		}
		c.calls[call.ID] = false
	}
	return nil
}
