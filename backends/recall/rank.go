// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"slices"

	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends"
)

// scratch is memory that one search needs and the next one uses again.
type scratch struct {
	lexical []float64 // by slot; all zero between searches
	cosines []float64 // by slot, 0 to 1; noVector where there is none
	matched []int32   // slots with a lexical score
	chosen  []int32   // slots that may be hits
}

// noVector stands in the place of a cosine.
const noVector = -1

// unit brings a cosine into 0 to 1.
func unit(cosine float64) float64 { return max(0, min(1, cosine)) }

func (r *Ranker) borrow(slots int) *scratch {
	s, _ := r.scratch.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	s.lexical = slices.Grow(s.lexical[:0], slots)[:slots]
	s.cosines = slices.Grow(s.cosines[:0], slots)[:slots]
	s.matched, s.chosen = s.matched[:0], s.chosen[:0]
	return s
}

func (r *Ranker) giveBack(s *scratch) {
	for _, slot := range s.matched {
		s.lexical[slot] = 0
	}
	r.scratch.Put(s)
}

// rank returns the pool of hits of a query, best first.
func (r *Ranker) rank(p *partition, q *query) ([]backends.Hit, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	x := p.index
	if q.vector != nil {
		if err := x.checkVectors(r.config.EmbeddingModel, len(q.vector)); err != nil {
			return nil, err
		}
	}
	s := r.borrow(len(x.docs))
	defer r.giveBack(s)
	lexical := x.lexicon.query(&q.bag, r.config.BM25)
	s.matched = x.lexicon.score(&lexical, r.config.BM25, s.lexical, s.matched)
	if q.vector != nil {
		x.scan(q, s)
	} else {
		x.choose(q, s)
	}
	c := contest{ranker: r, index: x, query: q, scratch: s, attainable: lexical.attainable}
	return x.hits(c.weightedSum()), nil
}

// choose lists the eligible documents that match the query's terms.
func (x *index) choose(q *query, s *scratch) {
	for _, slot := range s.matched {
		if q.scope.admits(&x.docs[slot]) {
			s.chosen = append(s.chosen, slot)
			s.cosines[slot] = noVector
		}
	}
}

// scan lists all eligible documents that match the query's terms or have a
// vector, with the cosines of those that have one.
func (x *index) scan(q *query, s *scratch) {
	for slot := range x.docs {
		d := &x.docs[slot]
		if d.row < 0 && s.lexical[slot] == 0 || !q.scope.admits(d) {
			continue
		}
		s.chosen = append(s.chosen, int32(slot))
		s.cosines[slot] = noVector
		if d.row >= 0 {
			s.cosines[slot] = unit(float64(vek32.Dot(q.vector, x.matrix.row(d.row))))
		}
	}
}

// hits copies the chosen memories out of the index.
func (x *index) hits(best []ranked) []backends.Hit {
	hits := make([]backends.Hit, len(best))
	for i, b := range best {
		hits[i] = backends.Hit{
			Memory: cloneMemory(x.docs[b.slot].memory),
			Score:  b.score,
			Parts:  backends.ScoreParts{Lexical: b.lexical, Vector: b.vector},
		}
	}
	return hits
}
