// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/text"
)

// node is a decision about one memory, or a known memory that decisions are about. Nodes
// of one chain supersede each other in the order in which they were said.
type node struct {
	wanted backends.Outcome // added, superseded, retracted, deleted, unchanged, failed or skipped
	memory backends.Memory  // the memory to store; for the last three its subject
	target *node            // for superseded and retracted; for unchanged the known node that says it
	since  time.Time        // for retracted: when it ended
	err    error            // for failed and skipped
	from   []*Utterance     // of an operation: the messages behind it
	gone   bool             // for deleted: it is done

	known *backends.Memory // for a known memory: as it was shown; in a batch as it is

	state
}

// stores reports whether a memory with this outcome is stored.
func stores(o backends.Outcome) bool {
	return o == backends.OutcomeAdded || o == backends.OutcomeSuperseded
}

// about returns the memory of a node, or nil.
func (n *node) about() *backends.Memory {
	switch {
	case n == nil:
		return nil
	case n.known != nil:
		return n.known
	}
	return &n.memory
}

// writes reports whether the batch writes the memory of a decision.
func (n *node) writes() bool { return n.known == nil && stores(n.outcome) }

// said returns the node that says the same as this one.
func (n *node) said() *node {
	for n.same != nil {
		n = n.same
	}
	return n
}

// active reports whether a node was still active before the batch.
func (n *node) active() bool { return n.known == nil || n.known.Active() }

// holds reports whether a node has no end, and was said at or before at.
func (n *node) holds(at time.Time) bool {
	n = n.said()
	return n.active() && n.next == nil && n.ended.IsZero() && !at.Before(n.at)
}

// join puts n into the chain of t, by the time when it was said. If t already has a
// successor of the same time, n stands beside it.
func (n *node) join(t *node) {
	for t.next != nil && t.next.at.Before(n.at) {
		t = t.next
	}
	for t.prev != nil && n.at.Before(t.at) {
		t = t.prev
	}
	switch {
	case n.at.Before(t.at):
		n.next, t.prev = t, n
	case t.next == nil:
		n.prev, t.next = t, n
	case n.at.Before(t.next.at):
		n.prev, n.next = t, t.next
		t.next.prev, t.next = n, n
	}
}

// end carries out a retraction, and reports whether it had an effect. It has none on a
// node that was superseded, retracted or said later.
func (n *node) end() bool {
	if !n.on.holds(n.at) {
		n.outcome = backends.OutcomeUnchanged
		return false
	}
	n.on = n.on.said()
	if n.until.IsZero() {
		n.until = n.memory.Observed
	}
	n.on.ended = n.until
	return true
}

// stored returns the memory that a node stands for.
func (n *node) stored() *backends.Memory {
	if n.record != nil {
		return &n.record.Memory
	}
	return n.about()
}

// after returns the memory of a node as it is after the batch.
func (n *node) after(version int64) backends.Memory {
	m := n.stored().Clone()
	if n.record != nil {
		m.Version = version
		if n.prev != nil {
			m.Supersedes = n.prev.stored().ID
		}
	}
	if n.next != nil && n.next.record != nil {
		m.SupersededBy, m.Invalidated, m.Version = n.next.record.ID, n.next.stored().Since(), version
	}
	if !n.ended.IsZero() {
		m.Invalidated, m.Version = n.ended, version
	}
	return m
}

// targets returns the nodes that the operations of the next answer may name, by their
// index: known statements, and the lessons of the answers before it. They are returned as
// memories too.
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
func (c *Call) decideAll(ops []Operation, targets []*node) {
	made := make([]*node, len(ops))
	for i := range ops {
		op := &ops[i]
		var t *node
		switch {
		case op.Index >= len(targets):
			t = made[op.Index-len(targets)]
		case op.Index >= 0:
			t = targets[op.Index]
		}
		if n := c.carryOut(op, t); n != nil && stores(n.wanted) {
			made[i] = n
		} else if op.Verb == Nothing { // a reference to it means its target
			made[i] = t
		}
	}
}

