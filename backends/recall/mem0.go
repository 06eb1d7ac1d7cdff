// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import "math"

// What mem0 sets where a caller sets nothing.
const (
	mem0TopK      = 20
	mem0Threshold = 0.1
)

// mem0 ranks as mem0 2.0 does: the candidates are those that vectors find, a
// threshold on the cosine alone, then cosine, keyword score and entity boost
// added and divided by what they could be together in this query.
func (c *contest) mem0() []ranked {
	limit := poolSize(c.query.topK)
	keyword := c.mem0Keywords(limit)
	eligible := func(slot int32) bool { return c.query.scope.admits(&c.index.docs[slot]) }
	boost := c.index.entities.boosts(c.query.text, c.index.analyzer, eligible)
	possible := 1.0
	if len(keyword) > 0 {
		possible++
	}
	if len(boost) > 0 {
		possible += maxEntityBoost
	}
	threshold := c.mem0Threshold()
	best := topK{size: c.pool()}
	for _, e := range c.nearest(limit) {
		if e.vector < threshold {
			continue
		}
		e.lexical, e.signals = keyword[e.slot], boost[e.slot]
		e.score = min(1, (e.vector+e.lexical+e.signals)/possible)
		e.value = e.score * c.ranker.emphasis(&c.index.docs[e.slot], c.query.scope.now)
		best.offer(e)
	}
	return best.best()
}

// mem0Threshold is the cosine below which nothing is a hit.
func (c *contest) mem0Threshold() float64 {
	if c.query.threshold == 0 {
		return mem0Threshold
	}
	return c.query.threshold
}

// nearest returns the documents with the highest cosines.
func (c *contest) nearest(limit int) []ranked {
	best := topK{size: limit}
	for _, slot := range c.scratch.chosen {
		v, d := c.scratch.cosines[slot], &c.index.docs[slot]
		if v < 0 {
			continue
		}
		best.offer(ranked{slot: slot, value: v, vector: v, time: d.time, id: d.memory.ID})
	}
	return best.best()
}

// mem0Keywords returns the keyword scores, 0 to 1, of the documents that match
// the query's words best.
func (c *contest) mem0Keywords(limit int) map[int32]float64 {
	best := topK{size: limit}
	for _, slot := range c.scratch.chosen {
		if v := c.scratch.lexical[slot]; v > 0 {
			d := &c.index.docs[slot]
			best.offer(ranked{slot: slot, value: v, time: d.time, id: d.memory.ID})
		}
	}
	out := make(map[int32]float64, len(best.heap))
	for _, e := range best.heap {
		out[e.slot] = mem0Sigmoid(e.value, int(c.query.bag.length))
	}
	return out
}

// mem0Sigmoid maps a BM25 score to 0 to 1. The more words a query has, the
// higher its scores get, and the further to the right the curve stands.
func mem0Sigmoid(score float64, words int) float64 {
	midpoint, steepness := 12.0, 0.5
	switch {
	case words <= 3:
		midpoint, steepness = 5, 0.7
	case words <= 6:
		midpoint, steepness = 7, 0.6
	case words <= 9:
		midpoint = 9
	case words <= 15:
		midpoint = 10
	}
	return 1 / (1 + math.Exp(-steepness*(score-midpoint)))
}
