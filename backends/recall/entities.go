// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"slices"
)

// entities links what the memories name to the memories that name it. The links
// are derived from the texts in the index, so they follow every change of them.
type entities struct {
	named map[string]*entity
	slots map[int32][]string // slot → names
	links int
}

// entity is one thing that memories name.
type entity struct {
	terms []string           // distinct, as in the lexicon
	slots map[int32]struct{} // the memories that name it
}

const (
	maxQueryEntities = 8   // of a query
	maxEntityMatches = 500 // for each of them
	minSimilarity    = 0.5
	maxEntityBoost   = 0.5
)

func newEntities() *entities {
	return &entities{named: map[string]*entity{}, slots: map[int32][]string{}}
}

func (e *entities) add(slot int32, text string, a *analyzer) {
	names := extractEntities(text, a)
	if len(names) == 0 {
		return
	}
	e.slots[slot] = names
	e.links += len(names)
	for _, name := range names {
		n := e.named[name]
		if n == nil {
			n = &entity{terms: a.bag(name, nil).terms, slots: map[int32]struct{}{}}
			e.named[name] = n
		}
		n.slots[slot] = struct{}{}
	}
}

func (e *entities) remove(slot int32) {
	for _, name := range e.slots[slot] {
		n := e.named[name]
		delete(n.slots, slot)
		if len(n.slots) == 0 {
			delete(e.named, name)
		}
	}
	e.links -= len(e.slots[slot])
	delete(e.slots, slot)
}

// boosts returns, for each eligible memory that names something like what the
// query names, the highest of its boosts: similarity · 0.5 / (1 + 0.001·(n-1)²),
// where n is how many memories name the entity.
func (e *entities) boosts(query string, a *analyzer, eligible func(int32) bool) map[int32]float64 {
	out := map[int32]float64{}
	names := extractEntities(query, a)
	for _, name := range names[:min(len(names), maxQueryEntities)] {
		for _, m := range e.similar(name, a.bag(name, nil).terms) {
			others := float64(len(m.entity.slots) - 1)
			boost := m.similarity * maxEntityBoost / (1 + 0.001*others*others)
			for slot := range m.entity.slots {
				if boost > out[slot] && eligible(slot) {
					out[slot] = boost
				}
			}
		}
	}
	return out
}

// entityMatch is an entity that resembles one of a query.
type entityMatch struct {
	name       string
	entity     *entity
	similarity float64
}

// similar returns the entities that resemble a name most.
func (e *entities) similar(name string, terms []string) []entityMatch {
	var out []entityMatch
	for other, n := range e.named {
		s := dice(terms, n.terms)
		if other == name {
			s = 1
		}
		if s >= minSimilarity {
			out = append(out, entityMatch{other, n, s})
		}
	}
	if len(out) > maxEntityMatches {
		slices.SortFunc(out, func(a, b entityMatch) int {
			return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.name, b.name))
		})
		out = out[:maxEntityMatches]
	}
	return out
}

// dice is the coefficient of Dice: twice the common terms over all terms.
func dice(a, b []string) float64 {
	common := 0
	for _, t := range a {
		if slices.Contains(b, t) {
			common++
		}
	}
	if common == 0 {
		return 0
	}
	return 2 * float64(common) / float64(len(a)+len(b))
}

func (e *entities) bytes() int64 {
	return int64(len(e.named))*256 + int64(e.links)*64
}
