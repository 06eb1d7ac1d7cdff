// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/speech"
)

// currentFirst puts current statements before ones that they may contradict. The order stays except
// between two of one kind. There the one behind comes forward if it answers the query as well, by
// its words, and
//
//   - states something, where the other asks or only repeats;
//   - is about the person or the relative whom the query names, and the other about another;
//   - replaced another fact, of two facts;
//   - comes from a user and the other from the assistant, or else is the later one. Half of the
//     words are enough where it says that something changed.
//
// Only the foremost places take part: a statement further behind often shares one word with the
// query, and would push the answer out of a note.
func (b *Backend) currentFirst(query string, hits []backends.Hit) []backends.Hit {
	all := hits
	hits = slices.Clone(hits[:min(len(hits), foremost)])
	words := b.keep.Ranker().Words()
	asked := words.Of(query)
	seen := make([]glance, len(hits))
	for i := range hits {
		h := &hits[i]
		seen[i] = glance{words.Asked(asked, h.Origin.Speaker+" "+h.Text), speech.Subject(h.Text), speech.About(h.Text, query), speaks(h, query)}
	}
	before := func(i, j int) bool {
		h, o := &hits[i], &hits[j]
		assistant, assistantO := h.Origin.Role == string(schema.Assistant), o.Origin.Role == string(schema.Assistant)
		switch {
		case h.Kind != o.Kind:
			return false
		case repeats(h) != repeats(o):
			return repeats(o)
		case seen[i].named != seen[j].named:
			return seen[i].named
		case seen[i].other != seen[j].other:
			return seen[j].other
		case seen[i].subject != seen[j].subject:
			return false
		case h.Kind == backends.KindFact:
			return h.Supersedes != "" && o.Supersedes == ""
		case assistant != assistantO:
			return assistantO
		}
		return h.Since().After(o.Since())
	}
	order := make([]int, 0, len(hits))
	for i := range hits {
		h := &hits[i]
		revises := sync.OnceValue(func() bool { return h.Kind == backends.KindEpisode && speech.Revises(h.Text) })
		at := slices.IndexFunc(order, func(j int) bool { return before(i, j) && answersAsWell(seen[i].answers, seen[j].answers, revises) })
		if at < 0 {
			at = len(order)
		}
		order = slices.Insert(order, at, i)
	}
	for place, i := range order {
		all[place] = hits[i]
	}
	return all
}

// glance is what currentFirst reads of a hit once.
type glance struct {
	answers      map[string]bool // words of the query
	subject      string
	other, named bool // it is about another one than the query, or its speaker is named there
}

// foremost is measured on LoCoMo: a note of 1,000 tokens has 82.6 % of the evidence, and 70.2 % if
// all come forward.
const foremost = 5

// answersAsWell reports whether a hit with some words of a query answers it as well as one
// with others. Half of them are enough where it says that something changed.
func answersAsWell(words, others map[string]bool, revises func() bool) bool {
	return covers(words, others) || len(words) > 0 && 2*len(words) >= len(others) && revises()
}

// repeats reports whether the ranking puts a hit back as a mere question or repetition.
func repeats(h *backends.Hit) bool { return h.Parts.Signals[backends.SignalStates] < 0 }

// speaks reports whether a query names who said a hit.
func speaks(h *backends.Hit, query string) bool {
	return h.Origin.Speaker != "" && strings.Contains(strings.ToLower(query), strings.ToLower(h.Origin.Speaker))
}

// covers reports whether a has all of b.
func covers(a, b map[string]bool) bool {
	for w := range b {
		if !a[w] {
			return false
		}
	}
	return true
}
