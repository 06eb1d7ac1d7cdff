// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"github.com/einomem/einomem/backends/store"
)

// window returns the end of the log that is shown: the longest one that fits and
// begins with a turn.
//
// Turns may overlap: one is interrupted, others follow, it is resumed. A begin
// that leaves a part of such a turn outside is taken only if the longest window
// without one is less than half as long.
func (t *tail) window() []store.Entry {
	if len(t.entries) == 0 {
		return nil
	}
	first := firsts(t.entries)
	newest := t.newest()
	longest, clean := newest, -1
	longestSaid, cleanSaid := 0, 0
	counted, said, oldest := weight{limit: t.limit}, 0, len(t.entries)
	for i := len(t.entries) - 1; i >= 0; i-- {
		e := &t.entries[i]
		if empty(e) {
			continue
		}
		counted.add(e, t.tokens(e))
		said++
		oldest = min(oldest, first[e.Turn]) // where the turns from here on began
		if i > newest || !t.begins(i) {
			continue
		}
		if t.limit.over(counted.tokens, said) {
			break
		}
		longest, longestSaid = i, said
		if oldest >= i {
			clean, cleanSaid = i, said
		}
	}
	if clean >= 0 && 2*cleanSaid >= longestSaid {
		longest = clean
	}
	if t.whole && t.before(longest) < 0 {
		longest = 0
	}
	return t.entries[longest:]
}

// begins reports whether the entry at i is known to follow another turn's. What
// was not read before the newest turn was not worth it.
func (t *tail) begins(i int) bool {
	before := t.before(i)
	if before < 0 {
		return t.whole || t.newest() == i
	}
	return t.entries[before].Turn != t.entries[i].Turn
}

// firsts returns where each turn was first heard of.
func firsts(entries []store.Entry) map[string]int {
	out := make(map[string]int)
	for i := range entries {
		if _, ok := out[entries[i].Turn]; !ok && !empty(&entries[i]) {
			out[entries[i].Turn] = i
		}
	}
	return out
}
