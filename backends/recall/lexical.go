// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
)

// lexicon is an inverted index: for each term the memories that hold it, by slot. Its statistics
// are whole numbers and cover the memories that are in it now, so that the order of changes leaves
// scores alone. A new lexicon lacks lists: build makes them, all at once.
type lexicon struct {
	vocabulary *vocabulary
	built      bool
	lists      [][]posting // number of a term → memories that hold it, in any order; may be shorter than the vocabulary
	emptied    []int32     // numbers of terms that may have lost their last memory
	lengths    []int32     // slot → terms of the memory in halves, repeats included
	memories   int
	total      int64 // sum of lengths
	postings   int64 // in all lists
}

type posting struct{ slot, count int32 } // counted in halves: see bag

func newLexicon() *lexicon { return &lexicon{vocabulary: newVocabulary()} }

// add puts a memory into a free slot.
func (x *lexicon) add(slot int32, b bag) {
	x.lengths = append(x.lengths, make([]int32, max(0, int(slot)+1-len(x.lengths)))...)
	x.lengths[slot] = b.length
	x.memories++
	x.total += int64(b.length)
	x.postings += int64(len(b.terms))
	if !x.built {
		return
	}
	x.lists = append(x.lists, make([][]posting, max(0, x.vocabulary.size()-len(x.lists)))...)
	for _, t := range b.terms {
		x.lists[t.term] = append(x.lists[t.term], posting{slot, t.count})
	}
}

// remove takes the memory with the given terms out of its slot.
func (x *lexicon) remove(slot int32, terms []termCount) {
	x.memories--
	x.total -= int64(x.lengths[slot])
	x.lengths[slot] = 0
	x.postings -= int64(len(terms))
	if !x.built {
		return
	}
	for _, t := range terms {
		list := x.lists[t.term]
		last := len(list) - 1
		at := slices.IndexFunc(list, func(p posting) bool { return p.slot == slot })
		list[at] = list[last]
		if x.lists[t.term] = list[:last]; last == 0 {
			x.emptied = append(x.emptied, t.term)
		}
	}
}

// build makes the lists of a first load, in memory that is just large enough.
func (x *lexicon) build(docs []doc) {
	counts := make([]int, x.vocabulary.size())
	for i := range docs {
		for _, t := range docs[i].text.terms {
			counts[t.term]++
		}
	}
	x.built, x.lists = true, make([][]posting, len(counts))
	all := make([]posting, x.postings)
	for n, count := range counts {
		x.lists[n], all = all[:0:count], all[count:]
		if count == 0 {
			x.emptied = append(x.emptied, int32(n))
		}
	}
	for i := range docs {
		for _, t := range docs[i].text.terms {
			x.lists[t.term] = append(x.lists[t.term], posting{int32(i), t.count})
		}
	}
}

// release frees the numbers of terms that lost their last memory. No reader may know them.
func (x *lexicon) release() {
	for _, n := range x.emptied {
		if len(x.lists[n]) == 0 {
			x.lists[n] = nil
			x.vocabulary.release(n)
		}
	}
	x.emptied = x.emptied[:0]
}

// list returns the memories that hold the term with a number, which may be noTerm.
func (x *lexicon) list(n int32) []posting {
	if n < 0 || int(n) >= len(x.lists) {
		return nil
	}
	return x.lists[n]
}

// fewest is the least size of a partition that idf assumes: among a handful a word that half of
// them have would weigh nothing.
const fewest = 100

// idf is Lucene's inverse document frequency of a term that df memories hold: always positive,
// unlike the original of Robertson and Spärck Jones.
func (x *lexicon) idf(df int) float64 {
	n := float64(max(x.memories, fewest))
	return math.Log(1 + (n-float64(df)+0.5)/(float64(df)+0.5))
}

// bytes estimates the memory that the lexicon takes.
func (x *lexicon) bytes() int64 {
	const perPosting, perTerm = 16, 96 // posting and termCount; map entry, list header, term
	return x.postings*perPosting + int64(x.vocabulary.size())*perTerm + int64(len(x.lengths))*4
}

// queryTerm is a term of a query and how often it occurs there.
type queryTerm struct {
	text   string
	count  float64
	beside bool // another form of a term: a memory attains the best score without it
}

// besideWeight is what a form of a word beside its term counts in a query.
const besideWeight = 0.5

// weighedTerm is a term of a query against one state of a lexicon.
type weighedTerm struct {
	list   []posting
	weight float64  // idf times the count in the query
	words  []string // the term, or what stands for it
	loose  bool     // related words, which leave experience out
	least  int32    // a memory needs it at least so often, or another term, to be found
}

// The parameters of BM25, see the package comment.
const (
	bm25K1 = 1.2 // how soon repeats of a term stop counting
	bm25B  = 0.4 // how much long texts are held back
	longB  = 0.9 // the same where an assistant answers at length
)

// variantWeight is what a variant counts against the word itself.
const variantWeight = 0.5

