// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
)

// sessions knows the order of the memories in a session. It changes with the lexicon, and like it
// makes its lists all at once on a first load.
type sessions struct {
	built   bool
	numbers map[string]int32 // name of a session → number
	list    []session        // by number
	free    []int32          // numbers of sessions that are empty
	offsets []offset         // by slot
	terms   int64            // of all sessions
}

// session is the utterances of one session, and the count of all its memories.
type session struct {
	said     []utterance // in order
	memories int
	terms    int64 // of all memories, repeats included
}

// utterance holds the fields that signals read of something said. It stands beside its neighbours
// in memory: a search looks at thousands.
type utterance struct {
	slot      int32
	asks      asking
	user      bool  // it has that role
	assistant bool  // it has that role, and its speaker has no name
	long      bool  // it is longer than a passage
	time      int64 // as in doc
}

// repeats reports whether an utterance is a long answer of an assistant, which has the words of the
// question, and many others.
func (u *utterance) repeats() bool { return u.assistant && u.long }

// offset says where a slot stands. The zero offset is outside all sessions. Numbers and slots are one
// higher here.
type offset struct {
	session       int32
	at            int32 // notSaid for learnt memories
	before, after int32 // slots of the utterances said together with it
}

const notSaid = -1

func (s *sessions) add(docs []doc, slot int32) {
	s.offsets = append(s.offsets, make([]offset, max(0, int(slot)+1-len(s.offsets)))...)
	d := &docs[slot]
	if d.memory.Origin.Session == "" || d.memory.Kind.Traits().Timeless { // tasks are alike across sessions
		return
	}
	n := s.open(d.memory.Origin.Session)
	in := &s.list[n]
	in.memories++
	in.terms, s.terms = in.terms+int64(d.text.length), s.terms+int64(d.text.length)
	if d.memory.Kind != backends.KindEpisode { // learnt
		s.offsets[slot] = offset{session: n + 1, at: notSaid}
		return
	}
	o := &d.memory.Origin
	m := utterance{slot, d.asks, o.Role == "user", o.Role == "assistant" && o.Speaker == "", len(d.memory.Text) > passageUpto, d.time}
	at := len(in.said)
	if s.built {
		at, _ = slices.BinarySearchFunc(in.said, m, inOrder(docs))
	}
	in.said = slices.Insert(in.said, at, m)
	s.number(n, at)
}

// open returns the number of a session.
func (s *sessions) open(name string) int32 {
	n, ok := s.numbers[name]
	if ok {
		return n
	}
	if last := len(s.free) - 1; last >= 0 {
		n, s.free = s.free[last], s.free[:last]
	} else {
		n, s.list = int32(len(s.list)), append(s.list, session{})
	}
	s.numbers[strings.Clone(name)] = n
	return n
}

// number records the offsets in a session from the one before one on.
func (s *sessions) number(n int32, from int) {
	said := s.list[n].said
	for at := max(0, from-1); at < len(said); at++ {
		p := offset{session: n + 1, at: int32(at)}
		if at > 0 && near(&said[at-1], &said[at]) {
			p.before = said[at-1].slot + 1
		}
		if at+1 < len(said) && near(&said[at], &said[at+1]) {
			p.after = said[at+1].slot + 1
		}
		s.offsets[said[at].slot] = p
	}
}

// build orders the sessions of a first load.
func (s *sessions) build(docs []doc) {
	s.built = true
	for n := range s.list {
		slices.SortFunc(s.list[n].said, inOrder(docs))
		s.number(int32(n), 0)
	}
}

func (s *sessions) remove(docs []doc, slot int32) {
	p := s.offsets[slot]
	if p.session == 0 {
		return
	}
	in, d := &s.list[p.session-1], &docs[slot]
	in.memories--
	in.terms, s.terms = in.terms-int64(d.text.length), s.terms-int64(d.text.length)
	s.offsets[slot] = offset{}
	if p.at != notSaid {
		in.said = slices.Delete(in.said, int(p.at), int(p.at)+1)
		s.number(p.session-1, int(p.at))
	}
	if in.memories == 0 {
		delete(s.numbers, d.memory.Origin.Session)
		s.free = append(s.free, p.session-1)
	}
}

// together is how far apart in time two messages are at most if one may answer the other.
const together = int64(time.Hour)

func near(a, b *utterance) bool {
	apart := a.time - b.time
	return apart <= together && apart >= -together
}

// around returns the utterances in the session of a slot, and its position among them: nil for a
// memory that was learnt rather than said.
func (s *sessions) around(slot int32) ([]utterance, int) {
	p := s.offsets[slot]
	if p.session == 0 || p.at == notSaid {
		return nil, 0
	}
	return s.list[p.session-1].said, int(p.at)
}

// inOrder orders by time, then by the ids, numbers in them by their value. 7 comes before 07 in any
// order of storing.
func inOrder(docs []doc) func(a, b utterance) int {
	return func(a, b utterance) int {
		if c := cmp.Compare(a.time, b.time); c != 0 { // mostly
			return c
		}
		x, y := docs[a.slot].memory, docs[b.slot].memory
		return cmp.Or(x.Created.Compare(y.Created), compareNatural(x.ID, y.ID), -strings.Compare(x.ID, y.ID))
	}
}

// compareNatural orders texts such as D1:9 and D1:10 as people do.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x == 0 || y == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
		if c := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); c != 0 {
			return c
		}
		a, b = a[x:], b[y:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns how many digits a text begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
