// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"context"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/viterin/vek/vek32"

	"github.com/einomem/einomem/backends"
)

// candidate is a memory that may be a hit, with its scores.
type candidate struct {
	doc     *doc
	slot    int32   // notIndexed beside the index
	words   float64 // BM25 score
	own     float64
	lexical float64 // the same with what signals add to Score
	cosine  float64 // 0 to 1; noVector where the query or the memory lacks a vector
}

const noVector, notIndexed = -1, -1

// scratch is the working memory of one search, which the next one uses again.
type scratch struct {
	scores  []float64 // BM25, by slot; all zero between searches
	matched []int32   // slots with a score
	own     []float64 // with what ownSignals add; all zero between searches
	values  []float64 // with what neighbourSignals add, too; all zero between searches
	found   []int32   // slots with a value
	top     []float64 // the highest of own, then of bounds
	bounds  []float64 // of the candidates' values, in their order
	closer  candidate // the one that is looked at
	best    []ranked
	spans   []span    // the times of the query that have memories
	cosines []float64 // by slot, of the last search with a vector
	scanned []int32   // slots of it
	same    []int32   // the same in the script of the query

	sessions, counts []float64 // by number
	touched          []int32
}

func (r *Ranker) borrow(x *index) *scratch {
	s, slots := r.scratch.Get().(*scratch), len(x.docs)
	for _, scores := range []*[]float64{&s.scores, &s.own, &s.values} {
		*scores = slices.Grow((*scores)[:0], slots)[:slots]
	}
	s.matched, s.found = s.matched[:0], s.found[:0]
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

// rank returns the pool of hits of a query and of the questions in it, best first.
func (r *Ranker) rank(ctx context.Context, p *partition, q *query) ([]found, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	x := p.index
	if q.vector != nil {
		if err := x.checkVectors(r.config.EmbeddingModel, len(q.vector)); err != nil {
			return nil, err
		}
	}
	pools := make([][]found, len(q.questions))
	for i, question := range q.questions {
		var err error
		if pools[i], err = r.answer(ctx, p, question, q.pool()); err != nil {
			return nil, err
		}
	}
	pool := join(pools[0], slices.Concat(pools[1:]...))
	pool = pool[:min(len(pool), q.pool())]
	if r.signals.named {
		othersLast(pool, x.namedIn(q))
	}
	return pool, nil
}

// answer returns so many hits of one question, best first.
func (r *Ranker) answer(ctx context.Context, p *partition, q *query, pool int) ([]found, error) {
	x := p.index
	s := r.borrow(x)
	defer r.release(s)
	asked, ofTheTime := x.date(q, s)
	terms, attainable := x.lexicon.weigh(asked, r.analyzer.groups)
	keywords, _ := x.lexicon.weigh(q.keywords, nil)
	terms = append(terms, keywords...)
	if len(q.context) > 0 && !x.tells(terms) {
		before, _ := x.lexicon.weigh(q.context, nil)
		terms = append(terms, before...)
	}
	if !q.ofTime {
		r.datesLast(q, terms)
	}
	s.matched = x.lexicon.score(terms, x.docs, x.talk.lengthWeight(), s.scores, s.matched)
	x.addTime(q, s, ofTheTime)
	f := r.ranking(x, q, s, terms)
	if f.slots = s.found; q.vector != nil {
		f.scan(q)
		f.cosines.standard = f.standard(q)
	}
	for i := range q.extra {
		if b := &q.extra[i]; q.eligible.admits(&b.doc) {
			words := x.lexicon.scoreOf(terms, b, x.talk.lengthWeight())
			f.extra = append(f.extra, candidate{doc: &b.doc, slot: notIndexed, words: words, own: words, lexical: words, cosine: noVector})
		}
	}
	if err := r.narrow(ctx, p.key, f, q, attainable, pool); err != nil {
		return nil, err
	}
	s.best = f.fuse(q, attainable, topK{size: pool, items: s.best[:0]}, 0)
	return f.hits(s.best, attainable), nil
}

// contextWeight is the weight of a word of the preceding messages, where the query leaves open what
// it is about.
const contextWeight = 0.8

// leaning are words that point to preceding messages.
var leaning = regexp.MustCompile(`^(?:ones?|others?|another|els|same|thing|else)$|^(?:别的|其他|其它|那个|这个|一样)$`)

// tells reports whether a word of a query says which memories it is about. "and a cheaper one?"
// leaves that to the preceding messages, and so does a word that most memories have. A single
// character is too short for a word.
func (x *index) tells(terms []weighedTerm) bool {
	return slices.ContainsFunc(terms, func(t weighedTerm) bool {
		word, held := t.words[0], len(t.list)
		return held > 0 && 3*held < x.lexicon.memories && !t.loose && utf8.RuneCountInString(word) > 1 && !leaning.MatchString(word)
	})
}

// scan compares the query with all vectors, and lists the eligible memories that have a score
// or a vector. Cosines with codes are estimates.
func (f *ranking) scan(q *query) {
	if f.x.coder != nil {
		f.cosines.probe = f.x.coder.probe(q.vector)
	}
	f.s.cosines, f.slots = slices.Grow(f.s.cosines[:0], len(f.x.docs))[:len(f.x.docs)], f.s.scanned[:0]
	for slot := range f.x.docs {
		d := &f.x.docs[slot]
		f.s.cosines[slot] = noVector
		if !d.embedded() && f.s.values[slot] == 0 || !f.x.admits(&q.eligible, int32(slot)) {
			continue
		}
		f.slots = append(f.slots, int32(slot))
		switch {
		case d.vector != nil:
			f.s.cosines[slot] = q.cosine(d.vector)
		case d.code != nil:
			f.s.cosines[slot] = f.cosines.probe.rough(d.code)
			if d.sampled(f.x.vectors) {
				f.cosines.sample.add(f.s.cosines[slot], f.cosines.probe.fine(d.code))
			}
		}
	}
	f.s.scanned = f.slots
}

func (q *query) cosine(vector []float32) float64 {
	return max(0, min(1, float64(vek32.Dot(q.vector, vector))))
}

// hits returns the chosen memories with what is said of them.
func (f *ranking) hits(best []ranked, attainable float64) []found {
	hits := make([]found, len(best))
	for i, b := range best {
		parts := backends.ScoreParts{Lexical: min(1, share(b.words, attainable)), Vector: max(0, b.cosine)}
		if b.slot != notIndexed || b.states < 1 {
			parts.Signals = f.explain(&b, attainable)
		}
		hits[i] = found{of: b.doc.memory, score: b.score, parts: parts, value: b.value, vector: f.vectorOf(b)}
	}
	return hits
}

// vectorOf returns the vector of a hit, or nil.
func (f *ranking) vectorOf(b ranked) []float32 {
	if b.doc.code != nil {
		return f.cosines.exact[b.slot]
	}
	return b.doc.vector
}

// ranked is a memory on its way to becoming a hit.
type ranked struct {
	candidate
	value  float64 // the order follows it
	score  float64
	states float64 // the factor of both, for what the memory states
}

// How words and vectors make one order: see the package comment.
const (
	wordsWeight  = 6.0 // of the share of what the query could attain
	clearly      = 0.4 // the share from which on words say more than that beside vectors, and below which less
	vectorWeight = 0.3 // of a standard deviation of the cosine
	aroundWeight = 0.4 // of what the vectors before and after a memory in its session have above the mean
)

// fuse makes one order of the parts and offers it to best. Cosines may be higher by a doubt. The
// memories that may have the highest values come first, so that most others need no closer look.
func (f *ranking) fuse(q *query, attainable float64, best topK, doubt float64) []ranked {
	best.floor = math.Inf(-1)
	consider := func(c *candidate, words, vectors float64) {
		factor := f.weigh(c.doc.memory)
		if c.lexical == 0 && c.cosine+doubt <= q.scale.usual || !best.admits(q.value(f.atMost(words), vectors, factor)) {
			return
		}
		if words *= 1 + f.factor(c); !best.admits(q.value(words, vectors, factor)) {
			return
		}
		states := f.statingWeight(c)
		if score := states * c.raise(min(1, share((c.own+c.lexical)/2, attainable)), above(q.scale.related, c.cosine+doubt)); score >= q.threshold {
			best.offer(ranked{*c, q.value(words, vectors, states*factor), score, states})
		}
	}
	first := f.bound(q, attainable, best.size)
	for _, early := range []bool{true, false} {
		for i, slot := range f.slots {
			if f.s.bounds[i] >= first == early && best.admits(f.s.bounds[i]) {
				at := &f.x.sessions.offsets[slot]
				vectors := f.vectors(slot, f.vectorAt(at.before)+f.vectorAt(at.after))
				f.s.closer = candidate{&f.x.docs[slot], slot, f.s.scores[slot], f.s.own[slot], f.s.values[slot], f.cosine(slot)}
				consider(&f.s.closer, f.words(slot, attainable), vectors)
			}
		}
		best.best()
	}
	for i := range f.extra {
		consider(&f.extra[i], share(f.extra[i].lexical, attainable), 0)
	}
	return best.best()
}

// bound sets the bounds of the slots: the highest value that each may have. It returns the bound
// of the last of so many with the highest ones.
func (f *ranking) bound(q *query, attainable float64, size int) float64 {
	beside := 2 * max(0, f.cosines.of(f.cosines.highest)) // at most
	top, bounds := topScores{size: size, scores: f.s.top[:0]}, f.s.bounds[:0]
	for _, slot := range f.slots {
		bound := q.value(f.atMost(f.words(slot, attainable)), f.vectors(slot, beside), 1)
		bounds = append(bounds, bound)
		top.offer(bound)
	}
	f.s.top, f.s.bounds = top.scores, bounds
	return top.last()
}

// words returns the share of what the query could attain that the words of a memory have.
func (f *ranking) words(slot int32, attainable float64) float64 {
	if f.s.values[slot] == 0 {
		return 0
	}
	return share(f.s.values[slot]+f.ofSession(slot), attainable)
}

// cosine returns the cosine of a memory, or noVector.
func (f *ranking) cosine(slot int32) float64 {
	if f.cosines.deviation == 0 { // the query has no vector
		return noVector
	}
	return f.s.cosines[slot]
}

// vectors returns what vectors add to the value of a memory: its own, and those beside it.
func (f *ranking) vectors(slot int32, beside float64) float64 {
	if f.cosine(slot) == noVector {
		return 0
	}
	return vectorWeight * (f.cosines.of(f.s.cosines[slot]) + aroundWeight*beside)
}

// value makes one value of a share of words and of what vectors add, with a factor for both. Beside
// vectors words count by the square of their share: a common word of the query says little.
func (q *query) value(words, vectors, factor float64) float64 {
	words *= factor
	if vectors > 0 {
		vectors *= factor
	}
	if q.vector != nil {
		words *= words / clearly
	}
	return wordsWeight*words + vectors
}

// vectorAt returns how far a neighbour's cosine exceeds the mean.
func (f *ranking) vectorAt(beside int32) float64 {
	if beside == 0 || f.cosine(beside-1) == noVector {
		return 0
	}
	return max(0, f.cosines.of(f.s.cosines[beside-1]))
}

// standard says how usual a cosine is in a partition, for a query.
type standard struct{ mean, deviation, highest float64 }

// of returns how many standard deviations a cosine lies above the mean.
func (s standard) of(cosine float64) float64 { return (cosine - s.mean) / s.deviation }

// pairs is how many pairs the eight unrelated sentences of a language have.
const pairs = 28

// scaled returns the candidates whose cosines make the scale: those in the script of the query,
// where they are many. Texts of one language are nearer to each other than to those of another.
func (f *ranking) scaled(q *query) []int32 {
	same := f.s.same[:0]
	for _, slot := range f.slots {
		if f.s.cosines[slot] != noVector && f.x.glances[slot].han == q.han {
			same = append(same, slot)
		}
	}
	if f.s.same = same; len(same) < pairs {
		return f.slots
	}
	return same
}

// standard takes the cosines of the candidates. A few candidates may all have high cosines, so the
// cosines of the unrelated sentences' pairs count with them. Estimates spread more than exact
// cosines; the sample says by how much.
func (f *ranking) standard(q *query) standard {
	usual, deviation := q.scale.usual, (q.scale.related-q.scale.usual)/3
	n, sum, squares, highest := float64(pairs), pairs*usual, pairs*(usual*usual+deviation*deviation), 0.0
	for _, slot := range f.slots {
		highest = max(highest, f.s.cosines[slot])
	}
	for _, slot := range f.scaled(q) {
		if c := f.s.cosines[slot]; c != noVector {
			n, sum, squares = n+1, sum+c, squares+c*c
		}
	}
	each := (n - pairs) / max(1, f.cosines.sample.n)
	mean := (sum - each*f.cosines.sample.excess) / n
	return standard{mean, max(1e-6, math.Sqrt(max(0, (squares-each*f.cosines.sample.squares)/n-mean*mean))), highest} // else all are the same
}

// raise returns a lexical value raised by a vector value. A candidate without a vector keeps its
// lexical value: an embedder only adds to it.
func (c *candidate) raise(lexical, vector float64) float64 {
	if c.cosine == noVector {
		return lexical
	}
	return lexical + (1-lexical)*vector/2
}

// share returns x / of, and 0 where of is 0 or negative.
func share(x, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return x / of
}

// compareRanked orders by value, then newer first, then by id. The order is the same on every
// store, since it leaves slots out of account.
func compareRanked(a, b ranked) int {
	return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(b.doc.time, a.doc.time), cmp.Compare(a.doc.memory.ID, b.doc.memory.ID))
}

