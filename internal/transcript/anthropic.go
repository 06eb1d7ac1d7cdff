// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// Anthropic returns a [*Violation] for a list of messages that Anthropic's
// messages API refuses after the usual conversion: system messages become the
// system prompt, results of tools become blocks of a user's message, and
// neighbours of one role become one message.
//
// Results right after the calls, and first in their message:
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls;
// roles and blocks: https://platform.claude.com/docs/en/api/messages. A call's id
// must be unique in its message only: clients give ids that are unique everywhere
// where a provider wants that.
func Anthropic(messages []*schema.Message) error {
	turns, err := converse(messages)
	if err != nil {
		return err
	}
	if len(turns) == 0 {
		return anthropicBreaks(0, RuleNone, "nothing beside the system prompt")
	}
	if turns[0].role != schema.User {
		return anthropicBreaks(turns[0].blocks[0].index, RuleFirst, "%s does", turns[0].role)
	}
	var before *turn
	for i := range turns {
		if err := turns[i].check(before, len(messages)); err != nil {
			return err
		}
		before = &turns[i]
	}
	return before.unanswered(nil, len(messages))
}

func anthropicBreaks(i int, r Rule, format string, args ...any) error {
	return &Violation{Provider: "Anthropic", Index: i, Rule: r, Detail: fmt.Sprintf(format, args...)}
}

// turn is what one side says until the other does.
type turn struct {
	role   schema.RoleType
	blocks []block
}

// block is a part of a turn: a call, a result, or something said.
type block struct {
	index        int    // of the message it comes from
	call, result string // the id
}

// converse does the conversion.
func converse(messages []*schema.Message) ([]turn, error) {
	var turns []turn
	for i, m := range messages {
		if m == nil {
			return nil, anthropicBreaks(i, RuleNil, "nil")
		}
		role := m.Role
		switch role {
		case schema.System:
			if strings.TrimSpace(m.Content) == "" && !hasParts(m) {
				return nil, anthropicBreaks(i, RuleText, "the system prompt")
			}
			continue
		case schema.Tool:
			role = schema.User
		case schema.User, schema.Assistant:
		default:
			return nil, anthropicBreaks(i, RuleRole, "%q", role)
		}
		blocks, err := blocksOf(i, m)
		if err != nil {
			return nil, err
		}
		if n := len(turns); n > 0 && turns[n-1].role == role {
			turns[n-1].blocks = append(turns[n-1].blocks, blocks...)
		} else {
			turns = append(turns, turn{role: role, blocks: blocks})
		}
	}
	return turns, nil
}

func blocksOf(i int, m *schema.Message) ([]block, error) {
	if err := partsOf(m, "Anthropic", i); err != nil {
		return nil, err
	}
	if m.Role == schema.Tool {
		return []block{{index: i, result: m.ToolCallID}}, nil
	}
	var out []block
	switch {
	case hasParts(m), strings.TrimSpace(m.Content) != "":
		out = append(out, block{index: i})
	case m.Content != "":
		return nil, anthropicBreaks(i, RuleText, "%q", m.Content)
	}
	for _, c := range m.ToolCalls {
		if m.Role != schema.Assistant {
			return nil, anthropicBreaks(i, RuleCaller, "%s", m.Role)
		}
		if c.ID == "" || c.Function.Name == "" {
			return nil, anthropicBreaks(i, RuleCallID, "call %q of %q", c.ID, c.Function.Name)
		}
		out = append(out, block{index: i, call: c.ID})
	}
	if len(out) == 0 {
		return nil, anthropicBreaks(i, RuleContent, "%s says nothing", m.Role)
	}
	return out, nil
}

// check compares a turn with the one before it.
func (t *turn) check(before *turn, end int) error {
	calls := make(map[string]bool)
	for _, b := range t.blocks {
		if b.call != "" && calls[b.call] {
			return anthropicBreaks(b.index, RuleCallID, "%q twice", b.call)
		}
		calls[b.call] = true
	}
	if err := t.results(before); err != nil {
		return err
	}
	if before == nil {
		return nil
	}
	return before.unanswered(t, end)
}

// results checks the answers of tools: of the calls of the turn before, each once,
// and in front of what else is said.
func (t *turn) results(before *turn) error {
	open := make(map[string]int)
	if before != nil {
		for _, b := range before.blocks {
			if b.call != "" {
				open[b.call] = 1
			}
		}
	}
	said := false
	for _, b := range t.blocks {
		if b.result == "" && b.call == "" {
			said = true
		}
		if b.result == "" {
			continue
		}
		switch n, known := open[b.result]; {
		case !known:
			return anthropicBreaks(b.index, RuleOrphan, "%q", b.result)
		case n == 0:
			return anthropicBreaks(b.index, RuleTwice, "%q", b.result)
		case said:
			return anthropicBreaks(b.index, RuleOrder, "%q comes behind something that was said", b.result)
		}
		open[b.result] = 0
	}
	return nil
}

// unanswered looks for calls that the next turn does not answer.
func (t *turn) unanswered(next *turn, end int) error {
	answered, at := make(map[string]bool), end
	if next != nil {
		at = next.blocks[0].index
		for _, b := range next.blocks {
			answered[b.result] = true
		}
	}
	for _, b := range t.blocks {
		if b.call != "" && !answered[b.call] {
			return anthropicBreaks(at, RuleUnanswered, "%q is not", b.call)
		}
	}
	return nil
}
