// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// batch is one try at storing a plan: the plan against the partition as it is.
type batch struct {
	backend *Backend
	in      *intake
	plan    *plan
	usage   *backends.Usage

	entries   []entry
	mutations []store.Mutation
}

// entry is a decision on its way into the batch.
type entry struct {
	decision
	record *store.Record    // what is written; nil for none
	same   *entry           // the entry of this batch that it repeats
	now    *backends.Memory // the target as it is now
}

func (t *batch) build(ctx context.Context) error {
	t.entries = make([]entry, len(t.plan.decisions))
	for i, d := range t.plan.decisions {
		t.entries[i].decision = d
	}
	for _, step := range []func(context.Context) error{t.resolve, t.dedupe, t.dropNear, t.identify} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	t.encode()
	return nil
}

func (e *entry) writes() bool {
	return e.outcome == backends.OutcomeAdded || e.outcome == backends.OutcomeSuperseded
}

// identify gives the new memories their ids and times.
func (t *batch) identify(ctx context.Context) error {
	n := 0
	for i := range t.entries {
		if t.entries[i].writes() {
			n++
		}
	}
	stamp := t.backend.keep.Stamps(n)
	for i := range t.entries {
		e := &t.entries[i]
		if !e.writes() {
			continue
		}
		e.record = &store.Record{Memory: e.memory.Clone()}
		e.record.Created, e.record.Updated = stamp, stamp
		stamp = stamp.Add(time.Microsecond)
		if ids := t.backend.config.IDs; ids != nil {
			e.record.ID = ids()
		}
	}
	if t.backend.config.IDs == nil {
		return t.contentIDs(ctx)
	}
	return nil
}

// contentIDs gives each new memory the first id of its identity that is free.
func (t *batch) contentIDs(ctx context.Context) error {
	var open []*entry
	for i := range t.entries {
		if t.entries[i].record != nil {
			open = append(open, &t.entries[i])
		}
	}
	for n, width := 0, 1; len(open) > 0; n, width = n+width, 4*width {
		claims := map[*entry][]string{}
		var ids []string
		for _, e := range open {
			for i := range width {
				claims[e] = append(claims[e], identityOf(&e.memory).id(t.in.partition, n+i))
			}
			ids = append(ids, claims[e]...)
		}
		taken, err := t.backend.keep.Held(ctx, t.in.partition, ids...)
		if err != nil {
			return err
		}
		if err := t.storedMeanwhile(taken); err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(e *entry) bool {
			free := slices.IndexFunc(claims[e], func(id string) bool { return taken[id] == nil })
			if free >= 0 {
				e.record.ID = claims[e][free]
			}
			return free >= 0
		})
	}
	return nil
}

// storedMeanwhile returns a conflict when somebody else stored what the batch is
// about to, since it looked for what is known.
func (t *batch) storedMeanwhile(taken map[string]*backends.Memory) error {
	writes := map[identity]bool{}
	for i := range t.entries {
		if e := &t.entries[i]; e.record != nil {
			writes[identityOf(&e.memory)] = true
		}
	}
	for id, m := range taken {
		if t.holds(m) && writes[identityOf(m)] {
			return fmt.Errorf("mem0: memory %s was stored meanwhile: %w", id, backends.ErrConflict)
		}
	}
	return nil
}

// encode turns the entries into mutations.
func (t *batch) encode() {
	for i := range t.entries {
		e := &t.entries[i]
		var m store.Mutation
		switch e.outcome {
		case backends.OutcomeAdded:
			m = store.Put(e.record)
			m.Expect = store.MustNotExist
		case backends.OutcomeSuperseded:
			m = store.Supersede(e.now.ID, e.record)
			m.Expect = e.now.Version
		case backends.OutcomeRetracted:
			if e.at.IsZero() {
				e.at = t.in.now
			}
			m = store.Retract(e.now.ID, e.at)
			m.Expect = e.now.Version
		default:
			continue
		}
		m.Actor, m.Role = t.plan.author, e.memory.Origin.Role
		t.mutations = append(t.mutations, m)
	}
}

// items tells what became of each decision. applied is nil when nothing had to
// be written.
func (t *batch) items(applied *store.Applied) []backends.Item {
	items := make([]backends.Item, len(t.entries))
	for i := range t.entries {
		e := &t.entries[i]
		item := backends.Item{Outcome: e.outcome, Memory: e.memory, Err: e.err}
		switch e.outcome {
		case backends.OutcomeAdded, backends.OutcomeSuperseded:
			item.Memory = e.record.Memory
			item.Memory.Version = applied.Version
		case backends.OutcomeRetracted:
			item.Memory = e.now.Clone()
			item.Memory.Invalidated, item.Memory.Version = e.at, applied.Version
		case backends.OutcomeUnchanged:
			if e.same != nil && e.same.record != nil {
				item.Memory = e.same.record.Memory
				item.Memory.Version = applied.Version
			}
		}
		if e.outcome == backends.OutcomeSuperseded {
			item.Memory.Supersedes = e.now.ID
			item.Previous = previous(e.now, &item.Memory)
		}
		items[i] = item
	}
	return items
}

// previous is a memory as it is after next replaced it.
func previous(m, next *backends.Memory) *backends.Memory {
	p := m.Clone()
	p.SupersededBy, p.Version = next.ID, next.Version
	p.Invalidated = since(next)
	return &p
}