// topK keeps the best of the offered items, and some that are little worse.
type topK struct {
	size, more int
	beyond     float64  // how far below the last of size a value may be: so many more stay at most
	items      []ranked // the best so far, and the items offered since the last pick
	picked     int
	floor      float64 // the value that an item had to reach at the last pick
}

// admits reports whether an item of the given value may be among the best.
func (t *topK) admits(value float64) bool { return value >= t.floor }

func (t *topK) offer(r ranked) {
	if t.items = append(t.items, r); len(t.items) >= 2*max(t.size, t.picked) {
		t.best()
	}
}

// best returns the best, best first.
func (t *topK) best() []ranked {
	slices.SortFunc(t.items, compareRanked)
	if t.picked = min(len(t.items), t.size); t.picked == t.size {
		t.floor = t.items[t.size-1].value - t.beyond
		for t.picked < min(len(t.items), t.size+t.more) && t.admits(t.items[t.picked].value) {
			t.picked++
		}
	}
	t.items = t.items[:t.picked]
	return t.items
}

// extraDoc is a memory outside the index that takes part in the ranking.
type extraDoc struct {
	doc
	counts map[string]float64 // of its terms
	length int                // terms in halves, repeats included
}

func (r *Ranker) extraDoc(m *backends.Memory) extraDoc {
	terms, length := r.analyzer.counted(func(r *reader) bag { return r.memory(m) })
	b := extraDoc{counts: map[string]float64{}, length: length}
	b.describe(m)
	for _, t := range terms {
		b.counts[t.text] = t.count / whole
	}
	return b
}

// scoreOf returns the BM25 score of a memory outside the index. A word and its related ones count
// once.
func (x *lexicon) scoreOf(terms []weighedTerm, b *extraDoc, long float64) float64 {
	base, usual := bm25K1*(1-long), float64(b.length)
	if x.total > 0 {
		usual = float64(x.total) / float64(x.memories)
	}
	score := 0.0
	for _, t := range terms {
		count := 0.0
		for _, word := range t.words {
			count += b.counts[word]
		}
		if score == 0 && count*whole < float64(t.least) {
			continue
		}
		score += t.weight * (bm25K1 + 1) * count / (count + base + bm25K1*long*float64(b.length)/max(1, usual))
	}
	return score
}
