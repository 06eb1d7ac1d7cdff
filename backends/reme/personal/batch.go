// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// errStale is a conflict that only a new comparison resolves: a memory that a
// statement relates to changed since it was shown.
var errStale = fmt.Errorf("a memory changed while it was compared with: %w", backends.ErrConflict)

// node is a memory of the batch, or a known one that the batch replaces. Nodes that
// contradict each other form chains in the order in which they were said: of each,
// the next one that contradicts it takes its place.
type node struct {
	statement *statement       // nil for a known memory
	known     *backends.Memory // as it is now; for a statement the memory that says it already
	merged    *node            // the node of the batch that says it
	against   []*node
	next      *node         // takes its place
	before    []*node       // those whose place it takes, the latest one first
	record    *store.Record // what is written; nil for a known memory, and for what is not
}

func (n *node) memory() *backends.Memory {
	switch {
	case n.record != nil:
		return &n.record.Memory
	case n.known != nil:
		return n.known
	}
	return &n.statement.memory
}

// writes reports whether the node is a memory to be written.
func (n *node) writes() bool { return n.statement != nil && n.known == nil && n.merged == nil }

// says returns the node that says what this one says: itself, unless it was merged.
func (n *node) says() *node {
	for n.merged != nil {
		n = n.merged
	}
	return n
}

// compare orders nodes by when they were said; at one time, known ones come first.
func (n *node) compare(o *node) int {
	order := func(n *node) int {
		if n.statement == nil {
			return -1
		}
		return n.statement.order
	}
	return cmp.Or(n.memory().Observed.Compare(o.memory().Observed), cmp.Compare(order(n), order(o)))
}

// batch is one try at storing a draft: its statements against the partition as it is.
type batch struct {
	draft *Draft
	snap  *snapshot

	nodes     []*node // of the statements, in their order
	replaced  map[string]*node
	mutations []store.Mutation
}

// build decides what becomes of each statement.
func (b *batch) build() error {
	of := map[*statement]*node{}
	for _, s := range b.draft.statements {
		if s.err == nil {
			n := &node{statement: s, known: b.snap.same(s)}
			of[s], b.nodes = n, append(b.nodes, n)
		}
	}
	b.replaced = map[string]*node{}
	for _, n := range b.nodes {
		if n.writes() {
			if err := b.connect(n, of); err != nil {
				return err
			}
		}
	}
	for _, n := range b.nodes {
		b.mergeWithin(n, of)
	}
	b.mergeSame()
	b.chain()
	b.identify()
	b.write()
	return nil
}

// connect links a node with those that it contradicts.
func (b *batch) connect(n *node, of map[*statement]*node) error {
	for _, p := range n.statement.against {
		other, err := b.find(p, of)
		if err != nil {
			return err
		}
		if other != nil && other != n {
			n.against, other.against = append(n.against, other), append(other.against, n)
		}
	}
	if p := n.statement.within; p != nil && p.known != nil && len(n.against) == 0 {
		if n.known = b.snap.current(p.known); n.known == nil {
			return fmt.Errorf("personal: memory %s: %w", p.known.ID, errStale)
		}
	}
	return nil
}

// find returns the node of a party, nil for one that holds no more.
func (b *batch) find(p party, of map[*statement]*node) (*node, error) {
	known := p.known
	if p.other != nil {
		n := of[p.other]
		if n == nil || n.known == nil {
			return n, nil
		}
		if known = n.known; !known.Active() {
			return nil, nil
		}
	} else if known = b.snap.current(known); known == nil {
		return nil, fmt.Errorf("personal: memory %s: %w", p.known.ID, errStale)
	}
	if b.replaced[known.ID] == nil {
		b.replaced[known.ID] = &node{known: known}
	}
	return b.replaced[known.ID], nil
}

// mergeWithin merges a node into the one of the batch that says all that it says.
func (b *batch) mergeWithin(n *node, of map[*statement]*node) {
	p := n.statement.within
	if !n.writes() || p == nil || p.other == nil || len(n.against) > 0 {
		return
	}
	into := of[p.other]
	for into != nil && into.merged != nil && into.merged != n {
		into = into.merged
	}
	if into != nil && into != n && into.merged != n {
		n.merged = into
	}
}

