// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/speech"
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

// stating says what a memory states, and in higher bits the kinds of things that it tells. It is
// read on demand, because reading takes longer than ranking.
type stating = uint32

const (
	notRead stating = iota
	statesSomething
	repeats       // an answer that acknowledges, or tells users about themselves
	statesNothing // a question, a request, a greeting

	statesMask = 1<<4 - 1 // the bits of these values
)

// The weights of such memories, in the order and in their Score. They have the words of the query
// where it was asked before, and would stand before its answer.
const (
	repeatsWeight = 0.5
	nothingWeight = 0.25
)

// statingOf reads a memory, which may answer a question. People state something to one another even
// where they ask. A user's question to an assistant states nothing: the user asks it again.
func statingOf(m *backends.Memory, answers bool) stating {
	user, assistant := m.Origin.Role == "user", m.Origin.Role == "assistant"
	switch {
	case m.Kind != backends.KindEpisode || !user && !assistant:
	case assistant && speech.Repeats(m.Text):
		return repeats
	case assistant && (speech.ClassifyAnswer(m.Text) != speech.Statement || !answers && speech.IsRemark(m.Text)),
		user && (speech.Classify(m.Text) != speech.Statement || speech.AsksToForget(m.Text) && speech.Beside(m.Text) == ""): // or wants something forgotten
		return statesNothing
	}
	return statesSomething
}

// states returns what the memory in a slot states.
func (x *index) states(slot int32) stating { return x.read(slot) & statesMask }

// read reads the memory in a slot, once. It may be called at once by many searches.
func (x *index) read(slot int32) stating {
	g := &x.glances[slot]
	s := atomic.LoadUint32(&g.states)
	if s == notRead {
		said, at := x.sessions.around(slot)
		m := x.docs[slot].memory
		if s = statingOf(m, followsQuestion(said, at)); !m.Kind.Traits().Timeless {
			s |= tellingOf(m.Text)
		}
		atomic.StoreUint32(&g.states, s)
	}
	return s
}

// statingWeight returns what a candidate counts for what it states.
func (f *ranking) statingWeight(c *candidate) float64 {
	if !f.stating {
		return 1
	}
	states := f.x.states
	if c.slot == notIndexed {
		states = func(int32) stating { return statingOf(c.doc.memory, true) }
	}
	switch states(c.slot) {
	case repeats:
		return repeatsWeight
	case statesNothing:
		return nothingWeight
	}
	return 1
}
