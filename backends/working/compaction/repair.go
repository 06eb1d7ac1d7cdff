// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// repair returns messages as a list that providers take: every assistant's call is
// followed at once by exactly one result, no result stands alone, no message is nil
// or empty or has both a content and parts, every role is known, nobody else calls,
// and the user begins. Which parts fit which role is left as it is. Messages about
// which nothing is wrong are the same pointers; no word is lost. Repairing twice
// changes nothing.
func repair(in []*schema.Message, lang Language) []*schema.Message {
	p := &pairing{text: phrases(lang), open: make(map[string][]slot), closed: make(map[string]slot), results: make(map[slot]int)}
	for _, m := range in {
		if m = p.mend(m); m != nil {
			p.messages = append(p.messages, m)
		}
	}
	p.taken = make([]bool, len(p.messages))
	for i, m := range p.messages {
		p.match(i, m)
	}
	return p.begin(p.ordered())
}

// slot is one call: that of message, the nth.
type slot struct{ message, nth int }

// pairing finds the result of every call.
type pairing struct {
	text     *phrasebook
	messages []*schema.Message
	open     map[string][]slot // calls without a result, by id, in order
	closed   map[string]slot   // the last call that got one
	results  map[slot]int
	taken    []bool // messages that are the result of a call
}

// match notes the calls of message i, or finds the call that it answers: the
// nearest before it that has no result yet, since providers reuse ids.
func (p *pairing) match(i int, m *schema.Message) {
	for n := range m.ToolCalls {
		id := m.ToolCalls[n].ID
		p.open[id] = append(p.open[id], slot{i, n})
	}
	if m.Role != schema.Tool {
		return
	}
	s, ok := p.take(m.ToolCallID)
	if !ok {
		// A turn that was interrupted and resumed: the real result comes late.
		if s, ok = p.closed[m.ToolCallID]; !ok || !einox.IsNote(p.messages[p.results[s]]) {
			return
		}
	}
	p.results[s], p.taken[i], p.closed[m.ToolCallID] = i, true, s
}

// take returns the call of that id that is answered next: the first in the last
// message that has one.
func (p *pairing) take(id string) (slot, bool) {
	open := p.open[id]
	if len(open) == 0 {
		return slot{}, false
	}
	at := len(open) - 1
	for at > 0 && open[at-1].message == open[at].message {
		at--
	}
	s := open[at]
	p.open[id] = slices.Delete(open, at, at+1)
	return s, true
}

// ordered returns the messages with each result behind its call.
func (p *pairing) ordered() []*schema.Message {
	out := make([]*schema.Message, 0, len(p.messages)+1)
	for i, m := range p.messages {
		switch {
		case p.taken[i]:
		case m.Role == schema.Tool:
			out = append(out, p.orphan(m))
		case len(m.ToolCalls) > 0:
			out = p.exchange(out, i, m)
		default:
			out = append(out, m)
		}
	}
	return out
}

// exchange appends an assistant's message, the results of its calls in the order
// in which they came, and one for each call that has none.
func (p *pairing) exchange(out []*schema.Message, i int, m *schema.Message) []*schema.Message {
	ids := uniqueIDs(m.ToolCalls)
	out = append(out, withIDs(m, ids))
	answered := make([]slot, 0, len(ids))
	for n := range ids {
		if at, ok := p.results[slot{i, n}]; ok {
			answered = append(answered, slot{at, n})
		}
	}
	slices.SortFunc(answered, func(a, b slot) int { return a.message - b.message })
	for _, s := range answered {
		out = append(out, withCallID(p.messages[s.message], ids[s.nth]))
	}
	for n := range ids {
		if _, ok := p.results[slot{i, n}]; !ok {
			out = append(out, p.missing(&m.ToolCalls[n], ids[n]))
		}
	}
	return out
}

// begin puts a notice in front of a conversation that the user does not begin.
func (p *pairing) begin(out []*schema.Message) []*schema.Message {
	first := slices.IndexFunc(out, func(m *schema.Message) bool { return m.Role != schema.System })
	if first < 0 || out[first].Role == schema.User {
		return out
	}
	return slices.Insert(out, first, notice(p.text.begins))
}

// uniqueIDs returns the ids under which calls of one message are answered: their
// own, where they have one that no other has.
func uniqueIDs(calls []schema.ToolCall) []string {
	ids, seen := make([]string, len(calls)), make(map[string]bool, len(calls))
	for n := range calls {
		seen[calls[n].ID] = true
	}
	used := make(map[string]bool, len(calls))
	for n := range calls {
		id := calls[n].ID
		for k := n + 1; id == "" || used[id]; k++ {
			if id = numbered(calls[n].ID, k); seen[id] {
				id = ""
			}
		}
		ids[n], used[id] = id, true
	}
	return ids
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// notice returns a message of memory's own.
func notice(text string) *schema.Message {
	m := schema.UserMessage(text)
	einox.MarkSummary(m)
	return m
}
