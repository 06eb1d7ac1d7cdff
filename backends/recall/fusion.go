// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

// contest is one search between the documents that it may return.
type contest struct {
	ranker     *Ranker
	index      *index
	query      *query
	scratch    *scratch
	attainable float64 // lexical score
}

// pool is how many hits leave the ranking: those asked for, or more where a
// reranker chooses among them.
func (c *contest) pool() int {
	if c.ranker.config.Reranker == nil {
		return c.query.topK
	}
	return poolSize(c.query.topK)
}

func poolSize(topK int) int { return max(4*topK, 60) }

// entrant fills in the absolute parts and the score of a document.
func (c *contest) entrant(slot int32) ranked {
	d := &c.index.docs[slot]
	e := ranked{slot: slot, time: d.time, id: d.memory.ID}
	e.lexical = min(1, share(c.scratch.lexical[slot], c.attainable))
	e.score = e.lexical
	if cosine := c.scratch.cosines[slot]; cosine >= 0 {
		w := c.ranker.config.Weights
		e.vector = cosine
		e.score = (w.Lexical*e.lexical + w.Vector*e.vector) / (w.Lexical + w.Vector)
	}
	return e
}

// weightedSum orders by the parts, each divided by its highest value among the
// documents that may be returned, weighed and added. A document without a vector
// goes by its lexical part alone.
func (c *contest) weightedSum() []ranked {
	lexical, cosines := c.scratch.lexical, c.scratch.cosines
	topLexical, topVector := c.tops()
	w := c.ranker.config.Weights
	best := topK{size: c.pool()}
	for _, slot := range c.scratch.chosen {
		value := share(lexical[slot], topLexical)
		if cosines[slot] >= 0 {
			value = (w.Lexical*value + w.Vector*share(cosines[slot], topVector)) / (w.Lexical + w.Vector)
		}
		c.offer(&best, slot, value)
	}
	return best.best()
}

// tops returns the highest lexical score and the highest cosine among the
// documents that may be returned.
func (c *contest) tops() (lexical, vector float64) {
	for _, slot := range c.scratch.chosen {
		lexical = max(lexical, c.scratch.lexical[slot])
		vector = max(vector, c.scratch.cosines[slot])
	}
	return lexical, vector
}

// share returns x / of, and 0 where there is nothing to have a share of.
func share(x, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return x / of
}

// offer puts a document into the heap unless it found nothing or its score is
// below the threshold.
func (c *contest) offer(best *topK, slot int32, value float64) {
	if value <= 0 {
		return
	}
	value *= c.ranker.emphasis(&c.index.docs[slot], c.query.scope.now)
	if !best.beats(value) {
		return
	}
	e := c.entrant(slot)
	if e.score < c.query.threshold {
		return
	}
	e.value = value
	best.offer(e)
}
