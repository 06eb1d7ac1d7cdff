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
//
// A new lexicon has no lists: they are made in one go by build, when the documents
// of a first load are in. Before that it cannot be searched, and its terms are
// those of a vocabulary that the readers of the load share.
type lexicon struct {
	loading *vocabulary      // nil after build
	ids     map[string]int32 // term → number
	names   []string         // number → term; empty where the number is free
	lists   [][]posting      // number → documents, by slot; nil before build
	unused  []int32          // free numbers
	emptied []int32          // numbers that may have lost their last document since the last sweep
	sweeps  int              // how often numbers became free
	lengths []int32          // slot → terms of the document, repeats counted
	docs    int
	total   int64 // sum of lengths
	entries int64 // postings in all lists
}

type posting struct{ slot, count int32 }

// termCount is a term of a document and how often it stands there.
type termCount struct{ term, count int32 }

func newLexicon() *lexicon { return &lexicon{loading: newVocabulary()} }

func (x *lexicon) built() bool { return x.loading == nil }

// add puts a document into a slot that holds none. Its terms, which remove takes,
// are numbered by the lexicon: see adopt.
func (x *lexicon) add(slot int32, t tally) {
	if grow := int(slot) + 1 - len(x.lengths); grow > 0 {
		x.lengths = append(x.lengths, make([]int32, grow)...)
	}
	x.lengths[slot] = t.length
	x.docs++
	x.total += int64(t.length)
	x.entries += int64(len(t.terms))
	if !x.built() {
		return
	}
	for _, term := range t.terms {
		list := x.lists[term.term]
		p := posting{slot, term.count}
		if n := len(list); n == 0 || list[n-1].slot < slot {
			x.lists[term.term] = append(list, p)
			continue
		}
		at, _ := find(list, slot)
		x.lists[term.term] = slices.Insert(list, at, p)
	}
}

// remove takes the document with the given terms out of its slot.
func (x *lexicon) remove(slot int32, terms []termCount) {
	x.docs--
	x.total -= int64(x.lengths[slot])
	x.lengths[slot] = 0
	x.entries -= int64(len(terms))
	if !x.built() {
		return
	}
	for _, t := range terms {
		at, _ := find(x.lists[t.term], slot)
		x.lists[t.term] = slices.Delete(x.lists[t.term], at, at+1)
		if len(x.lists[t.term]) == 0 {
			x.emptied = append(x.emptied, t.term)
		}
	}
}

// sweep frees the numbers of terms that no document holds any more.
func (x *lexicon) sweep() {
	if len(x.emptied) == 0 {
		return
	}
	for _, id := range x.emptied {
		if len(x.lists[id]) > 0 || x.names[id] == "" {
			continue
		}
		delete(x.ids, x.names[id])
		x.names[id], x.lists[id] = "", nil
		x.unused = append(x.unused, id)
	}
	x.emptied = x.emptied[:0]
	x.sweeps++
}

// adopt numbers terms, which bear the numbers of a vocabulary, by the lexicon.
func (x *lexicon) adopt(terms []termCount, v *vocabulary) {
	if !x.built() {
		return // it is the lexicon's own
	}
	if v.sweeps != x.sweeps {
		v.sweeps, v.adopted = x.sweeps, v.adopted[:0]
	}
	for len(v.adopted) < len(v.names) {
		v.adopted = append(v.adopted, noTerm)
	}
	for i := range terms {
		id := &v.adopted[terms[i].term]
		if *id == noTerm {
			*id = x.intern(v.names[terms[i].term])
		}
		terms[i].term = *id
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

// build makes the lists of a lexicon whose documents were added, in memory that
// is just large enough.
func (x *lexicon) build(docs []doc) {
	x.ids, x.names, x.loading = x.loading.ids, x.loading.names, nil
	ends := make([]int, len(x.names)) // of the lists; at first their lengths
	for i := range docs {
		for _, t := range docs[i].terms {
			ends[t.term]++
		}
	}
	all := make([]posting, x.entries)
	x.lists = make([][]posting, len(x.names))
	at := 0
	for id, n := range ends {
		x.lists[id] = all[at : at+n : at+n]
		ends[id] = at
		if at += n; n == 0 {
			x.emptied = append(x.emptied, int32(id))
		}
	}
	for i := range docs {
		for _, t := range docs[i].terms {
			all[ends[t.term]] = posting{int32(i), t.count}
			ends[t.term]++
		}
	}
	x.sweep()
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
