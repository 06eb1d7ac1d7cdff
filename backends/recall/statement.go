// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"sync/atomic"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/speech"
)

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
