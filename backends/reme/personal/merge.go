// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import "slices"

// merge finds the statements that say nothing new: word for word what is known, or
// what was said before in the same request, or what is contained in either.
func (b *batch) merge() error {
	latest := map[string]*node{}
	for _, n := range b.nodes {
		key := n.statement.textKey()
		first := latest[key]
		if same := b.snap.same(n.statement); first == nil && same != nil {
			if !same.Active() { // it is history already
				n.known = same
				continue
			}
			first = b.holder(same)
		}
		if first == nil && n.statement.within != nil && len(n.links) == 0 {
			var err error
			if first, err = b.find(*n.statement.within); err != nil {
				return err
			}
		}
		if first != nil {
			b.repeat(n, first.says())
		}
		if n.merged == nil {
			latest[key] = n
		}
	}
	return nil
}

// repeat merges a node into one that says the same, unless something was said between
// them that contradicts it: who moves away and back lives there twice.
func (b *batch) repeat(n, first *node) {
	if first == n || first.statement != nil && first.known != nil {
		n.known = first.known // nil for itself
		return
	}
	between := slices.DeleteFunc(slices.Clone(first.links), func(l link) bool { return first.compare(l.to) >= 0 || l.to.compare(n) >= 0 })
	slices.SortFunc(between, func(a, b link) int { return a.to.compare(b.to) })
	switch {
	case len(between) == 0:
		n.merged = first
		for _, l := range n.links {
			first.link(l.to.says(), slices.Contains(l.to.links, link{to: n, more: true}))
		}
	case between[0].more:
		b.repeat(n, between[0].to.says())
	default:
		for _, l := range slices.Clone(first.links) {
			if !l.more {
				n.link(l.to.says(), false)
			}
		}
	}
}
