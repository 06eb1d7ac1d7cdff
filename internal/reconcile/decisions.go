// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// node is what is decided about one memory, or a known memory that decisions are about.
// Nodes of one chain supersede each other in the order in which they were said.
type node struct {
	wanted backends.Outcome // added, superseded, retracted, unchanged or failed
	memory backends.Memory  // what is to be stored; for unchanged and failed what it is about
	target *node            // for superseded and retracted; for unchanged what says it, if it is known
	since  time.Time        // for retracted: since when it holds no more
	err    error            // for failed

	known *backends.Memory // for a known memory: as it was shown; in a batch as it is

	state
}

// stores reports whether an outcome is that of a memory that is stored.
func stores(o backends.Outcome) bool {
	return o == backends.OutcomeAdded || o == backends.OutcomeSuperseded
}

// about returns the memory of a node; nil for none.
func (n *node) about() *backends.Memory {
	switch {
	case n == nil:
		return nil
	case n.known != nil:
		return n.known
	}
	return &n.memory
}

// targets returns what the operations of the next answer may name, by their index: what is
// known, and what the answers before it learnt. They are returned as memories too.
func (c *Call) targets(known []*backends.Memory) (targets []*node, shown []*backends.Memory) {
	for _, m := range known {
		targets = append(targets, &node{known: m})
	}
	for _, n := range c.decisions {
		if stores(n.wanted) {
			targets = append(targets, n)
		}
	}
	for _, t := range targets {
		shown = append(shown, t.about())
	}
	return targets, shown
}

// decideAll carries out the operations of one answer. An index behind the targets names an
// entry of the answer itself.
func (c *Call) decideAll(ops []Operation, targets []*node, addOnly bool) {
	made := make([]*node, len(ops))
	for i := range ops {
		op := &ops[i]
		if addOnly {
			if op.Verb == Retract || op.Verb == Nothing {
				continue
			}
			op.Verb, op.Index = Add, None
		}
		var t *node
		switch {
		case op.Index >= len(targets):
			t = made[op.Index-len(targets)]
		case op.Index >= 0:
			t = targets[op.Index]
		}
		if n := c.carryOut(op, t); n != nil && stores(n.wanted) {
			made[i] = n
		} else if op.Verb == Nothing { // who refers to it means what it is about
			made[i] = t
		}
	}
}

// Decide carries out one operation on a known memory, which is nil for Add.
func (c *Call) Decide(op *Operation, known *backends.Memory) {
	if known == nil {
		c.carryOut(op, nil)
		return
	}
	c.carryOut(op, &node{known: known})
}

// carryOut turns an operation into a decision; nil where it does nothing.
func (c *Call) carryOut(op *Operation, t *node) *node {
	on := t.about()
	n := &node{wanted: backends.OutcomeAdded}
	switch {
	case op.Verb == Retract && on == nil, op.Verb == Nothing && on == nil && op.Text == "":
		return nil
	case op.Verb == Retract:
		said := c.statement(op) // when it was said, it held no more
		n.wanted, n.target, n.since, n.memory = backends.OutcomeRetracted, t, Since(&said), on.Clone()
		n.memory.Observed = said.Observed
	case op.Verb == Nothing && on != nil:
		n.wanted, n.target, n.memory = backends.OutcomeUnchanged, t, on.Clone()
	case op.Verb == Nothing:
		n.wanted, n.memory = backends.OutcomeUnchanged, c.statement(op)
	default:
		n.memory = c.statement(op)
		if op.Verb == Supersede && on != nil {
			n.wanted, n.target = backends.OutcomeSuperseded, t
		}
	}
	c.decisions = append(c.decisions, n)
	return n
}

// Add decides that a memory is stored, unless it is known.
func (c *Call) Add(m backends.Memory) {
	c.decisions = append(c.decisions, &node{wanted: backends.OutcomeAdded, memory: m})
}

// Memory returns what every memory of the call has in common.
func (c *Call) Memory(kind backends.Kind, text string) backends.Memory {
	metadata, _ := backends.CloneJSON(c.metadata).(map[string]any)
	return backends.Memory{
		Kind: kind, Text: text, Scope: c.Scope, Metadata: metadata, Expires: c.Expires,
		Observed: c.Now, Origin: backends.Origin{Session: c.Scope.SessionID},
	}
}

// Verbatim returns a message as a memory. author is who writes it down, unless the request
// names one.
func (c *Call) Verbatim(kind backends.Kind, u *Utterance, author string) backends.Memory {
	m := c.Memory(kind, u.Text)
	m.Observed = u.Time
	m.Origin = backends.Origin{
		Session: c.Scope.SessionID, Turn: u.Turn, MessageIDs: []string{u.ID}, Role: u.Role, Speaker: u.Speaker, Author: cmp.Or(c.Author, author),
	}
	return m
}

