// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
)

// plan holds the writes of a request: a target for each memory that takes entries.
type plan struct {
	*summary
	entries []*entry
	targets []*target          // the ones to write, in order
	known   map[string]*target // memories of the workspace, by id
	byKey   map[string]*target // by their words, present or future
}

// target is a memory that takes entries. A change makes it written.
type target struct {
	memory   backends.Memory
	before   *backends.Memory // its state in the workspace; nil for a new one
	replaces bool             // memory supersedes before
	written  bool
}

// fresh reports whether the target stores a new memory.
func (t *target) fresh() bool { return t.before == nil || t.replaces }

// plan finds duplicates, and decides about each entry, in order.
func (s *summary) plan(ctx context.Context, entries []*entry) (*plan, error) {
	if err := s.deduplicate(ctx, entries); err != nil {
		return nil, err
	}
	if !s.own && !s.learns && s.run.Usage().ModelCalls == 0 { // then a repeat is cheap as well
		s.key = ""
	}
	p := &plan{summary: s, entries: entries, known: map[string]*target{}, byKey: map[string]*target{}}
	for _, e := range entries {
		p.place(e)
	}
	for _, e := range entries { // a key needs all targets: a repeat is answered from the batch
		if t := e.target; (t.written || s.key != "") && !slices.Contains(p.targets, t) {
			p.targets = append(p.targets, t)
		}
	}
	return p, p.identify(ctx)
}

// place decides about an entry. A duplicate comes before a merge, the more similar before the less
// similar.
func (p *plan) place(e *entry) {
	switch {
	case e.first != nil:
		e.target, e.outcome = e.first.target, backends.OutcomeUnchanged
		return
	case e.known != nil && e.known.Metadata[metaHeldBack] == true: // the second success
		p.corroborate(e, p.of(e.known))
		return
	case e.known != nil:
		p.extend(e, p.of(e.known))
		return
	}
	for _, pair := range e.pairs {
		if p.decision(pair).Decision == decideSame {
			p.corroborate(e, p.target(pair))
			return
		}
	}
	for _, pair := range e.pairs {
		if d := p.decision(pair); d.Decision == decideMerge && p.merge(e, pair, &d) {
			return
		}
	}
	if t := p.byKey[e.key]; t != nil { // a merge came to these words
		p.corroborate(e, t)
		return
	}
	e.target, e.outcome = &target{memory: e.memory.Clone(), written: true}, backends.OutcomeAdded
	p.byKey[e.key] = e.target
}

// of returns the target of a memory of the workspace.
func (p *plan) of(m *backends.Memory) *target {
	t := p.known[m.ID]
	if t == nil {
		before := m.Clone()
		t = &target{memory: m.Clone(), before: &before}
		p.known[m.ID], p.byKey[keyOf(m)] = t, t
	}
	return t
}

// target returns the target of a pair's other side.
func (p *plan) target(pair *pair) *target {
	if pair.earlier != nil {
		return pair.earlier.target
	}
	return p.of(pair.known)
}

// extend makes a memory hold as long as an entry that says the same.
func (p *plan) extend(e *entry, t *target) {
	e.target, e.outcome = t, backends.OutcomeUnchanged
	if outlasts(&e.memory, &t.memory) {
		t.memory.Expires = e.memory.Expires
		e.update()
	}
}

// update notes that an entry changes a memory. The outcome of a new memory stays.
func (e *entry) update() {
	e.target.written = true
	if !e.target.fresh() {
		e.outcome = backends.OutcomeUpdated
	}
}

// corroborate counts that an entry agrees with a memory.
func (p *plan) corroborate(e *entry, t *target) {
	p.extend(e, t)
	keeper.Count(&t.memory, keeper.MetaCorroborated, 1)
	e.update()
}

