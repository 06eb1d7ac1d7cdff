// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// plan is what a request writes: one change for each memory that its entries touch.
type plan struct {
	s       *summary
	entries []*entry
	changes []*change
	byID    map[string]*change // memories of the workspace, as they are now
	byKey   map[string]*change // by the words that they have, or are to have
}

// change is a memory that a plan is about. It is written if anything about it changes.
type change struct {
	record   *store.Record
	before   *backends.Memory // as it is in the workspace; nil for a new one
	replaces bool             // record supersedes before
	written  bool
}

// fresh reports whether the change stores a new memory.
func (c *change) fresh() bool { return c.before == nil || c.replaces }

// plan finds duplicates, and decides about each entry, in order.
func (s *summary) plan(ctx context.Context, entries []*entry) (*plan, error) {
	if err := s.deduplicate(ctx, entries); err != nil {
		return nil, err
	}
	p := &plan{s: s, entries: entries, byID: map[string]*change{}, byKey: map[string]*change{}}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	for _, e := range entries {
		p.place(e)
	}
	p.changes = slices.DeleteFunc(p.changes, func(c *change) bool { return !c.written })
	return p, p.identify(ctx)
}

// read loads the memories that the entries may change, as they are now. One that says
// something else by now, or holds no more, is ErrConflict.
func (p *plan) read(ctx context.Context) error {
	known := map[string]*backends.Memory{}
	for _, e := range p.entries {
		if e.known != nil {
			known[e.known.ID] = e.known
		}
		for _, pair := range e.pairs {
			if pair.known != nil && p.s.decision(pair).Decision != decideDistinct {
				known[pair.known.ID] = pair.known
			}
		}
	}
	if len(known) == 0 {
		return nil
	}
	records, err := p.s.m.keeper.Records(ctx, p.s.workspace, slices.Sorted(maps.Keys(known))...)
	if err != nil {
		return fmt.Errorf("task: %w", err)
	}
	for i := range records {
		rec := &records[i]
		if rec.Active() && keyOf(&rec.Memory) == keyOf(known[rec.ID]) {
			before := rec.Memory.Clone()
			c := &change{record: rec, before: &before}
			p.byID[rec.ID], p.byKey[keyOf(&before)] = c, c
			p.changes = append(p.changes, c)
		}
	}
	if len(p.byID) < len(known) {
		return fmt.Errorf("task: a memory changed while it was compared: %w", backends.ErrConflict)
	}
	return nil
}

// place decides about an entry. What is the same comes before what is merged, the more
// similar before the less similar.
func (p *plan) place(e *entry) {
	switch {
	case e.first != nil:
		e.change, e.outcome = e.first.change, backends.OutcomeUnchanged
		return
	case e.known != nil:
		p.extend(e, p.byID[e.known.ID])
		return
	}
	for _, pair := range e.pairs {
		if p.s.decision(pair).Decision == decideSame {
			p.corroborate(e, p.target(pair))
			return
		}
	}
	for _, pair := range e.pairs {
		if d := p.s.decision(pair); d.Decision == decideMerge && p.merge(e, pair, &d) {
			return
		}
	}
	if c := p.byKey[e.key]; c != nil { // a merge came to these words
		p.corroborate(e, c)
		return
	}
	e.change, e.outcome = &change{record: &store.Record{Memory: e.memory.Clone()}, written: true}, backends.OutcomeAdded
	p.byKey[e.key], p.changes = e.change, append(p.changes, e.change)
}

// target returns what an entry is compared with.
func (p *plan) target(pair *pair) *change {
	if pair.earlier != nil {
		return pair.earlier.change
	}
	return p.byID[pair.known.ID]
}

// extend has a memory hold as long as an entry that says the same.
func (p *plan) extend(e *entry, c *change) {
	e.change, e.outcome = c, backends.OutcomeUnchanged
	if outlasts(&e.memory, &c.record.Memory) {
		c.record.Expires = e.memory.Expires
		e.update()
	}
}

// update notes that an entry changes a memory. One that is new says nothing of it.
func (e *entry) update() {
	e.change.written = true
	if !e.change.fresh() {
		e.outcome = backends.OutcomeUpdated
	}
}

// corroborate counts that an entry says what a memory says.
func (p *plan) corroborate(e *entry, c *change) {
	p.extend(e, c)
	corroborate(&c.record.Memory)
	e.update()
}

