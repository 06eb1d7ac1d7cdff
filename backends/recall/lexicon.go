// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"math"
	"slices"
)

// lexicon is an inverted index: for each term the documents that hold it, by
// slot. Its statistics are whole numbers and always those of the documents that
// are in it now, so that a score does not depend on the way there.
type lexicon struct {
	ids     map[string]int32 // term → number
	names   []string         // number → term; empty where the number is free
	lists   [][]posting      // number → documents, by slot
	unused  []int32          // free numbers
	lengths []int32          // slot → terms of the document, repeats counted
	docs    int
	total   int64 // sum of lengths
	entries int64 // postings in all lists
}

type posting struct{ slot, count int32 }

// termCount is a term of a document and how often it stands there.
type termCount struct{ term, count int32 }

// bag is an analysed document: its distinct terms in order of first appearance.
type bag struct {
	terms  []string
	counts []int32
	length int32
}

func newLexicon() *lexicon { return &lexicon{ids: map[string]int32{}} }

// add puts a document into a slot that holds none and returns its terms, which
// remove takes.
func (x *lexicon) add(slot int32, b *bag) []termCount {
	if grow := int(slot) + 1 - len(x.lengths); grow > 0 {
		x.lengths = append(x.lengths, make([]int32, grow)...)
	}
	x.lengths[slot] = b.length
	x.docs++
	x.total += int64(b.length)
	x.entries += int64(len(b.terms))
	out := make([]termCount, len(b.terms))
	for i, term := range b.terms {
		id := x.intern(term)
		out[i] = termCount{id, b.counts[i]}
		list := x.lists[id]
		p := posting{slot, b.counts[i]}
		if n := len(list); n == 0 || list[n-1].slot < slot {
			x.lists[id] = append(list, p)
			continue
		}
		at, _ := find(list, slot)
		x.lists[id] = slices.Insert(list, at, p)
	}
	return out
}

// remove takes the document with the given terms out of its slot.
func (x *lexicon) remove(slot int32, terms []termCount) {
	x.docs--
	x.total -= int64(x.lengths[slot])
	x.lengths[slot] = 0
	x.entries -= int64(len(terms))
	for _, t := range terms {
		at, _ := find(x.lists[t.term], slot)
		x.lists[t.term] = slices.Delete(x.lists[t.term], at, at+1)
		if len(x.lists[t.term]) == 0 {
			delete(x.ids, x.names[t.term])
			x.names[t.term], x.lists[t.term] = "", nil
			x.unused = append(x.unused, t.term)
		}
	}
}

func (x *lexicon) intern(term string) int32 {
	if id, ok := x.ids[term]; ok {
		return id
	}
	var id int32
	if n := len(x.unused); n > 0 {
		id, x.unused = x.unused[n-1], x.unused[:n-1]
		x.names[id] = term
	} else {
		id = int32(len(x.names))
		x.names, x.lists = append(x.names, term), append(x.lists, nil)
	}
	x.ids[term] = id
	return id
}

func find(list []posting, slot int32) (int, bool) {
	return slices.BinarySearchFunc(list, slot, func(p posting, s int32) int { return cmp.Compare(p.slot, s) })
}

// idf is Lucene's inverse document frequency: never negative, unlike the
// original of Robertson and Spärck Jones.
func (x *lexicon) idf(df int) float64 {
	return math.Log(1 + (float64(x.docs)-float64(df)+0.5)/(float64(df)+0.5))
}

// bytes estimates the memory that the lexicon takes.
func (x *lexicon) bytes() int64 {
	const perTerm = 96 // map entry, list header, name
	return x.entries*16 + int64(len(x.names))*perTerm + int64(len(x.lengths))*4
}
