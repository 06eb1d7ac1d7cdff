// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

// MostChanges is how many known statements one message may end without Config.Confirm, by
// superseding or retracting them. All notes of an agent in a turn count as one message. Its
// earlier calls count with the statements that they superseded.
const MostChanges = 3

// ends returns the known statement that a decision ends, or nil.
func (n *node) ends() *backends.Memory {
	switch {
	case n.outcome == backends.OutcomeSuperseded && n.writes() && n.prev != nil:
		return n.prev.known
	case n.outcome == backends.OutcomeRetracted && n.on.holds(n.at):
		return n.on.said().known
	}
	return nil
}

// budget counts the statements that the messages of a call end.
type budget map[*Utterance]int

// spend reports whether a message behind a decision has ended enough. Else the decision
// counts for each of them.
func (s budget) spend(b *batch, n *node) (over bool) {
	from := n.from
	if b.call.Author == backends.AuthorAgent {
		from = []*Utterance{nil}
	}
	if slices.ContainsFunc(from, func(u *Utterance) bool { return s[u] >= MostChanges }) {
		return true
	}
	for _, u := range from {
		s[u]++
	}
	return false
}

// spent returns the counts of an agent's earlier notes of the turn.
func (b *batch) spent(ctx context.Context) (func() budget, error) {
	before := 0
	if said := b.call.said; b.call.Author == backends.AuthorAgent && len(said) > 0 && said[0].Turn != "" {
		all, err := b.call.engine.Keeper.All(ctx, b.call.Partition)
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			o := m.Origin
			if m.Supersedes != "" && o.Author == backends.AuthorAgent && o.Turn == said[0].Turn && o.Session == b.call.Scope.SessionID {
				before++
			}
		}
	}
	return func() budget { return budget{nil: before} }, nil
}

// change returns the change for Confirm: everything that the batch retracts, the superseded
// statements beyond MostChanges, and all that the agent's own notes supersede.
func (b *batch) change(spent budget) backends.Change {
	change := backends.Change{Scope: b.call.Scope}
	for _, n := range b.nodes {
		m := n.ends()
		if m == nil {
			continue
		}
		over := spent.spend(b, n)
		switch {
		case n.outcome == backends.OutcomeRetracted:
			change.Retract = append(change.Retract, m.Clone())
		case over || b.call.Author == backends.AuthorAgent:
			change.Update = append(change.Update, backends.Edit{Old: m.Clone(), New: n.memory.Clone()})
		}
	}
	return change
}

// confirm ends known statements as far as Confirm allows it, or without one as far as
// MostChanges does. The rest is skipped: a statement that was to supersede stands beside the
// active one. If Confirm declines an agent's own notes, the whole batch is dropped.
func (b *batch) confirm(ctx context.Context) error {
	spent, err := b.spent(ctx)
	if err != nil {
		return err
	}
	e, change := b.call.engine, b.change(spent())
	refused := e.errorf("one message may end %d memories; Config.Confirm has to allow more", MostChanges)
	confirm := b.call.Confirm
	work.Default(&confirm, e.Confirm)
	if confirm == nil || len(change.Retract)+len(change.Update) == 0 {
		b.end(spent(), false, false, refused)
		return nil
	}
	err = confirm.Ask(ctx, change)
	if err != nil && (!errors.Is(err, backends.ErrDeclined) || b.call.Author == backends.AuthorAgent) {
		return e.errorf("confirming that %d memories are changed: %w", len(change.Retract)+len(change.Update), err)
	}
	b.end(spent(), err == nil, err != nil, fmt.Errorf("%w: %w", refused, err))
	return nil
}

// end applies the decisions that end statements: all if they are allowed, without the retractions
// if those were declined, and else as many as the messages may end.
func (b *batch) end(spent budget, allowed, declined bool, refused error) {
	var kept []*node
	for _, n := range b.nodes {
		m := n.ends()
		skip := m != nil && !allowed && (spent.spend(b, n) || declined && n.outcome == backends.OutcomeRetracted)
		switch {
		case skip && n.outcome == backends.OutcomeRetracted:
			n.outcome, n.err = backends.OutcomeSkipped, refused
		case skip:
			kept = append(kept, &node{state: state{outcome: backends.OutcomeSkipped, on: n.prev}, err: refused})
			n.leave()
		case n.outcome == backends.OutcomeRetracted && !n.end() && n.same == nil:
			continue
		}
		kept = append(kept, n)
	}
	b.nodes = kept
}

// leave takes a statement out of its chain, so it stands beside the one that it was to
// supersede.
func (n *node) leave() {
	n.prev.next = n.next
	if n.next != nil {
		n.next.prev = n.prev
	}
	n.prev, n.next, n.outcome = nil, nil, backends.OutcomeAdded
}
