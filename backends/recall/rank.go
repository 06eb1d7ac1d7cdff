// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends"
)

// candidate is a memory that may be a hit, and what the parts found.
type candidate struct {
	doc     *doc
	slot    int32   // notIndexed beside the index
	words   float64 // BM25 score
	own     float64
	lexical float64 // the same with what signals add to Score
	session float64 // what its session adds to the order
	cosine  float64 // 0 to 1; noVector where query or memory have none
}

const noVector, notIndexed = -1, -1

// scratch is memory that one search needs and the next one uses again.
type scratch struct {
	scores     []float64 // BM25, by slot; all zero between searches
	matched    []int32   // slots with a score
	own        []float64 // with what ownSignals add; all zero between searches
	values     []float64 // with what handedSignals add, too; all zero between searches
	found      []int32   // slots with a value
	cosines    []float64 // by slot, of the last search with a vector
	candidates []candidate

	sessions, counts []float64 // by number
	touched          []int32
}

func (r *Ranker) borrow(slots int) *scratch {
	s, _ := r.scratch.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	for _, scores := range []*[]float64{&s.scores, &s.own, &s.values} {
		*scores = slices.Grow((*scores)[:0], slots)[:slots]
	}
	s.matched, s.found, s.candidates = s.matched[:0], s.found[:0], s.candidates[:0]
	return s
}