// merge merges an entry with a memory of the workspace, which is superseded, or with a new earlier
// entry. Each takes part once a request. Otherwise merge returns false, and the entry is stored
// beside it, so that all words are kept.
func (p *plan) merge(e *entry, pair *pair, d *decision) bool {
	t, key := p.target(pair), d.key()
	switch {
	case t.replaces || pair.earlier != nil && (t.before != nil || keyOf(&t.memory) != pair.earlier.key):
		return false
	case p.byKey[key] != nil: // words that a memory of the plan has, or is to have
		p.corroborate(e, p.byKey[key])
		return true
	}
	next := e.memory.Clone()
	merge(&next, &t.memory)
	next.WhenToUse, next.Text = d.WhenToUse, d.Content
	if outlasts(&t.memory, &next) {
		next.Expires = t.memory.Expires
	}
	e.target, e.outcome, e.merged = t, backends.OutcomeUnchanged, true
	if t.before != nil {
		keeper.Count(&next, keeper.MetaCorroborated, 1)
		t.replaces, e.outcome = true, backends.OutcomeSuperseded
	}
	t.memory, t.written = next, true
	p.byKey[key] = t
	return true
}

func (d *decision) key() string { return keeper.TextKey(backends.KindTask, d.WhenToUse, d.Content) }

// identify gives the written targets their times, and new memories ids that follow from their
// words: the first free one. Memories that hold no more have the others. Words that a current
// memory has are ErrConflict.
func (p *plan) identify(ctx context.Context) error {
	k := p.m.keeper
	stamp := k.Stamps(len(p.targets))
	for i, t := range p.targets {
		if t.written {
			t.memory.Updated = stamp.Add(time.Duration(i) * time.Microsecond)
		}
		for n := 0; t.fresh(); n++ {
			key := keyOf(&t.memory)
			id := keeper.ContentID(p.workspace, backends.KindTask, key, strconv.Itoa(n))
			held, err := k.Held(ctx, p.workspace, id)
			if err != nil {
				return fmt.Errorf("task: %w", err)
			}
			m := held[id]
			if m == nil {
				t.memory.ID, t.memory.Created = id, t.memory.Updated
				break
			}
			if m.Active() && !m.Expired(k.Now()) && keyOf(m) == key {
				p.keepApart(key)
				return fmt.Errorf("task: memory %s has these words: %w", m.ID, backends.ErrConflict)
			}
		}
	}
	return nil
}

// keepApart revokes merges that ended in the words of another memory.
func (s *summary) keepApart(key string) {
	for pair, d := range s.decisions {
		if d.Decision == decideMerge && d.key() == key {
			s.decisions[pair] = decision{Decision: decideDistinct}
		}
	}
}

// mutations returns the writes for the store.
func (p *plan) mutations() []store.Mutation {
	out := make([]store.Mutation, len(p.targets))
	for i, t := range p.targets {
		out[i] = store.Put(&store.Record{Memory: t.memory})
		if t.replaces {
			out[i] = store.Supersede(t.before.ID, &store.Record{Memory: t.memory})
		}
		out[i].Expect, out[i].Actor = store.MustNotExist, p.m.redact(p.author)
		if t.before != nil {
			out[i].Expect = t.before.Version
		}
	}
	return out
}

// response reports the outcome of each entry.
func (p *plan) response(version int64) *SummaryResponse {
	resp := &SummaryResponse{}
	for _, t := range p.targets {
		t.memory.Version = version
		if t.replaces {
			t.memory.Supersedes = t.before.ID
		}
		if t.fresh() {
			resp.Memories = append(resp.Memories, t.memory.Clone())
		}
	}
	dedupe, stored := p.run.Stage(stageDuplicates), p.run.Stage(stageStore)
	dedupe.In(len(p.entries))
	for _, e := range p.entries {
		resp.Items = append(resp.Items, e.item())
		if !e.merged && e.outcome != backends.OutcomeAdded {
			dedupe.Drop(1)
			continue
		}
		if e.merged {
			dedupe.Merge(1)
		}
		dedupe.Out(1)
		stored.In(1)
	}
	stored.Out(len(resp.Memories))
	return resp
}

func (e *entry) item() backends.Item {
	item := backends.Item{Outcome: e.outcome, Memory: e.target.memory.Clone()}
	if before := e.target.before; before != nil && e.outcome != backends.OutcomeUnchanged {
		previous := before.Clone()
		if e.outcome == backends.OutcomeSuperseded {
			previous.SupersededBy, previous.Version = item.Memory.ID, item.Memory.Version
		}
		item.Previous = &previous
	}
	return item
}