// merge merges an entry with a memory of the workspace, which is superseded, or with an
// earlier entry that is new. Each is merged once a request, false else: the entry is
// stored beside it then, so that no words are lost.
func (p *plan) merge(e *entry, pair *pair, d *decision) bool {
	c, key := p.target(pair), d.key()
	switch {
	case c.replaces || pair.earlier != nil && (c.before != nil || keyOf(&c.record.Memory) != pair.earlier.key):
		return false
	case p.byKey[key] != nil: // words that a memory of the plan has, or is to have
		p.corroborate(e, p.byKey[key])
		return true
	}
	old, next := c.record.Memory, e.memory.Clone()
	e.change, e.outcome, e.merged = c, backends.OutcomeUnchanged, true
	if c.before != nil {
		for _, count := range []string{MetaFreq, MetaUtility, MetaCorroborated} {
			if n := number(&old, count); n != 0 {
				next.Metadata[count] = n
			}
		}
		corroborate(&next)
		c.replaces, e.outcome = true, backends.OutcomeSuperseded
	}
	merge(&next, &old)
	next.WhenToUse, next.Text = d.WhenToUse, d.Content
	if outlasts(&old, &next) {
		next.Expires = old.Expires
	}
	c.record, c.written = &store.Record{Memory: next}, true
	p.byKey[key] = c
	return true
}

func (d *decision) key() string { return keeper.TextKey(backends.KindTask, d.WhenToUse, d.Content) }

// identify gives what is written times, and new memories ids that follow from their words:
// the first that is free. The others are of memories that hold no more; words of one that
// holds are ErrConflict.
func (p *plan) identify(ctx context.Context) error {
	k := p.s.m.keeper
	stamp := k.Stamps(len(p.changes))
	for _, c := range p.changes {
		c.record.Updated = stamp
		stamp = stamp.Add(time.Microsecond)
		for n := 0; c.fresh(); n++ {
			key := keyOf(&c.record.Memory)
			c.record.ID, c.record.Created = keeper.ContentID(p.s.workspace, backends.KindTask, key, strconv.Itoa(n)), c.record.Updated
			held, err := k.Held(ctx, p.s.workspace, c.record.ID)
			if err != nil {
				return fmt.Errorf("task: %w", err)
			}
			m := held[c.record.ID]
			if m == nil {
				break
			}
			if m.Active() && !m.Expired(k.Now()) && keyOf(m) == key {
				p.s.keepApart(key)
				return fmt.Errorf("task: memory %s has these words: %w", m.ID, backends.ErrConflict)
			}
		}
	}
	return nil
}

// keepApart revokes merges that came to words that another memory has.
func (s *summary) keepApart(key string) {
	for pair, d := range s.decisions {
		if d.Decision == decideMerge && d.key() == key {
			s.decisions[pair] = decision{Decision: decideDistinct}
		}
	}
}

// mutations returns what the store is to do.
func (p *plan) mutations() []store.Mutation {
	out := make([]store.Mutation, len(p.changes))
	for i, c := range p.changes {
		out[i] = store.Put(c.record)
		if c.replaces {
			out[i] = store.Supersede(c.before.ID, c.record)
		}
		out[i].Expect = store.MustNotExist
		if c.before != nil {
			out[i].Expect = c.before.Version
		}
		out[i].Actor = p.s.m.redact(p.s.author)
	}
	return out
}

// repeatable reports whether the batch writes all that the entries came to, so that a
// repeat of the request can be answered by it.
func (p *plan) repeatable() bool {
	return !slices.ContainsFunc(p.entries, func(e *entry) bool { return !e.change.written })
}

// response reports what became of each entry.
func (p *plan) response(version int64) *SummaryResponse {
	resp := &SummaryResponse{}
	for _, c := range p.changes {
		c.record.Version = version
		if c.replaces {
			c.record.Supersedes = c.before.ID
		}
		if c.fresh() {
			resp.Memories = append(resp.Memories, c.record.Memory.Clone())
		}
	}
	dedupe, stored := p.s.run.Stage(stageDuplicates), p.s.run.Stage(stageStore)
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
	item := backends.Item{Outcome: e.outcome, Memory: e.change.record.Memory.Clone()}
	if before := e.change.before; before != nil && e.outcome != backends.OutcomeUnchanged {
		previous := before.Clone()
		if e.outcome == backends.OutcomeSuperseded {
			previous.SupersededBy, previous.Version = item.Memory.ID, item.Memory.Version
		}
		item.Previous = &previous
	}
	return item
}
