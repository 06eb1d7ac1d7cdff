// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// snapshot is what a partition knows about the target at one moment. Its memories
// must not be changed.
type snapshot struct {
	now    time.Time
	byID   map[string]*backends.Memory   // of every kind, and about everybody
	byText map[string][]*backends.Memory // those that say what a statement says, whether they hold or not
	active []*backends.Memory            // those of them that hold
}

func (f *Flows) snapshot(ctx context.Context, d *Draft) (*snapshot, error) {
	all, err := f.config.Keeper.All(ctx, d.place.partition)
	if err != nil {
		return nil, fmt.Errorf("personal: %w", err)
	}
	lengths := map[int]bool{}
	for _, st := range d.statements {
		lengths[letters(st.memory.Text)] = true
	}
	s := &snapshot{now: d.now, byID: make(map[string]*backends.Memory, len(all)), byText: map[string][]*backends.Memory{}}
	for _, m := range all {
		s.byID[m.ID] = m
		if !f.about(&d.place, m) {
			continue
		}
		if n := letters(m.Text); n < 0 || lengths[n] || lengths[-1] { // few are worth a key
			key := wordsOf(m)
			s.byText[key] = append(s.byText[key], m)
		}
		if m.Active() && !m.Expired(d.now) {
			s.active = append(s.active, m)
		}
	}
	return s, nil
}

// letters returns how many letters and digits a text of ASCII has, which texts of the
// same words have in common; -1 for other texts.
func letters(s string) (n int) {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x80:
			return -1
		case '0' <= c && c <= '9', 'a' <= c|0x20 && c|0x20 <= 'z':
			n++
		}
	}
	return n
}

// same returns a memory that says what the statement says word for word, and of the
// same time: it holds now, or held when the statement was made. So what is imported
// again changes nothing, and who moves back to where they lived does.
func (s *snapshot) same(st *statement) *backends.Memory {
	at := st.memory.Observed
	var past *backends.Memory
	for _, m := range s.byText[st.textKey()] {
		switch {
		case m.Expired(s.now):
		case m.Active():
			return m
		case at.Equal(m.Observed), !at.Before(m.Observed) && at.Before(m.Invalidated):
			past = m
		}
	}
	return past
}

// current returns a known memory as it is now, nil when it changed since it was shown.
func (s *snapshot) current(shown *backends.Memory) *backends.Memory {
	m := s.byID[shown.ID]
	if m == nil || !m.Active() || m.Expired(s.now) || m.Text != shown.Text {
		return nil
	}
	return m
}

// queryBytes is how much of a statement is searched with.
const queryBytes = 600

// candidates returns what is known that the statements may be about, at most n: in
// turn the best that recall finds by each of them, so that none is drowned by many that
// are alike, and those of the same days, newest first, because what changes a thing may
// share no word with it.
func (f *Flows) candidates(ctx context.Context, d *Draft, s *snapshot, statements []*statement, n int) ([]*backends.Memory, error) {
	if len(s.active) <= n {
		return slices.Clone(s.active), nil
	}
	places, err := f.placesIn(ctx, d, statements, n)
	if err != nil {
		return nil, err
	}
	var found, ofDay []*backends.Memory
	for _, m := range s.active {
		if _, ok := places[m.ID]; ok {
			found = append(found, m)
		}
		if f.sameDay(d, m, statements) {
			ofDay = append(ofDay, m)
		}
	}
	slices.SortStableFunc(found, func(a, b *backends.Memory) int { return cmp.Compare(places[a.ID], places[b.ID]) })
	slices.SortStableFunc(ofDay, func(a, b *backends.Memory) int { return b.Observed.Compare(a.Observed) })
	return inTurn(found, ofDay, n), nil
}

// placesIn returns the best place that each memory about the target has among what is
// found by one of the statements.
func (f *Flows) placesIn(ctx context.Context, d *Draft, statements []*statement, n int) (map[string]int, error) {
	var about *backends.Filter
	if f.config.InWorkspace { // else what is known about others takes the places
		own := backends.Eq("metadata."+metaTarget, d.place.target)
		about = &own
	}
	places := map[string]int{}
	for _, st := range statements {
		resp, err := f.config.Keeper.Search(ctx, d.place.partition, &backends.SearchRequest{
			Scope: d.place.scope, Query: shorten(st.memory.Text, queryBytes), TopK: min(n, maxTopK), Kinds: []backends.Kind{backends.KindPersonal}, Filter: about,
		})
		if err != nil {
			return nil, fmt.Errorf("personal: looking for what is known: %w", err)
		}
		for i := range resp.Hits {
			id := resp.Hits[i].ID
			if at, ok := places[id]; !ok || i < at {
				places[id] = i
			}
		}
	}
	return places, nil
}

// sameDay reports whether a memory was said on the day of one of the statements, or
// stored today.
func (f *Flows) sameDay(d *Draft, m *backends.Memory, statements []*statement) bool {
	day := func(t time.Time) string { return t.In(f.config.Location).Format(time.DateOnly) }
	observed := day(m.Observed)
	return day(m.Created) == day(d.now) || slices.ContainsFunc(statements, func(s *statement) bool { return day(s.memory.Observed) == observed })
}

// inTurn takes from both lists in turn, each memory once, at most n.
func inTurn(a, b []*backends.Memory, n int) []*backends.Memory {
	var out []*backends.Memory
	seen := map[string]bool{}
	for i := range max(len(a), len(b)) {
		for _, list := range [][]*backends.Memory{a, b} {
			if i < len(list) && !seen[list[i].ID] && len(out) < n {
				seen[list[i].ID] = true
				out = append(out, list[i])
			}
		}
	}
	return out
}

// shownMemory is a copy that lasts while the store changes.
func shownMemory(m *backends.Memory) *backends.Memory {
	c := m.Clone()
	return &c
}
