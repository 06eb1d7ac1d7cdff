// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

// fusion makes one order of the parts of a search.
type fusion struct {
	ranker     *Ranker
	query      *query
	candidates []candidate
	attainable float64 // lexical score
}

// best orders by the parts, each divided by its highest value among the candidates,
// weighed and added. A memory without a vector goes by its
// lexical part alone. It returns as many as were asked for, or as a reranker chooses among.
func (f *fusion) best() []ranked {
	scale := &f.query.scale
	var topLexical, topVector float64
	for _, c := range f.candidates {
		topLexical, topVector = max(topLexical, c.lexical), max(topVector, above(scale.usual, c.cosine))
	}
	best := topK{size: f.ranker.pool(f.query.topK)}
	for _, c := range f.candidates {
		value := f.weigh(&c, share(c.lexical, topLexical), share(above(scale.usual, c.cosine), topVector))
		if value <= 0 || !best.admits(value) {
			continue
		}
		if r := f.ranked(c, value); r.score >= f.query.threshold {
			best.offer(r)
		}
	}
	return best.best()
}

// ranked fills in the absolute parts and the score of a candidate.
func (f *fusion) ranked(c candidate, value float64) ranked {
	r := ranked{memory: c.doc.memory, value: value, time: c.doc.time}
	r.lexical, r.vector = min(1, share(c.lexical, f.attainable)), max(0, c.cosine)
	r.score = f.weigh(&c, r.lexical, above(f.query.scale.related, c.cosine))
	return r
}

// weigh returns the weighed mean of a lexical and a vector value, and the lexical one
// of a candidate without a vector.
func (f *fusion) weigh(c *candidate, lexical, vector float64) float64 {
	if c.cosine == noVector {
		return lexical
	}
	w := f.ranker.config.Weights
	return (w.Lexical*lexical + w.Vector*vector) / (w.Lexical + w.Vector)
}

// share returns x / of, and 0 where there is nothing to have a share of.
func share(x, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return x / of
}
