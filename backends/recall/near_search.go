// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"context"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// remoteSearch is one search of a partition whose vectors stay in the store. It
// goes in rounds. Each looks at the index, under its lock, and either has the hits
// or says what it needs to know from the store, which is then asked without a lock.
type remoteSearch struct {
	ranker    *Ranker
	partition *partition
	query     *query
	space     store.Embedding

	known map[string]float64 // id → cosine, 0 to 1, or noVector
	read  int                // vectors
	cut   bool               // only the most promising were read

	near  []string // the neighbours that the store found, the nearest first
	limit int      // of them; 0: not asked
	asked bool     // every vector was compared for them
	all   bool     // nothing else has a vector

	// One state of the index, prepared for ranking.
	contest  contest
	changes  int64
	active   int     // memories that the store looks at
	eligible int     // of these, those that may be hits
	inactive []int32 // those that may be hits, and that the store does not look at
}

// step is what the next round needs from the store.
type step struct {
	ids   []string // their vectors
	limit int      // so many neighbours; 0: none
	exact bool
}

// maxRounds ends a search that others, by writing all the time, never let come to
// an end: it then ranks what it knows.
const maxRounds = 20

func (r *Ranker) rankRemote(ctx context.Context, p *partition, q *query) ([]backends.Hit, error) {
	s := remoteSearch{ranker: r, partition: p, query: q, known: map[string]float64{}}
	defer s.drop()
	for round := 0; ; round++ {
		hits, next, err := s.look(round == maxRounds)
		switch {
		case err != nil:
			return nil, err
		case next == nil:
			r.cache.served(&s)
			return hits, nil
		case next.limit > 0:
			err = s.neighbours(ctx, next.limit, next.exact)
		default:
			err = s.vectors(ctx, next.ids)
		}
		if err != nil {
			return nil, err
		}
	}
}

// look returns what is to be asked next, or the hits. With last set it returns hits.
func (s *remoteSearch) look(last bool) ([]backends.Hit, *step, error) {
	s.partition.mu.RLock()
	defer s.partition.mu.RUnlock()
	x := s.partition.index
	if !x.remote {
		return nil, nil, errLoaded
	}
	if err := x.checkVectors(s.ranker.config.EmbeddingModel, len(s.query.vector)); err != nil {
		return nil, nil, err
	}
	s.prepare(x)
	s.mark()
	if !last {
		if next := s.firstNeed(); next != nil {
			return nil, next, nil
		}
	}
	best := s.contest.decide()
	if !last {
		if next := s.lastNeed(best); next != nil {
			return nil, next, nil
		}
	}
	return x.hits(best), nil, nil
}

// prepare scores the words and lists the eligible memories, again only if the index
// has changed.
func (s *remoteSearch) prepare(x *index) {
	if s.contest.index == x && s.changes == x.changes {
		return
	}
	s.drop()
	r := s.ranker
	scratch := r.borrow(len(x.docs))
	lexical := x.lexicon.query(&s.query.bag, r.config.BM25)
	scratch.matched = x.lexicon.score(&lexical, r.config.BM25, scratch.lexical, scratch.matched)
	s.active, s.inactive = 0, nil
	for slot := range x.docs {
		d := &x.docs[slot]
		if d.memory != nil && d.active {
			s.active++
		}
		if s.query.scope.admits(d) {
			scratch.chosen = append(scratch.chosen, int32(slot))
			if !d.active {
				s.inactive = append(s.inactive, int32(slot))
			}
		}
	}
	s.eligible = len(scratch.chosen) - len(s.inactive)
	s.contest = contest{ranker: r, index: x, query: s.query, scratch: scratch, attainable: lexical.attainable}
	s.changes = x.changes
	if x.embedding != nil {
		s.space = *x.embedding
	}
}

// drop gives what prepare made back.
func (s *remoteSearch) drop() {
	if s.contest.scratch != nil {
		s.ranker.giveBack(s.contest.scratch)
		s.contest = contest{}
	}
}

// mark puts the known cosines where the ranking looks for them.
func (s *remoteSearch) mark() {
	x, cosines := s.contest.index, s.contest.scratch.cosines
	for slot := range cosines {
		cosines[slot] = unseen
	}
	for id, cosine := range s.known {
		if slot, ok := x.slots[id]; ok {
			cosines[slot] = cosine
		}
	}
}

// firstNeed is what every search needs: the neighbours, and the vectors of those
// that are likely to be hits. Where less may be returned than neighbours would have
// to be asked for, it is the vectors of all that may be returned.
func (s *remoteSearch) firstNeed() *step {
	c := &s.contest
	if s.limit == 0 {
		if limit := s.neighbourhood(); limit < s.eligible {
			return &step{limit: limit}
		}
		return s.fetch(c.scratch.chosen)
	}
	if len(s.near) < s.limit && !s.asked { // an index that is walked may lose the way
		return &step{limit: s.limit, exact: true}
	}
	wanted := append(slices.Clone(s.inactive), c.strongestWords()...)
	for _, id := range s.near {
		if slot, ok := c.index.slots[id]; ok && s.query.scope.admits(&c.index.docs[slot]) {
			wanted = append(wanted, slot)
		}
	}
	return s.fetch(wanted)
}

// neighbourhood is how many neighbours are asked for at first, so that enough of
// them are likely to be eligible.
func (s *remoteSearch) neighbourhood() int {
	if s.eligible == 0 {
		return 0
	}
	n := max(s.ranker.nearest, 2*s.contest.depth())
	return (n*s.active + s.eligible - 1) / s.eligible
}

// fetch is the step that reads the vectors of slots, of those that are unseen.
func (s *remoteSearch) fetch(slots []int32) *step {
	var ids []string
	taken := map[int32]bool{}
	for _, slot := range slots {
		if s.contest.scratch.cosines[slot] == unseen && !taken[slot] {
			taken[slot] = true
			ids = append(ids, s.contest.index.docs[slot].memory.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	return &step{ids: ids}
}