func (r *Ranker) release(s *scratch) {
	for _, slot := range s.matched {
		s.scores[slot], s.own[slot] = 0, 0
	}
	for _, slot := range s.found {
		s.values[slot] = 0
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
	defer r.release(s)
	terms, attainable := x.lexicon.weigh(q.terms, r.analyzer.groups)
	s.matched = x.lexicon.score(terms, x.docs, s.scores, s.matched)
	f := r.field(x, q, s, terms)
	if q.vector == nil {
		f.choose()
	} else {
		f.scan(q)
	}
	for i := range q.beside {
		if b := &q.beside[i]; q.eligible.admits(&b.doc) {
			words := x.lexicon.scoreOf(terms, b)
			s.candidates = append(s.candidates, candidate{doc: &b.doc, slot: notIndexed, words: words, own: words, lexical: words, cosine: noVector})
		}
	}
	return f.hits(f.fuse(q, attainable, r.pool(q.topK)), attainable), nil
}

// choose lists the memories that have a score.
func (f *field) choose() {
	for _, slot := range f.s.found {
		f.s.candidates = append(f.s.candidates, f.candidate(slot))
	}
}

// scan lists the eligible memories that have a score or a vector.
func (f *field) scan(q *query) {
	f.s.cosines = slices.Grow(f.s.cosines[:0], len(f.x.docs))[:len(f.x.docs)]
	for slot := range f.x.docs {
		d := &f.x.docs[slot]
		f.s.cosines[slot] = noVector
		if d.vector == nil && f.s.values[slot] == 0 || !q.eligible.admits(d) {
			continue
		}
		c := f.candidate(int32(slot))
		if d.vector != nil {
			c.cosine = max(0, min(1, float64(vek32.Dot(q.vector, d.vector))))
			f.s.cosines[slot] = c.cosine
		}
		f.s.candidates = append(f.s.candidates, c)
	}
}

func (f *field) candidate(slot int32) candidate {
	c := candidate{doc: &f.x.docs[slot], slot: slot, words: f.s.scores[slot], own: f.s.own[slot], lexical: f.s.values[slot], cosine: noVector}
	if c.lexical > 0 {
		c.session = f.ofSession(slot)
	}
	return c
}

// hits copies the chosen memories out of the index.
func (f *field) hits(best []ranked, attainable float64) []backends.Hit {
	hits := make([]backends.Hit, len(best))
	for i, b := range best {
		parts := backends.ScoreParts{Lexical: min(1, share(b.words, attainable)), Vector: max(0, b.cosine)}
		if b.slot != notIndexed {
			parts.Signals = f.explain(b.slot, attainable)
		}
		hits[i] = backends.Hit{Memory: b.doc.memory.Clone(), Score: b.score, Parts: parts}
	}
	return hits
}

// eligibility decides which memories a search may return at all. It is asked before anything
// is ranked: what it excludes takes no place and sets no scale.
type eligibility struct {
	request *backends.SearchRequest
	match   func(*backends.Memory) bool
	now     int64
}

func newEligibility(q *backends.SearchRequest, now time.Time) (eligibility, error) {
	match, err := q.Filter.Compile()
	return eligibility{request: q, match: match, now: nanos(now)}, err
}

func (e *eligibility) admits(d *doc) bool {
	switch q := e.request; {
	case d.memory == nil, e.expired(d):
		return false
	case !q.KnownAt.IsZero() && d.memory.Created.After(q.KnownAt):
		return false
	case q.AsOf.IsZero() && !q.IncludeSuperseded && e.ended(d), !q.AsOf.IsZero() && !e.held(d):
		return false
	case len(q.Kinds) > 0 && !slices.Contains(q.Kinds, d.memory.Kind):
		return false
	}
	return e.match(d.memory)
}

func (e *eligibility) expired(d *doc) bool { return !e.request.IncludeExpired && e.now >= d.expires }

// ended reports whether a memory was known to hold no more, which is stored when it is
// superseded or retracted.
func (e *eligibility) ended(d *doc) bool {
	at := e.request.KnownAt
	return !d.active && (at.IsZero() || !d.memory.Updated.After(at))
}

// held reports whether a memory had begun to hold at the time that is asked for, and had not
// ended.
func (e *eligibility) held(d *doc) bool {
	at := e.request.AsOf
	return !d.memory.Since().After(at) && (e.request.IncludeSuperseded || !e.ended(d) || at.Before(d.memory.Invalidated))
}

// ranked is a memory on its way to becoming a hit.
type ranked struct {
	candidate
	value float64 // what the order is by
	score float64
}

// How words and vectors make one order: see the package comment.
const (
	wordsWeight  = 6.0 // of the share of what the query could attain
	vectorWeight = 0.4 // of a standard deviation of the cosine
	besideWeight = 0.4 // of what the vectors before and after a memory in its session have above the mean
)

// fuse makes one order of the parts. It returns as many as were asked for, or as a reranker
// chooses among.
func (f *field) fuse(q *query, attainable float64, pool int) []ranked {
	cosines := q.standard(f.s.candidates)
	best := topK{size: pool, floor: math.Inf(-1)}
	for _, c := range f.s.candidates {
		if c.lexical == 0 && c.cosine <= q.scale.usual {
			continue
		}
		value := wordsWeight * share(c.lexical+c.session, attainable)
		if c.cosine != noVector {
			value += vectorWeight * (cosines.of(c.cosine) + besideWeight*(f.vectorAt(cosines, c.slot, -1)+f.vectorAt(cosines, c.slot, 1)))
		}
		if !best.admits(value) {
			continue
		}
		if score := c.mean(c.shareOf(attainable), above(q.scale.related, c.cosine)); score >= q.threshold {
			best.offer(ranked{c, value, score})
		}
	}
	return best.best()
}

// vectorAt returns what the cosine beside a memory has above the mean.
func (f *field) vectorAt(cosines standard, slot, steps int32) float64 {
	if near := f.beside(slot, steps); near >= 0 && f.s.cosines[near] != noVector {
		return max(0, cosines.of(f.s.cosines[near]))
	}
	return 0
}

// standard says how usual a cosine is in a partition, for a query.
type standard struct{ mean, deviation float64 }

// of returns how many standard deviations a cosine lies above the mean.
func (s standard) of(cosine float64) float64 { return (cosine - s.mean) / s.deviation }

// standard takes the cosines of the candidates. A few may all be high, and so those of as
// many pairs of unrelated sentences as made the scale count with them.
func (q *query) standard(candidates []candidate) standard {
	const pairs = 28 // of eight sentences
	usual, deviation := q.scale.usual, (q.scale.related-q.scale.usual)/3
	n, sum, squares := float64(pairs), pairs*usual, pairs*(usual*usual+deviation*deviation)
	for i := range candidates {
		if c := candidates[i].cosine; c != noVector {
			n, sum, squares = n+1, sum+c, squares+c*c
		}
	}
	mean := sum / n
	return standard{mean, max(1e-6, math.Sqrt(max(0, squares/n-mean*mean)))} // else all are the same
}

// shareOf returns how much of the score that the query could attain a candidate has.
func (c *candidate) shareOf(attainable float64) float64 {
	return min(1, share((c.own+c.lexical)/2, attainable))
}

// mean returns that of a lexical and a vector value, and the lexical one of a candidate
// without a vector.
func (c *candidate) mean(lexical, vector float64) float64 {
	if c.cosine == noVector {
		return lexical
	}
	return (lexical + vector) / 2
}

// share returns x / of, and 0 where there is nothing to have a share of.
func share(x, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return x / of
}

// compareRanked orders by value, then newer first, then by id: the same on every store,
// since nothing depends on where a memory stands in the index.
func compareRanked(a, b ranked) int {
	return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(b.doc.time, a.doc.time), cmp.Compare(a.doc.memory.ID, b.doc.memory.ID))
}

