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

// sessions knows in which order the memories of a session were said. It is changed with the
// lexicon, and like that makes its lists all at once on a first load.
type sessions struct {
	built   bool
	numbers map[string]int32 // name of a session → number
	list    []session        // by number
	free    []int32          // numbers of sessions that are empty
	places  []place          // by slot
	terms   int64            // of all sessions
}

// session is what was said in one, and what was learnt from it.
type session struct {
	slots    []int32 // of what was said, in order
	memories int
	terms    int64 // of all memories, repeats included
}

// place is where a slot stands. The zero place is in no session.
type place struct{ session, at int32 } // session is its number + 1; at is notSaid for what was learnt

const notSaid = -1

// inSession reports whether a memory belongs to a session, and whether it was said in it.
// Experience does not: tasks are alike across sessions.
func inSession(m *backends.Memory) (belongs, said bool) {
	return m.Origin.Session != "" && !m.Kind.Traits().Timeless, m.Kind == backends.KindEpisode
}

func (s *sessions) add(docs []doc, slot int32) {
	if n := int(slot) + 1 - len(s.places); n > 0 {
		s.places = append(s.places, make([]place, n)...)
	}
	d := &docs[slot]
	belongs, said := inSession(d.memory)
	if !belongs {
		return
	}
	n := s.open(d.memory.Origin.Session)
	in := &s.list[n]
	in.memories++
	in.terms, s.terms = in.terms+int64(d.text.length), s.terms+int64(d.text.length)
	if !said {
		s.places[slot] = place{n + 1, notSaid}
		return
	}
	at := len(in.slots)
	if s.built {
		at, _ = slices.BinarySearchFunc(in.slots, slot, func(a, b int32) int { return inOrder(&docs[a], &docs[b]) })
	}
	in.slots = slices.Insert(in.slots, at, slot)
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

// number records the places in a session from one on.
func (s *sessions) number(n int32, from int) {
	for at, slot := range s.list[n].slots[from:] {
		s.places[slot] = place{n + 1, int32(from + at)}
	}
}

// build orders the sessions of a first load.
func (s *sessions) build(docs []doc) {
	s.built = true
	for n := range s.list {
		slices.SortFunc(s.list[n].slots, func(a, b int32) int { return inOrder(&docs[a], &docs[b]) })
		s.number(int32(n), 0)
	}
}

func (s *sessions) remove(docs []doc, slot int32) {
	p := s.places[slot]
	if p.session == 0 {
		return
	}
	in, d := &s.list[p.session-1], &docs[slot]
	in.memories--
	in.terms, s.terms = in.terms-int64(d.text.length), s.terms-int64(d.text.length)
	s.places[slot] = place{}
	if p.at != notSaid {
		in.slots = slices.Delete(in.slots, int(p.at), int(p.at)+1)
		s.number(p.session-1, int(p.at))
	}
	if in.memories == 0 {
		delete(s.numbers, d.memory.Origin.Session)
		s.free = append(s.free, p.session-1)
	}
}

// together is how far apart in time two messages are at most of which one may answer the other.
const together = int64(time.Hour)

// beside returns the slot that stands so many places behind one in its session, or -1.
func (s *sessions) beside(docs []doc, slot, steps int32) int32 {
	p := s.places[slot]
	if p.session == 0 || p.at == notSaid {
		return -1
	}
	slots := s.list[p.session-1].slots
	at := p.at + steps
	if at < 0 || int(at) >= len(slots) {
		return -1
	}
	if apart := docs[slots[at]].time - docs[slot].time; apart > together || apart < -together {
		return -1
	}
	return slots[at]
}

// inOrder orders by time, then by the ids, numbers in them by their value.
func inOrder(a, b *doc) int {
	return cmp.Or(cmp.Compare(a.time, b.time), a.memory.Created.Compare(b.memory.Created), compareNatural(a.memory.ID, b.memory.ID))
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
