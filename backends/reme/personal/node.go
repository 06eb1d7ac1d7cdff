// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"cmp"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// node is a memory of the batch, or a known one that the batch may replace. Nodes
// that contradict each other form chains in the order in which they were said: of
// each, the next one that contradicts it takes its place.
type node struct {
	statement *statement       // nil for a known memory
	known     *backends.Memory // as it is now; for a statement the memory that says it already
	merged    *node            // the node of the batch that says it
	links     []link
	next      *node         // takes its place
	before    []*node       // those whose place it takes, the known ones and the latest first
	record    *store.Record // what is written; nil for a known memory, and for what is not
}

// link leads to a node that cannot hold beside this one: it contradicts it, or one of
// the two says all that the other says, and more.
type link struct {
	to   *node
	more bool // it is the one that says more
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

// link links n with another node, more saying that n says more.
func (n *node) link(o *node, more bool) {
	if o == n || slices.ContainsFunc(n.links, func(l link) bool { return l.to == o }) {
		return
	}
	n.links, o.links = append(n.links, link{to: o}), append(o.links, link{to: n, more: more})
}

// rankOf puts known memories first: it is they that are superseded.
func rankOf(n *node) int {
	if n.statement == nil {
		return 0
	}
	return 1
}