// mergeSame merges statements of the same words, unless something was said between
// them that contradicts them: who moves away and back lives there twice.
func (b *batch) mergeSame() {
	latest := map[string]*node{}
	for _, n := range b.nodes {
		if !n.writes() {
			continue
		}
		key := n.statement.textKey()
		first := latest[key]
		latest[key] = n
		if first == nil || slices.ContainsFunc(slices.Concat(first.against, n.against), func(o *node) bool { return first.compare(o) < 0 && o.compare(n) < 0 }) {
			continue
		}
		n.merged, latest[key] = first, first
		for _, o := range n.against {
			if o != first {
				first.against, o.against = append(first.against, o), append(o.against, first)
			}
		}
	}
}

// chain finds out which node takes the place of which.
func (b *batch) chain() {
	all := slices.Clone(b.nodes)
	for _, n := range b.replaced {
		all = append(all, n)
	}
	for _, n := range all {
		if n.merged != nil || n.statement != nil && n.known != nil {
			continue
		}
		for _, o := range n.against {
			if o.merged == nil && n.compare(o) < 0 && (n.next == nil || o.compare(n.next) < 0) {
				n.next = o
			}
		}
		if n.next != nil {
			n.next.before = append(n.next.before, n)
		}
	}
	for _, n := range all {
		slices.SortFunc(n.before, func(a, b *node) int {
			return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), b.compare(a))
		})
	}
}

// rankOf puts known memories first: it is they that are superseded.
func rankOf(n *node) int {
	if n.statement == nil {
		return 0
	}
	return 1
}

// write writes the mutations, in the order in which the statements were said.
func (b *batch) write() {
	for _, n := range b.nodes {
		if n.record == nil {
			continue
		}
		m := store.Put(n.record)
		m.Expect = store.MustNotExist
		for i, old := range n.before {
			switch {
			case i == 0 && old.record != nil:
				m = store.Supersede(old.record.ID, n.record)
			case i == 0:
				m = store.Supersede(old.known.ID, n.record)
				m.Expect = old.known.Version
			case old.record == nil:
				r := store.Retract(old.known.ID, since(n.memory()))
				r.Expect = old.known.Version
				b.add(r, n.record)
			}
		}
		b.add(m, n.record)
	}
}

func (b *batch) add(m store.Mutation, by *store.Record) {
	m.Actor, m.Role = by.Origin.Author, by.Origin.Role
	b.mutations = append(b.mutations, m)
}

// identify gives the memories that are written their ids and times, and those that
// hold no more what took their place.
func (b *batch) identify() {
	taken := map[string]bool{}
	var written []*node
	for _, n := range b.nodes {
		if n.writes() {
			written = append(written, n)
		}
	}
	stamp := b.draft.flows.config.Keeper.Stamps(len(written))
	for _, n := range written {
		r := &store.Record{Memory: n.statement.copy()}
		r.ID = b.draft.id(n.statement, func(id string) bool { return taken[id] || b.snap.byID[id] != nil })
		taken[r.ID] = true
		r.Created, r.Updated = stamp, stamp
		stamp = stamp.Add(time.Microsecond)
		n.record = r
	}
	for _, n := range written {
		if n.next == nil || n.next.before[0] == n && n.next.record != nil {
			continue // the mutation that writes the next says it
		}
		n.record.SupersededBy, n.record.Invalidated = n.next.memory().ID, since(n.next.memory())
	}
}

// items tells what became of each statement. version is the partition's after the
// batch.
func (b *batch) items(version int64) []backends.Item {
	items := make([]backends.Item, 0, len(b.nodes))
	var retracted []backends.Item
	for _, n := range b.nodes {
		if says := n.says(); says != n || n.record == nil {
			items = append(items, backends.Item{Outcome: backends.OutcomeUnchanged, Memory: *b.stored(says, version)})
			continue
		}
		item := backends.Item{Outcome: backends.OutcomeAdded, Memory: *b.stored(n, version)}
		for i, old := range n.before {
			switch previous := b.stored(old, version); {
			case i == 0:
				item.Outcome, item.Previous = backends.OutcomeSuperseded, previous
			case old.record == nil:
				retracted = append(retracted, backends.Item{Outcome: backends.OutcomeRetracted, Memory: *previous})
			}
		}
		items = append(items, item)
	}
	return slices.Concat(items, retracted, b.draft.failed)
}

// stored returns the memory of a node as it is after the batch.
func (b *batch) stored(n *node, version int64) *backends.Memory {
	m := shownMemory(n.memory())
	if n.record != nil {
		m.Version = version
		if len(n.before) > 0 {
			m.Supersedes = n.before[0].memory().ID
		}
	}
	if n.next != nil && n.next.record != nil {
		m.Version, m.Invalidated = version, since(n.next.memory())
		if n.record != nil || n.next.before[0] == n {
			m.SupersededBy = n.next.record.ID
		}
	}
	return m
}
