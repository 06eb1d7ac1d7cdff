// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

const (
	// minVariant is the shortest term, in characters, that has variants.
	minVariant = 5
	// variantWeight is what a variant counts against the word itself.
	variantWeight = 0.5
)

// variants returns, for each of the unknown terms of a query, the documents that
// hold a variant of it: "allergies" finds "allergic", which the stemmer keeps
// apart. One pass over the terms serves all of them.
func (x *lexicon) variants(unknown []string) map[string][]posting {
	byPrefix := map[string][]string{}
	for _, term := range unknown {
		if p := prefixOf(term); p != "" {
			byPrefix[p] = append(byPrefix[p], term)
		}
	}
	if len(byPrefix) == 0 {
		return nil
	}
	found := map[string][]posting{}
	for id, name := range x.names {
		for _, term := range byPrefix[prefixOf(name)] {
			if isVariant(term, name) {
				found[term] = append(found[term], x.lists[id]...)
			}
		}
	}
	for term, list := range found {
		found[term] = merged(list)
	}
	return found
}

// isVariant reports whether two terms with the same first minVariant characters
// are likely forms of one word: the longer one is the shorter with up to three
// characters more, or they differ in their last two and agree in three quarters.
func isVariant(a, b string) bool {
	ra, rb := []rune(a), []rune(b)
	shared := 0
	for shared < min(len(ra), len(rb)) && ra[shared] == rb[shared] {
		shared++
	}
	short, long := min(len(ra), len(rb)), max(len(ra), len(rb))
	if shared == short {
		return long-short <= 3
	}
	return long-shared <= 2 && 4*shared >= 3*long
}

// prefixOf returns the first minVariant characters of a term, or "" for a term
// that is shorter.
func prefixOf(term string) string {
	end := 0
	for range minVariant {
		if end >= len(term) {
			return ""
		}
		_, size := utf8.DecodeRuneInString(term[end:])
		end += size
	}
	return term[:end]
}

// merged returns the postings of several terms as those of one.
func merged(list []posting) []posting {
	slices.SortFunc(list, func(a, b posting) int { return cmp.Compare(a.slot, b.slot) })
	out := list[:0]
	for _, p := range list {
		if n := len(out); n > 0 && out[n-1].slot == p.slot {
			out[n-1].count += p.count
			continue
		}
		out = append(out, p)
	}
	return out
}
