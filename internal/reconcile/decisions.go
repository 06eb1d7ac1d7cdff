// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"time"

	"github.com/einomem/einomem/backends"
)

// decision is what is to become of one memory.
type decision struct {
	outcome backends.Outcome // added, superseded, retracted, unchanged or failed
	memory  backends.Memory  // what is to be stored; for unchanged and failed what it is about
	target  target           // for superseded and retracted; for unchanged what says it
	until   time.Time        // for retracted: since when it holds no more
	err     error            // for failed
}

// stores reports whether the memory is to be stored.
func (d *decision) stores() bool {
	return d.outcome == backends.OutcomeAdded || d.outcome == backends.OutcomeSuperseded
}

// target is what a decision supersedes or retracts: a known memory, as it was shown, or
// what another decision of the call stores. The zero value is none.
type target struct {
	known *backends.Memory
	other *decision
}

func (t target) memory() *backends.Memory {
	if t.other != nil {
		return &t.other.memory
	}
	return t.known
}

// targets returns what the operations of the next answer may name, by their index: what is
// known, and what the answers before it learnt.
func (c *Call) targets(known []*backends.Memory) []target {
	var out []target
	for _, m := range known {
		out = append(out, target{known: m})
	}
	for _, d := range c.decisions {
		if d.stores() {
			out = append(out, target{other: d})
		}
	}
	return out
}

func memoriesOf(targets []target) []*backends.Memory {
	out := make([]*backends.Memory, len(targets))
	for i, t := range targets {
		out[i] = t.memory()
	}
	return out
}

// decideAll carries out the operations of one answer. An index behind the targets names an
// entry of the answer itself.
func (c *Call) decideAll(ops []Operation, targets []target, addOnly bool) {
	made := make([]target, len(ops))
	for i := range ops {
		op := &ops[i]
		if addOnly {
			if op.Verb == Retract || op.Verb == Nothing {
				continue
			}
			op.Verb, op.Index = Add, None
		}
		var t target
		switch {
		case op.Index >= len(targets):
			t = made[op.Index-len(targets)]
		case op.Index >= 0:
			t = targets[op.Index]
		}
		if d := c.carryOut(op, t); d != nil && d.stores() {
			made[i].other = d
		} else if op.Verb == Nothing { // who refers to it means what it is about
			made[i] = t
		}
	}
}

// Decide carries out one operation on a known memory, which is nil for Add.
func (c *Call) Decide(op *Operation, known *backends.Memory) { c.carryOut(op, target{known: known}) }

// carryOut turns an operation into a decision; nil where it does nothing.
func (c *Call) carryOut(op *Operation, t target) *decision {
	on := t.memory()
	d := &decision{outcome: backends.OutcomeAdded}
	switch {
	case op.Verb == Retract && on == nil, op.Verb == Nothing && on == nil && op.Text == "":
		return nil
	case op.Verb == Retract:
		said := c.statement(op) // when it was said, it held no more
		d.outcome, d.target, d.until, d.memory = backends.OutcomeRetracted, t, Since(&said), on.Clone()
		d.memory.Observed = said.Observed
	case op.Verb == Nothing && on != nil:
		d.outcome, d.target, d.memory = backends.OutcomeUnchanged, t, on.Clone()
	case op.Verb == Nothing:
		d.outcome, d.memory = backends.OutcomeUnchanged, c.statement(op)
	default:
		d.memory = c.statement(op)
		if op.Verb == Supersede && on != nil {
			d.outcome, d.target = backends.OutcomeSuperseded, t
		}
	}
	c.decisions = append(c.decisions, d)
	return d
}

// Add decides that a memory is stored, unless it is known.
func (c *Call) Add(m backends.Memory) {
	c.decisions = append(c.decisions, &decision{outcome: backends.OutcomeAdded, memory: m})
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
		Session: c.Scope.SessionID, Turn: u.Turn, MessageIDs: []string{u.ID}, Role: u.Role, Speaker: u.Speaker, Author: c.author(author),
	}
	return m
}

// statement returns what an operation says, with where it comes from: the messages that the
// answer names, else all of those that its speaker said.
func (c *Call) statement(op *Operation) backends.Memory {
	m := c.Memory(c.engine.Kind, c.engine.Keeper.Redact(op.Text))
	m.Origin.Author, m.Origin.Role = c.author(c.engine.Author), op.SaidBy
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