// weigh looks the terms of a query up. Variants stand for a term that the lexicon lacks, at half
// its weight. attainable is the score of an imaginary memory in which the [telling] terms of the
// query occur without end, unknown ones included. So a mostly unknown query scores low.
func (x *lexicon) weigh(query []queryTerm, groups map[string][]string) (terms []weighedTerm, attainable float64) {
	lists := make([][]posting, len(query))
	var unknown []string
	for i, t := range query {
		if lists[i] = x.list(x.vocabulary.find(t.text)); len(lists[i]) == 0 && !t.beside {
			unknown = append(unknown, t.text)
		}
	}
	variants := x.vocabulary.variants(unknown, func(n int32) bool { return rareShare*len(x.list(n)) <= max(x.memories, fewest) })
	weights := make([]float64, 0, len(query))
	for i, t := range query {
		weight := x.idf(max(1, len(lists[i]))) * t.count
		if !t.beside {
			weights = append(weights, weight)
		}
		if numbers := variants[t.text]; len(lists[i]) == 0 && len(numbers) > 0 {
			lists[i] = x.merged(numbers)
			weight = variantWeight * x.idf(len(lists[i])) * t.count
		}
		terms = append(terms, weighedTerm{list: lists[i], weight: weight, words: []string{t.text}})
		if others := groups[t.text]; len(others) > 0 {
			list := x.merged(x.numbers(others, t.text))
			terms = append(terms, weighedTerm{list: list, weight: relatedWeight * x.idf(max(1, len(list))) * t.count, words: others, loose: true})
		}
	}
	slices.SortFunc(weights, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, w := range weights[:min(len(weights), telling)] {
		attainable += w * (bm25K1 + 1)
	}
	return terms, attainable
}

// telling is how many terms of a query, the rarest, make the attainable score: even the best memory
// repeats only a part of a long message.
const telling = 6

// numbers returns the known ones of the terms, except one.
func (x *lexicon) numbers(terms []string, but string) []int32 {
	var out []int32
	for _, term := range terms {
		if n := x.vocabulary.find(term); term != but && n != noTerm {
			out = append(out, n)
		}
	}
	return out
}

// merged merges the lists of several terms into one.
func (x *lexicon) merged(numbers []int32) []posting {
	var all []posting
	for _, n := range numbers {
		all = append(all, x.list(n)...)
	}
	slices.SortFunc(all, func(a, b posting) int { return cmp.Compare(a.slot, b.slot) })
	out := all[:0]
	for _, p := range all {
		if last := len(out) - 1; last >= 0 && out[last].slot == p.slot {
			out[last].count += p.count
			continue
		}
		out = append(out, p)
	}
	return out
}

// score adds the BM25 score of each memory that holds a term to scores, by slot, and
// returns the slots of these.
func (x *lexicon) score(terms []weighedTerm, docs []doc, b float64, scores []float64, matched []int32) []int32 {
	base, perTerm := bm25K1*(1-b), bm25K1*b*float64(x.memories)/float64(max(1, x.total))
	for _, t := range terms {
		weight := t.weight * (bm25K1 + 1)
		for _, e := range t.list {
			if t.loose && docs[e.slot].memory.Kind.Traits().Timeless {
				continue
			}
			if scores[e.slot] == 0 {
				if e.count < t.least {
					continue
				}
				matched = append(matched, e.slot)
			}
			count := float64(e.count) / whole
			scores[e.slot] += weight * count / (count + base + perTerm*float64(x.lengths[e.slot]))
		}
	}
	return matched
}

// vocabulary numbers the terms of an index. It is safe for concurrent use: readers add
// terms while searches look terms up.
type vocabulary struct {
	mu        sync.RWMutex
	numbers   map[string]int32    // term → one more than its number
	byOpening map[opening][]int32 // first bytes of a term → numbers
	terms     []string            // number → term; empty where the number is free
	free      []int32
}

func newVocabulary() *vocabulary {
	return &vocabulary{numbers: map[string]int32{}, byOpening: map[opening][]int32{}}
}

// number returns the number of a term, and gives a new term one.
func (v *vocabulary) number(term string) int32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := v.numbers[term]; n > 0 {
		return n - 1
	}
	term = strings.Clone(term) // it may be a part of a long text
	n := int32(len(v.terms))
	if last := len(v.free) - 1; last >= 0 {
		n, v.free = v.free[last], v.free[:last]
		v.terms[n] = term
	} else {
		v.terms = append(v.terms, term)
	}
	v.numbers[term] = n + 1
	v.byOpening[openingOf(term)] = append(v.byOpening[openingOf(term)], n)
	return n
}

// find returns the number of a term, or noTerm.
func (v *vocabulary) find(term string) int32 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.numbers[term] - 1
}

// release frees the number of a term.
func (v *vocabulary) release(n int32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.terms[n] == "" {
		return
	}
	delete(v.numbers, v.terms[n])
	at := openingOf(v.terms[n])
	v.byOpening[at] = slices.DeleteFunc(v.byOpening[at], func(other int32) bool { return other == n })
	v.terms[n] = ""
	v.free = append(v.free, n)
}

func (v *vocabulary) size() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return len(v.terms)
}
