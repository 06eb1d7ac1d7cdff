// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"slices"
)

const (
	// minNeighbours is how many neighbours the store is asked for, at least.
	minNeighbours = 128
	// growth is how many times more neighbours are asked for when those before did
	// not settle the outcome.
	growth = 4
	// budget is how many vectors a search reads, at least, before it is content with
	// those that are likely to be the best.
	budget = 8192
	// slack is what rounding may make of a cosine.
	slack = 1e-6
)

// depth is how many of the nearest memories the scoring has to know for certain.
func (c *contest) depth() int {
	switch {
	case c.ranker.config.Scoring == Mem0Compatible:
		return poolSize(c.query.topK)
	case c.ranker.config.Fusion == ReciprocalRank:
		return c.rrfDepth()
	}
	return c.pool()
}

// strongestWords returns the documents that match the words of the query best, as
// many as the scoring wants to know the cosines of.
func (c *contest) strongestWords() []int32 {
	best := topK{size: max(c.ranker.nearest/4, 2*c.pool())}
	switch {
	case c.ranker.config.Scoring == Mem0Compatible:
		return nil // words find no candidates there
	case c.ranker.config.Fusion == ReciprocalRank:
		best.size = c.rrfDepth()
	}
	for _, slot := range c.scratch.chosen {
		if v := c.scratch.lexical[slot]; v > 0 && best.beats(v) {
			d := &c.index.docs[slot]
			best.offer(ranked{slot: slot, value: v, time: d.time, id: d.memory.ID})
		}
	}
	out := make([]int32, len(best.heap))
	for i := range best.heap {
		out[i] = best.heap[i].slot
	}
	return out
}

// lastNeed is what may still change the outcome: the vectors of those that would be
// among the best if they were as near as they can be, given that the store found
// others to be nearer. Where these are too many, more neighbours tell them apart.
func (s *remoteSearch) lastNeed(best []ranked) *step {
	if s.limit == 0 { // everything was looked at
		return nil
	}
	rivals, enough := s.rivals(best)
	left := len(rivals)
	if enough { // else all that exist are looked for, whatever it takes
		left = max(0, max(s.ranker.budget, growth*s.limit)-s.read)
	}
	if next := min(growth*s.limit, s.active); len(rivals) > next && next > s.limit && next <= left && !s.all {
		return &step{limit: next}
	}
	if len(rivals) > left {
		s.cut, rivals = true, rivals[:left]
	}
	return s.fetch(rivals)
}

// rivals returns the eligible documents whose vectors were not read and that may
// belong to the best, the most promising first, and whether there are enough hits
// without them. It takes the store at its word that it returned the nearest.
func (s *remoteSearch) rivals(best []ranked) (slots []int32, enough bool) {
	c := &s.contest
	reach, certain := s.reach()
	barrier, enough := s.barrier(best)
	b := bound{contest: c, barrier: barrier, reach: reach, certain: certain}
	b.topLexical, b.topVector = c.tops()
	var found []ranked
	for _, slot := range c.scratch.chosen {
		if c.scratch.cosines[slot] != unseen {
			continue
		}
		if value, ok := b.mayEnter(slot); ok {
			d := &c.index.docs[slot]
			found = append(found, ranked{slot: slot, value: value, time: d.time, id: d.memory.ID})
		}
	}
	slices.SortFunc(found, func(a, b ranked) int { return compareRanked(&a, &b) })
	for _, r := range found {
		slots = append(slots, r.slot)
	}
	return slots, enough
}

// reach returns how near to the query a memory can be that was not looked at. The
// neighbours tell: those that come last are nearer than all others. An index that
// rounds mistakes the order of some, so it is the nearest of the last eighth. With
// no neighbour that may be returned nothing is known.
func (s *remoteSearch) reach() (cosine float64, known bool) {
	if s.all {
		return noVector, true
	}
	var cosines []float64
	for _, id := range s.near {
		slot, there := s.contest.index.slots[id]
		cosine, seen := s.known[id]
		if there && seen && cosine >= 0 && s.query.scope.admits(&s.contest.index.docs[slot]) {
			cosines = append(cosines, cosine)
		}
	}
	if len(cosines) == 0 {
		return 1, false
	}
	return slices.Max(cosines[len(cosines)-(len(cosines)+7)/8:]) + slack, true
}

// barrier returns what somebody has to reach to be among the best: a rank value, or
// a cosine where the scoring has a place for the nearest alone. It is 0 as long as
// there are not enough.
func (s *remoteSearch) barrier(best []ranked) (value float64, enough bool) {
	c := &s.contest
	if !c.byCosine() {
		if len(best) < c.pool() {
			return 0, false
		}
		return best[len(best)-1].value, true
	}
	var cosines []float64
	for _, slot := range c.scratch.chosen {
		if cosine := c.scratch.cosines[slot]; cosine >= 0 {
			cosines = append(cosines, cosine)
		}
	}
	if len(cosines) < c.depth() {
		return 0, false
	}
	slices.SortFunc(cosines, func(a, b float64) int { return cmp.Compare(b, a) })
	return cosines[c.depth()-1], true
}

// byCosine reports whether the scoring takes the nearest whatever their words are.
func (c *contest) byCosine() bool {
	return c.ranker.config.Scoring == Mem0Compatible || c.ranker.config.Fusion == ReciprocalRank
}

// bound tells how good a document can be whose vector was not read.
type bound struct {
	contest               *contest
	barrier               float64
	reach                 float64 // the highest cosine it can have; noVector: it has none
	certain               bool    // the nearest document that may be returned is known
	topLexical, topVector float64
}

// mayEnter reports whether a document may belong to the best, and the rank value
// that it would have at most.
func (b *bound) mayEnter(slot int32) (float64, bool) {
	c := b.contest
	raw, score := b.most(slot)
	value := raw * c.ranker.emphasis(&c.index.docs[slot], c.query.scope.now) * (1 + slack)
	switch {
	case !b.certain:
		return value, true // it may even set the scale for the others
	case c.ranker.config.Scoring == Mem0Compatible:
		return value, b.reach >= 0 && b.reach >= b.barrier && b.reach >= c.mem0Threshold()
	case c.ranker.config.Fusion == ReciprocalRank:
		return value, b.reach > 0 && b.reach >= b.barrier
	case raw <= 0, score+slack < c.query.threshold:
		return value, false
	}
	return value, value >= b.barrier
}

// most returns the highest rank value and the highest score that a document can
// have: by its words alone, in case it has no vector, or with a vector as near as
// it can be.
func (b *bound) most(slot int32) (value, score float64) {
	lexical := b.contest.scratch.lexical[slot]
	value, score = share(lexical, b.topLexical), min(1, share(lexical, b.contest.attainable))
	if b.reach < 0 {
		return value, score
	}
	w, cosine := b.contest.ranker.config.Weights, min(1, share(b.reach, b.topVector))
	if b.topVector <= 0 && b.reach > 0 {
		cosine = 1
	}
	value = max(value, (w.Lexical*value+w.Vector*cosine)/(w.Lexical+w.Vector))
	score = max(score, (w.Lexical*score+w.Vector*b.reach)/(w.Lexical+w.Vector))
	return value, score
}