// carryOut turns an operation into a decision, or into nil if it has no effect.
func (c *Call) carryOut(op *Operation, t *node) *node {
	on := t.about()
	switch turn := on != nil && on.Kind != c.engine.Kind; {
	case op.Verb == Forget, turn && op.Verb == Retract:
		return c.forgets(op, t)
	case turn: // an episode stays as it was said
		op.Verb, t, on = Add, nil, nil
	}
	if c.repeats(op) {
		return nil
	}
	n := &node{wanted: backends.OutcomeAdded, from: op.from}
	switch {
	case c.Author == backends.AuthorAgent && op.Verb == Add && len(op.from) > 1: // notes stay apart: see KeepNotes
		return nil
	case op.Verb == Retract && on == nil, op.Verb == Nothing && on == nil && op.Text == "":
		return nil
	case op.Verb == Retract:
		said := c.statement(op) // its end is the time when this was said
		n.wanted, n.target, n.since, n.memory = backends.OutcomeRetracted, t, said.Since(), on.Clone()
		n.memory.Observed, n.memory.Origin = said.Observed, said.Origin
	case op.Verb == Nothing && on != nil:
		n.wanted, n.target, n.memory = backends.OutcomeUnchanged, t, on.Clone()
	case op.Verb == Nothing:
		n.wanted, n.memory = backends.OutcomeUnchanged, c.statement(op)
	case planted(op.Text, op.from):
		n.wanted, n.memory, n.err = backends.OutcomeSkipped, c.statement(op), c.engine.errorf("%q: %w", text.Line(op.Text, 80), errPlanted)
	case op.Verb == Supersede && on != nil:
		op.Entities = slices.Concat(op.Entities, stillNamed(on, op.Text))
		n.wanted, n.target, n.memory = backends.OutcomeSuperseded, t, c.statement(op)
		if op.Since.IsZero() && slices.ContainsFunc(op.from, func(u *Utterance) bool { return len(u.Text) < longMessage && speech.Corrects(u.Text) }) {
			n.memory.Valid = on.Since() // a corrected statement was never true
		}
	default:
		n.memory = c.statement(op)
	}
	c.decisions = append(c.decisions, n)
	return n
}

// Add decides to store a memory, unless it is known.
func (c *Call) Add(m backends.Memory) {
	c.decisions = append(c.decisions, &node{wanted: backends.OutcomeAdded, memory: m})
}

// KeepNotes decides to keep an agent's notes, each message by itself and as it is. A message
// with a decision of its own is left out.
func (c *Call) KeepNotes() {
	for _, u := range c.said {
		about := func(n *node) bool { return len(n.from) == 1 && n.from[0] == u }
		if c.Author == backends.AuthorAgent && !slices.ContainsFunc(c.decisions, about) {
			m := c.Verbatim(c.engine.Kind, u, c.Author)
			_ = c.engine.Complete(&m, &Operation{}) // the empty operation adds nothing
			c.Add(m)
		}
	}
}

// Memory returns a memory with the common fields of the call.
func (c *Call) Memory(kind backends.Kind, text string) backends.Memory {
	m := backends.Memory{
		Kind: kind, Text: text, Scope: c.Scope, Metadata: c.metadata, Expires: c.Expires,
		Observed: c.Now, Origin: backends.Origin{Session: c.Scope.SessionID},
	}
	return m.Clone()
}

// Verbatim returns a message as a memory. author is the writer, unless the request names one.
func (c *Call) Verbatim(kind backends.Kind, u *Utterance, author string) backends.Memory {
	m := c.Memory(kind, u.Text)
	m.Observed = u.Time
	m.Origin = backends.Origin{
		Session: c.Scope.SessionID, Turn: u.Turn, MessageIDs: []string{u.ID}, Role: u.Role, Speaker: u.Speaker, Author: cmp.Or(c.Author, author),
	}
	m.Origin.Source = u.source
	m.Standing = c.stands(&m)
	c.refer(&m, u)
	return m
}

// refer notes the pictures, sounds and files that were put into words.
func (c *Call) refer(m *backends.Memory, u *Utterance) {
	if len(u.media) == 0 {
		return
	}
	list, _ := m.Metadata[backends.MetaMedia].([]any)
	for _, of := range u.media {
		list = append(list, c.engine.Keeper.Redact(of))
	}
	keeper.SetMeta(m, backends.MetaMedia, list)
}

