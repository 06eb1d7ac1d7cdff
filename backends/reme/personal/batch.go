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

// batch is one try at storing a draft: its statements against the partition as it is.
type batch struct {
	draft *Draft
	snap  *snapshot

	of        map[*statement]*node
	nodes     []*node          // of the statements, in their order
	held      map[string]*node // of known memories, by their ids
	mutations []store.Mutation
}

// build decides what becomes of each statement.
func (b *batch) build() error {
	b.of, b.held = map[*statement]*node{}, map[string]*node{}
	for _, s := range b.draft.statements {
		if s.err == nil {
			n := &node{statement: s}
			b.of[s], b.nodes = n, append(b.nodes, n)
		}
	}
	for _, n := range b.nodes {
		if err := b.connect(n); err != nil {
			return err
		}
	}
	if err := b.merge(); err != nil {
		return err
	}
	b.chain()
	b.identify()
	b.write()
	return nil
}

// connect links a node with those that it contradicts, and those that it says more
// than.
func (b *batch) connect(n *node) error {
	for i, parties := range [][]party{n.statement.against, n.statement.extends} {
		for _, p := range parties {
			other, err := b.find(p)
			if err != nil {
				return err
			}
			if other != nil {
				n.link(other, i == 1)
			}
		}
	}
	return nil
}

// find returns the node of a party, nil for one that could not be compared.
func (b *batch) find(p party) (*node, error) {
	if p.other != nil {
		return b.of[p.other], nil
	}
	known := b.snap.current(p.known)
	if known == nil {
		return nil, fmt.Errorf("personal: memory %s: %w", p.known.ID, errStale)
	}
	return b.holder(known), nil
}

// holder returns the node of a known memory that holds.
func (b *batch) holder(m *backends.Memory) *node {
	if b.held[m.ID] == nil {
		b.held[m.ID] = &node{known: m}
	}
	return b.held[m.ID]
}

// chain finds out which node takes the place of which.
func (b *batch) chain() {
	all := slices.Clone(b.nodes)
	for _, n := range b.held {
		all = append(all, n)
	}
	for _, n := range all {
		if n.statement != nil && !n.writes() {
			continue
		}
		for _, l := range n.links {
			o := l.to
			if (o.statement == nil || o.writes()) && n.compare(o) < 0 && (n.next == nil || o.compare(n.next) < 0) {
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