// topK keeps the best of what is offered.
type topK struct {
	size  int
	items []ranked // the best so far, and what was offered since they were picked
	floor float64  // value of the last of the best when they were picked
}

// admits reports whether an item of the given value may be among the best.
func (t *topK) admits(value float64) bool { return value >= t.floor }

func (t *topK) offer(r ranked) {
	t.items = append(t.items, r)
	if len(t.items) >= 2*t.size {
		t.floor = t.best()[t.size-1].value
	}
}

// best returns the best, best first.
func (t *topK) best() []ranked {
	slices.SortFunc(t.items, compareRanked)
	t.items = t.items[:min(len(t.items), t.size)]
	return t.items
}

// Reranker orders a pool of hits by a closer look, as a cross-encoder or a model does. It
// must be safe for concurrent use.
type Reranker interface {
	// Rerank returns one score from 0 to 1 for each hit. The hits are the whole pool, more
	// than were asked for, best first; they must not be changed. An error leaves the order
	// as it was and is reported as Degraded.
	Rerank(ctx context.Context, query string, hits []backends.Hit) ([]float64, error)
}

// pool is how many hits leave the ranking: those asked for, or more where a reranker
// chooses among them.
func (r *Ranker) pool(topK int) int {
	if r.config.Reranker == nil {
		return topK
	}
	return max(4*topK, 60)
}

// rerank orders the pool by the reranker's scores and returns as many as were asked for.
// On a failure the order stays as it was, and the error is for Degraded.
func (r *Ranker) rerank(ctx context.Context, q *query, pool []backends.Hit) ([]backends.Hit, error) {
	n := min(len(pool), q.topK)
	if r.config.Reranker == nil || n == 0 {
		return pool[:n:n], nil
	}
	shown := slices.Clone(pool) // also a reranker that answers too late has hits of its own
	for i := range shown {
		shown[i].Memory = pool[i].Clone()
	}
	scores, err := call(ctx, r.reranking, func(ctx context.Context) ([]float64, error) {
		return r.config.Reranker.Rerank(ctx, q.text, shown)
	})
	if err == nil {
		err = checkScores(scores, len(pool))
	}
	if err != nil {
		return pool[:n:n], fmt.Errorf("the order is as before the reranker: %w", err)
	}
	for i := range pool {
		pool[i].Parts.Rerank = scores[i]
	}
	slices.SortStableFunc(pool, func(a, b backends.Hit) int { return cmp.Compare(b.Parts.Rerank, a.Parts.Rerank) })
	return pool[:n:n], nil
}

func checkScores(scores []float64, n int) error {
	if len(scores) != n {
		return fmt.Errorf("%d scores for %d hits: %w", len(scores), n, backends.ErrModel)
	}
	for i, s := range scores {
		if math.IsNaN(s) || s < 0 || s > 1 {
			return fmt.Errorf("score %v of hit %d: %w: not from 0 to 1", s, i, backends.ErrModel)
		}
	}
	return nil
}

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