// statement returns the statement of an operation, with its origin: the messages that the
// answer names, else all of the question. They decide who said it. The answer's own claim
// counts only where it names messages of both.
func (c *Call) statement(op *Operation) backends.Memory {
	m := c.Memory(c.engine.Kind, c.engine.Keeper.Redact(op.Text))
	m.Origin.Author = cmp.Or(c.Author, c.engine.Author)
	m.Origin.Role = shared(op.from, func(u *Utterance) string { return u.Role })
	if m.Origin.Role == "" && len(op.Messages) > 0 {
		m.Origin.Role = op.SaidBy
	}
	for i, u := range op.from {
		if i == 0 {
			m.Origin.Turn = u.Turn
		}
		if i == 0 || u.Time.After(m.Observed) {
			m.Observed = u.Time
		}
		m.Origin.MessageIDs = append(m.Origin.MessageIDs, u.ID)
		c.refer(&m, u)
	}
	trace(&m, op.from)
	speakers := slices.DeleteFunc(slices.Clone(op.from), func(u *Utterance) bool { return u.Role != m.Origin.Role })
	m.Origin.Speaker = shared(speakers, func(u *Utterance) string { return u.Speaker })
	if err := c.engine.Complete(&m, op); err != nil && len(op.from) > 0 {
		c.Skip(op.from[0], op.Text, err)
	}
	c.name(&m, op.Entities)
	remark := m.Origin.Role == string(schema.Assistant) && m.Origin.Author != backends.AuthorAgent // a remark of an assistant never becomes standing
	ordered := len(op.from) == 0 || slices.ContainsFunc(op.from, func(u *Utterance) bool { return speech.Standing(u.Text) })
	m.Delicate, m.Standing = op.Delicate, op.Standing && !remark || !op.Delicate && ordered && c.stands(&m)
	if about := c.about(op.About); about != "" {
		m.WhenToUse = about
	}
	return m
}

// stands reports whether the rules of package speech take a memory for a standing one. Only the
// words of a user or of a program can stand.
func (c *Call) stands(m *backends.Memory) bool {
	return m.Origin.Role != string(schema.Assistant) && m.Origin.Source == "" && speech.Standing(m.Text)
}

const (
	maxAbout = 8  // words that a statement is about
	maxWord  = 40 // bytes of each of them
)

// about returns the words by which people would ask for a statement, as they are stored.
func (c *Call) about(words []string) string {
	var out []string
	for _, w := range strings.FieldsFunc(c.engine.Keeper.Redact(text.Clean(strings.Join(words, ","))), func(r rune) bool { return strings.ContainsRune(",，、;；\n", r) }) {
		if w = strings.TrimSpace(w); text.HasWords(w) && len(w) <= maxWord && len(out) < maxAbout && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return strings.Join(out, ", ")
}

const (
	maxEntities = 16  // that a model may name in one statement
	maxName     = 200 // bytes of each of them
)

// name notes the entities of a statement, beside the ones in the request. A value of
// another type in the request stays as it is.
func (c *Call) name(m *backends.Memory, entities []string) {
	given, list, seen := m.Entities(), []any{}, map[string]bool{}
	for _, name := range append(given, entities[:min(len(entities), maxEntities)]...) {
		name = strings.TrimSpace(c.engine.Keeper.Redact(name))
		key, role := text.Fold(name), RoleOf(strings.TrimPrefix(strings.ToLower(name), "the "))
		if text.HasWords(name) && len(name) <= maxName && role != string(schema.User) && !seen[key] {
			seen[key] = true
			list = append(list, name)
		}
	}
	if len(list) == 0 || len(given) == 0 && m.Metadata[backends.MetaEntities] != nil {
		return
	}
	keeper.SetMeta(m, backends.MetaEntities, list)
}

// stillNamed returns the names of a memory that its successor's text still has.
func stillNamed(m *backends.Memory, by string) []string {
	by = text.Fold(by)
	return slices.DeleteFunc(m.Entities(), func(name string) bool { return !strings.Contains(by, text.Fold(name)) })
}

// shared returns the common value of all messages; empty where they differ.
func shared(said []*Utterance, of func(*Utterance) string) (value string) {
	for i, u := range said {
		if i > 0 && of(u) != value {
			return ""
		}
		value = of(u)
	}
	return value
}