// statement returns what an operation says, with where it comes from: the messages that the
// answer names, else all of those that its speaker said.
func (c *Call) statement(op *Operation) backends.Memory {
	m := c.Memory(c.engine.Kind, c.engine.Keeper.Redact(op.Text))
	m.Origin.Author, m.Origin.Role = cmp.Or(c.Author, c.engine.Author), op.SaidBy
	var from []*Utterance
	for _, n := range op.Messages {
		from = append(from, c.from[n])
	}
	for _, u := range c.from {
		if len(op.Messages) == 0 && (op.SaidBy == "" || u.Role == op.SaidBy) {
			from = append(from, u)
		}
	}
	if len(from) == 0 { // its speaker says nothing in these messages
		from = c.from
	}
	for i, u := range from {
		if i == 0 || u.Time.After(m.Observed) {
			m.Observed = u.Time
		}
		if i == 0 {
			m.Origin.Turn = u.Turn
			if m.Origin.Role == "" {
				m.Origin.Role = u.Role
			}
		}
		m.Origin.MessageIDs = append(m.Origin.MessageIDs, u.ID)
		if u.Speaker != "" && u.Role == m.Origin.Role && m.Origin.Speaker == "" {
			m.Origin.Speaker = u.Speaker
		}
	}
	c.engine.Complete(&m, op)
	return m
}

const (
	queriesPerCall = 12  // searches for one question, beside the one for all its messages
	queryBytes     = 600 // of a message that are searched with
)

// statements returns what holds about the subject, of the engine's kind. The memories
// belong to the ranker.
func (c *Call) statements(ctx context.Context) ([]*backends.Memory, error) {
	all, err := c.engine.Keeper.All(ctx, c.Partition)
	if err != nil {
		return nil, err
	}
	var out []*backends.Memory
	for _, m := range all {
		if c.states(m) {
			out = append(out, m)
		}
	}
	return out, nil
}

// states reports whether a memory is a statement about the subject that holds now.
func (c *Call) states(m *backends.Memory) bool {
	return m.Kind == c.engine.Kind && m.Active() && !m.Expired(c.Now) && c.about(m)
}

// Candidates returns the statements that the texts may be about, at most n: in turn the
// best of each search with one of the texts or with all of them together, so that none is
// drowned by many that are alike; ByTime also those that were said on the days of the
// messages or stored today. The newest fill the places that are left, because what changes
// a statement may share no word with it.
func (c *Call) Candidates(ctx context.Context, texts []string, n int) ([]*backends.Memory, error) {
	known, err := c.statements(ctx)
	if err != nil {
		return nil, err
	}
	if c.seen == nil {
		c.seen = make(map[string]bool, len(known))
		for _, m := range known {
			c.seen[m.ID] = true
		}
	}
	slices.SortStableFunc(known, func(a, b *backends.Memory) int { return b.Updated.Compare(a.Updated) })
	var lists [][]*backends.Memory
	if len(known) > n {
		if lists, err = c.searches(ctx, texts, n); err != nil {
			return nil, err
		}
		if c.engine.ByTime {
			lists = append(lists, c.ofTheDays(known))
		}
	}
	return inTurn(n, lists, known), nil
}

// searches returns what is found by the texts, a list each.
func (c *Call) searches(ctx context.Context, texts []string, n int) ([][]*backends.Memory, error) {
	var queries []string
	for _, t := range texts[max(0, len(texts)-queriesPerCall):] {
		queries = append(queries, text.TruncateBytes(t, queryBytes))
	}
	if len(queries) > 1 {
		queries = append(queries, text.TruncateBytes(strings.Join(queries, "\n"), 4*queryBytes))
	}
	lists := make([][]*backends.Memory, len(queries))
	for i, q := range queries {
		resp, err := c.engine.Keeper.Search(ctx, c.Partition, &backends.SearchRequest{
			Scope: c.Scope, Query: q, TopK: n, Kinds: []backends.Kind{c.engine.Kind}, Filter: c.About,
		})
		if err != nil {
			return nil, err
		}
		if c.engine.Keeper.Embeds() {
			c.Run.Embedded(1)
		}
		for k := range resp.Hits {
			lists[i] = append(lists[i], &resp.Hits[k].Memory)
		}
	}
	return lists, nil
}

// ofTheDays returns the statements that were said on the days of the messages, or stored
// today, in their order.
func (c *Call) ofTheDays(known []*backends.Memory) []*backends.Memory {
	day := func(t time.Time) string { return t.In(c.engine.Location).Format(time.DateOnly) }
	days := map[string]bool{}
	for _, u := range c.said {
		days[day(u.Time)] = true
	}
	var out []*backends.Memory
	for _, m := range known {
		if days[day(m.Observed)] || day(m.Created) == day(c.Now) {
			out = append(out, m)
		}
	}
	return out
}

// inTurn returns the first n memories of the lists: the first of each, the second of each,
// and so on, and then the rest. Each is there once, as a copy that lasts while the store
// changes.
func inTurn(n int, lists [][]*backends.Memory, rest []*backends.Memory) []*backends.Memory {
	var out []*backends.Memory
	seen := map[string]bool{}
	add := func(m *backends.Memory) {
		if len(out) < n && !seen[m.ID] {
			seen[m.ID] = true
			copied := m.Clone()
			out = append(out, &copied)
		}
	}
	for place := range n {
		for _, list := range lists {
			if place < len(list) {
				add(list[place])
			}
		}
	}
	for _, m := range rest {
		add(m)
	}
	return out
}
