// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
)

// asking says whether a memory asks something.
type asking byte

const (
	asksNothing asking = iota
	asksWithin
	asksAtEnd
)

func askingOf(text string) asking {
	switch at := max(strings.LastIndexByte(text, '?'), strings.LastIndex(text, "？")); {
	case at < 0:
		return asksNothing
	case strings.Trim(text[at:], "?？ \t\r\n\"'”’)）") == "":
		return asksAtEnd
	}
	return asksWithin
}

// talk counts who speaks in a partition.
type talk struct {
	speakers map[string]*speaker // by name
	users    spoken              // messages in the role of users from unnamed speakers
	answers  spoken              // the same in the role of assistants
}

type speaker struct {
	terms    []string // of the name
	memories int
}

type spoken struct{ memories, terms int64 }

// An assistant answers at length if its answers are on average so many times longer than the
// user's messages, and have so many words. People who write to each other write much the same.
const (
	longer  = 2
	lengthy = 40
)

func (t *talk) longAnswers() bool {
	a, u := t.answers, t.users
	return u.memories > 0 && a.memories > 0 && float64(a.terms)/float64(a.memories) > max(lengthy*whole, longer*float64(u.terms)/float64(u.memories))
}

// lengthWeight returns the parameter b of BM25. A long answer has few words for its length that
// are about the query.
func (t *talk) lengthWeight() float64 {
	if t.longAnswers() {
		return longB
	}
	return bm25B
}

// count adds n times a memory.
func (t *talk) count(a *analyzer, m *backends.Memory, length int32, n int) {
	name := m.Origin.Speaker
	switch {
	case m.Kind != backends.KindEpisode:
	case name == "" && m.Origin.Role == "user":
		t.users.memories, t.users.terms = t.users.memories+int64(n), t.users.terms+int64(n)*int64(length)
	case name == "" && m.Origin.Role == "assistant":
		t.answers.memories, t.answers.terms = t.answers.memories+int64(n), t.answers.terms+int64(n)*int64(length)
	case name != "":
		s := t.speakers[name]
		if s == nil {
			s = &speaker{terms: a.terms(strings.ToLower(name))}
			t.speakers[strings.Clone(name)] = s
		}
		if s.memories += n; s.memories == 0 {
			delete(t.speakers, name)
		}
	}
}

// namedIn returns the speaker whom a query names, or "" unless the query names exactly one.
func (x *index) namedIn(q *query) string {
	found := ""
	for name, s := range x.talk.speakers {
		if slices.ContainsFunc(q.terms, func(t queryTerm) bool { return slices.Contains(s.terms, t.text) }) {
			if found != "" {
				return ""
			}
			found = name
		}
	}
	return found
}
