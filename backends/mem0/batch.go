// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// batch is one try at storing a plan: the plan against the partition as it is.
type batch struct {
	backend *Backend
	in      *intake
	plan    *plan
	all     []*backends.Memory // the partition's memories now
	usage   *backends.Usage

	entries   []entry
	mutations []store.Mutation
	embedding *store.Embedding
}

// entry is a decision on its way into the batch.
type entry struct {
	decision
	record *store.Record    // what is written; nil for none
	same   *entry           // the entry of this batch that it repeats
	now    *backends.Memory // the target as it is now
}

func (t *batch) key() string {
	if t.in.req.IdempotencyKey == "" {
		return ""
	}
	return "mem0/" + t.in.req.IdempotencyKey
}

func (t *batch) build(ctx context.Context) error {
	t.entries = make([]entry, len(t.plan.decisions))
	for i, d := range t.plan.decisions {
		t.entries[i].decision = d
	}
	if err := t.resolve(); err != nil {
		return err
	}
	t.dedupe()
	if err := t.dropNear(ctx); err != nil {
		return err
	}
	t.identify()
	return t.encode(ctx)
}

func (e *entry) writes() bool {
	return e.outcome == backends.OutcomeAdded || e.outcome == backends.OutcomeSuperseded
}

// identify gives the new memories their ids and times.
func (t *batch) identify() {
	n := 0
	for i := range t.entries {
		if t.entries[i].writes() {
			n++
		}
	}
	stamp := t.backend.stamps(n)
	for i := range t.entries {
		e := &t.entries[i]
		if !e.writes() {
			continue
		}
		e.record = &store.Record{Memory: clone(&e.memory)}
		e.record.Created, e.record.Updated = stamp, stamp
		stamp = stamp.Add(time.Microsecond)
		if ids := t.backend.config.IDs; ids != nil {
			e.record.ID = ids()
		}
	}
	if t.backend.config.IDs == nil {
		t.contentIDs()
	}
}

// contentIDs gives each new memory the first id of its identity that is free.
func (t *batch) contentIDs() {
	type claim struct {
		e *entry
		n int
	}
	claims := map[string]*claim{}
	for i := range t.entries {
		if e := &t.entries[i]; e.record != nil {
			claims[identityOf(&e.memory).id(t.in.partition, 0)] = &claim{e: e}
		}
	}
	for moved := len(claims) > 0; moved; {
		moved = false
		for _, m := range t.all {
			c := claims[m.ID]
			if c == nil {
				continue
			}
			delete(claims, m.ID)
			c.n++
			claims[identityOf(&c.e.memory).id(t.in.partition, c.n)] = c
			moved = true
		}
	}
	for id, c := range claims {
		c.e.record.ID = id
	}
}

// encode embeds the new memories and writes the mutations.
func (t *batch) encode(ctx context.Context) error {
	var records []*store.Record
	for i := range t.entries {
		if r := t.entries[i].record; r != nil {
			records = append(records, r)
		}
	}
	embedding, err := t.backend.embed(ctx, records, t.usage)
	if err != nil {
		return err
	}
	t.embedding = embedding
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
	return nil
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
			item.Memory = clone(e.now)
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
	p := clone(m)
	p.SupersededBy, p.Version = next.ID, next.Version
	p.Invalidated = next.Valid
	if p.Invalidated.IsZero() {
		p.Invalidated = next.Observed
	}
	return &p
}
