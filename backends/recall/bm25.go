// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"slices"
)

// maxQueryTerms is how many distinct terms of a query are looked up: those that
// tell documents apart best. It bounds the time that a pasted book takes.
const maxQueryTerms = 1024

// lexicalQuery is a query against one state of a lexicon.
type lexicalQuery struct {
	terms []weighedTerm
	// attainable is the score of an imaginary document in which every term of the
	// query stands without end: the sum of weight·(k1+1). Terms that no document
	// holds count too, so that a query which is mostly unknown scores low.
	attainable float64
}

type weighedTerm struct {
	term   string
	count  float64 // in the query
	list   []posting
	weight float64 // idf times the count
}

// query prepares the terms of a bag for scoring. A term that no document holds is
// scored by its variants.
func (x *lexicon) query(b *bag, p *BM25) lexicalQuery {
	var q lexicalQuery
	var unknown []string
	terms := make([]weighedTerm, len(b.terms))
	for i, term := range b.terms {
		terms[i].term, terms[i].count = term, float64(b.counts[i])
		if id, ok := x.ids[term]; ok {
			terms[i].list = x.lists[id]
		} else {
			unknown = append(unknown, term)
		}
		terms[i].weight = x.idf(len(terms[i].list)) * terms[i].count
	}
	variants := x.variants(unknown)
	for _, t := range strongest(terms) {
		q.attainable += t.weight * (p.K1 + 1)
		if list := variants[t.term]; len(list) > 0 {
			t.list, t.weight = list, variantWeight*x.idf(len(list))*t.count
		}
		if len(t.list) > 0 {
			q.terms = append(q.terms, t)
		}
	}
	return q
}

// strongest returns the maxQueryTerms terms of the highest weight, in the order
// of the query.
func strongest(terms []weighedTerm) []weighedTerm {
	if len(terms) <= maxQueryTerms {
		return terms
	}
	order := make([]int, len(terms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(terms[j].weight, terms[i].weight) })
	order = order[:maxQueryTerms]
	slices.Sort(order)
	out := make([]weighedTerm, len(order))
	for i, o := range order {
		out[i] = terms[o]
	}
	return out
}

// score adds the BM25 score of every matching document to scores, by slot, and
// returns the slots that match.
func (x *lexicon) score(q *lexicalQuery, p *BM25, scores []float64, matched []int32) []int32 {
	base, perTerm := p.K1*(1-p.B), p.K1*p.B*float64(x.docs)/float64(max(1, x.total))
	for _, t := range q.terms {
		weight := t.weight * (p.K1 + 1)
		for _, e := range t.list {
			if scores[e.slot] == 0 {
				matched = append(matched, e.slot)
			}
			count := float64(e.count)
			scores[e.slot] += weight * count / (count + base + perTerm*float64(x.lengths[e.slot]))
		}
	}
	return matched
}
