// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package demomodel

import (
	"encoding/json"
	"slices"

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
		if m != nil && m.Role == schema.User && !isNote(m) && einox.Text(m) != "" {
			asked = i
		}
	}
	if asked < 0 {
		return c
	}
	c.said = einox.Text(in[asked])
	for i, m := range in {
		switch {
		case m == nil:
		case isNote(m) || m.Role == schema.Tool && i > asked:
			c.evidence = append(c.evidence, fromBullets(einox.Text(m))...)
			c.told = c.told || m.Role == schema.Tool
		case m.Role == schema.User && i <= asked:
			// Later than every memory, in the order of the conversation.
			c.evidence = append(c.evidence, fromText(einox.Text(m), "9999")...)
		}
	}
	for i := range c.evidence {
		c.evidence[i].order = i
	}
	return c
}

func isNote(m *schema.Message) bool { return einox.IsNote(m) || m.Name == "memory" }

// toolCall is the call that a turn begins with: search for a question that nothing
// at hand answers, or that asks how things are now in words that the latest news
// need not have; and add for a statement if the model takes notes. There is one in
// a turn.
func (c *conversation) toolCall(offered []*schema.ToolInfo, notes bool) *schema.ToolCall {
	if c.told {
		return nil
	}
	open := slices.DeleteFunc(questions(c.said), func(text string) bool {
		q := parseQuestion(text)
		return len(c.find(q)) > 0 && !q.changeable()
	})
	var name string
	var arguments map[string]any
	switch {
	case len(open) > 0:
		name, arguments = "search_memory", map[string]any{"keywords": keywords(open), "limit": searchLimit}
	case notes && len(questions(c.said)) == 0:
		name, arguments = "add_memory", map[string]any{"thinking": "the user said so", "content": []string{c.said}}
	default:
		return nil
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

// changeable reports whether other words than the question's tell of a change: who
// moved lives elsewhere.
func (q *question) changeable() bool {
	return slices.ContainsFunc(q.terms, func(t term) bool {
		return slices.ContainsFunc(synonyms[t.forms[0]], func(w string) bool { return changes(clause{tokens: tokenize(w)}) })
	})
}

// searchLimit is high, because questions that were asked before are found too.
const (
	maxKeywords = 10
	searchLimit = 30
)

// keywords are the words that a question asks about, and those related to them.
func keywords(asked []string) []string {
	var own, others []string
	for _, q := range asked {
		for _, t := range parseQuestion(q).terms {
			own = append(own, t.shown)
			others = append(others, synonyms[t.forms[0]]...)
		}
	}
	if len(own) == 0 {
		return asked
	}
	var out []string
	for _, w := range append(own, others...) {
		if !slices.Contains(out, w) && len(out) < maxKeywords {
			out = append(out, w)
		}
	}
	return out
}
