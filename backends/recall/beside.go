// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import "github.com/einomem/einomem/backends"

// besideDoc is a memory that is ranked without being in the index.
type besideDoc struct {
	doc
	counts map[string]float64 // of its terms
	length int                // terms, repeats included
}

func (r *Ranker) besideDoc(m *backends.Memory) besideDoc {
	terms, length := r.analyzer.count(indexed(m)...)
	b := besideDoc{counts: map[string]float64{}, length: length}
	b.describe(m)
	for _, t := range terms {
		b.counts[t.text] = t.count
	}
	return b
}

// scoreOf returns the BM25 score of a memory that is not in the index. A word and its
// related ones count once.
func (x *lexicon) scoreOf(terms []weighedTerm, b *besideDoc) float64 {
	base, usual := bm25K1*(1-bm25B), float64(b.length)
	if x.total > 0 {
		usual = float64(x.total) / float64(x.memories)
	}
	score := 0.0
	for _, t := range terms {
		count := 0.0
		for _, word := range t.words {
			count += b.counts[word]
		}
		score += t.weight * (bm25K1 + 1) * count / (count + base + bm25K1*bm25B*float64(b.length)/max(1, usual))
	}
	return score
}
