// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
)

// mending makes the groups of mutations that erase memories and repair the rest of their
// chains, as if the erased ones had never been there. One batch takes a whole group. A
// group that erases has one mutation, a group that repairs has two.
//
// A predecessor gets the next remaining successor, or holds again. A successor gets the
// last remaining predecessor. Their histories lose the texts of the erased ones.
type mending struct {
	ctx   context.Context
	s     Records
	p     backends.Partition
	all   map[string]*Record
	space *Embedding
	gone  map[string]bool
	dry   bool // write nothing
	// ended are deleted memories whose predecessors stay ended.
	ended map[string]bool
	// taught reports whether the forgotten words caused a change. Optional.
	taught func(*backends.Event) bool
}

// mend reads a partition, for memories to be erased from it.
func mend(ctx context.Context, s Records, p backends.Partition) (*mending, error) {
	all, space, err := All(ctx, s, p, nil)
	return &mending{ctx: ctx, s: s, p: p, all: all, space: space, gone: map[string]bool{}, ended: map[string]bool{}}, err
}

// Erasure returns the batch that erases memories with their histories. It repairs their chains as
// mending does. The predecessor of an erased memory stays ended, as after a deletion.
func Erasure(ctx context.Context, s Records, p backends.Partition, gone ...string) (*Batch, error) {
	m, err := mend(ctx, s, p)
	if err != nil {
		return nil, err
	}
	for _, id := range gone {
		m.gone[id] = true
		if r := m.all[id]; r != nil && r.SupersededBy == "" {
			m.ended[id] = true
		}
	}
	groups, err := m.groups(gone)
	return &Batch{Embedding: m.space, Mutations: slices.Concat(groups...)}, err
}

// choose adds the memories that one accepts to the erased ones, and returns their ids. made says
// that a memory was made from one that is erased, so all are asked until nothing is new.
func (m *mending) choose(one func(r *Record, made bool) bool) (ids []string) {
	for before := -1; before < len(m.gone); {
		before = len(m.gone)
		for id, r := range m.all {
			made := slices.ContainsFunc(r.Origin.Evidence, func(id string) bool { return m.gone[id] })
			if !m.gone[id] && one(r, made) {
				m.gone[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// apply writes groups, a page in one batch, and calls done with each that is written.
func (m *mending) apply(groups [][]Mutation, done func(group []Mutation)) error {
	for some := range slices.Chunk(groups, transferPage) {
		if !m.dry {
			if _, err := m.s.Apply(m.ctx, m.p, &Batch{Embedding: m.space, Mutations: slices.Concat(some...)}); err != nil {
				return err
			}
		}
		for _, group := range some {
			done(group)
		}
	}
	return nil
}

func (m *mending) groups(gone []string) (out [][]Mutation, err error) {
	for _, r := range m.all {
		if m.gone[r.ID] || !m.concerns(r) {
			continue
		}
		kept, events, err := m.mend(r)
		if err != nil {
			return nil, err
		}
		if kept != nil {
			out = append(out, []Mutation{m.erase(r.ID), Restore(r.ID, kept, events)})
		}
	}
	for _, id := range gone {
		out = append(out, []Mutation{m.erase(id)})
	}
	return out, nil
}

// erase expects the version that was read: a successor that came meanwhile is mended, too.
func (m *mending) erase(id string) Mutation {
	erase := Erase(id)
	if r := m.all[id]; r != nil {
		erase.Expect = r.Version
	}
	return erase
}

// concerns reports whether a memory that stays may have to change.
func (m *mending) concerns(r *Record) bool {
	retracted := m.taught != nil && r.SupersededBy == "" && !r.Invalidated.IsZero()
	return retracted || m.gone[r.SupersededBy] || m.gone[r.Supersedes] || m.marked(r)
}

// marked reports whether the state that an Undo would bring back names an erased memory.
func (m *mending) marked(r *Record) bool {
	mark := r.Metadata[backends.MetaReflect]
	if mark == nil || len(m.gone) == 0 {
		return false
	}
	text, err := json.Marshal(mark)
	for id := range m.gone {
		if err != nil || strings.Contains(string(text), id) {
			return true
		}
	}
	return false
}

// mend returns a memory and its history as they would be without the erased ones, or nil if
// they are so already.
func (m *mending) mend(r *Record) (*Record, []backends.Event, error) {
	events, err := m.s.History(m.ctx, m.p, r.ID)
	if err != nil {
		return nil, nil, err
	}
	kept := &Record{Memory: r.Clone(), Vector: r.Vector}
	_, kept.Supersedes = m.follow(r, func(r *Record) string { return r.Supersedes })
	replaced := m.gone[r.SupersededBy]
	var by []backends.Event
	if replaced {
		if by, err = m.giveWay(kept); err != nil {
			return nil, nil, err
		}
	}
	if replaced || m.marked(r) {
		delete(kept.Metadata, backends.MetaReflect)
	}
	back := m.retracted(kept, events)
	if back {
		kept.Invalidated = time.Time{}
	}
	if !back && !replaced && !m.gone[r.Supersedes] && !m.marked(r) {
		return nil, nil, nil
	}
	events = slices.DeleteFunc(events, func(e backends.Event) bool {
		return m.gone[e.By] || back && e.Type == backends.OutcomeRetracted && m.taught(&e)
	})
	for i := range events {
		if m.gone[events[i].Supersedes] {
			events[i].Supersedes = kept.Supersedes
		}
	}
	return kept, append(events, by...), nil
}

// retracted reports whether only the forgotten words retracted a memory that has no
// successor.
func (m *mending) retracted(r *Record, events []backends.Event) bool {
	ended := func(e backends.Event) bool { return e.Type == backends.OutcomeRetracted }
	if m.taught == nil || r.SupersededBy != "" || r.Invalidated.IsZero() || !slices.ContainsFunc(events, ended) {
		return false
	}
	return !slices.ContainsFunc(events, func(e backends.Event) bool { return ended(e) && !m.taught(&e) })
}

// giveWay puts a memory behind the successor of the last erased one in its chain, and
// returns that event. A memory without such a successor holds again.
func (m *mending) giveWay(kept *Record) ([]backends.Event, error) {
	last, next := m.follow(kept, func(r *Record) string { return r.SupersededBy })
	switch kept.SupersededBy = next; {
	case next == "" && m.ended[last.ID]:
		return []backends.Event{{MemoryID: kept.ID, Type: backends.OutcomeRetracted, Old: kept.Text, Users: kept.From(), Time: kept.Invalidated, Version: kept.Version}}, nil
	case next == "":
		kept.Invalidated = time.Time{}
		return nil, nil
	}
	kept.Invalidated = last.Invalidated
	events, err := m.s.History(m.ctx, m.p, last.ID)
	events = slices.DeleteFunc(events, func(e backends.Event) bool { return e.By != next })
	events = events[max(0, len(events)-1):]
	if _, deleted := m.ended[last.ID]; deleted && len(events) > 0 { // its history alone has the time when it gave way
		kept.Invalidated = events[0].Time
	}
	for i := range events {
		events[i].MemoryID, events[i].Old, events[i].Users = kept.ID, kept.Text, kept.From()
	}
	return events, err
}

// follow goes from a memory through the erased ones next to it. It returns the last of them,
// and the id of the first remaining one behind it.
func (m *mending) follow(r *Record, next func(*Record) string) (last *Record, id string) {
	for range m.all {
		if id = next(r); !m.gone[id] {
			return r, id
		}
		if m.all[id] == nil {
			break
		}
		r = m.all[id]
	}
	return r, ""
}
