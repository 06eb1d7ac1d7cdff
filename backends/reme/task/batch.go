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
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/keeper"
)

// change is one memory that a batch writes.
type change struct {
	record *store.Record
	before *backends.Memory // what was there, for memories that are not new
	merged *lesson          // the lesson that before is joined with
}

// batch is what a try writes: one change for each memory, whatever the lessons that
// it comes from.
type batch struct {
	try     *try
	changes []*change
	added   map[*lesson]*change
	touched map[string]*change // by the id of what was there
}

// batch turns the fates into changes of the workspace.
func (t *try) batch(ctx context.Context) (*batch, error) {
	b := &batch{try: t, added: map[*lesson]*change{}, touched: map[string]*change{}}
	if err := b.touch(ctx); err != nil {
		return nil, err
	}
	for _, l := range t.lessons {
		switch {
		case l.fate == fateAdd:
			c := &change{record: &store.Record{Memory: l.memory.Clone()}}
			b.added[l] = c
			b.changes = append(b.changes, c)
		case l.fate == fateMerge && l.known != nil:
			b.join(b.touched[l.known.ID], l)
		}
	}
	for _, l := range t.lessons { // counted last: on what took the place of a memory
		if l.known != nil && (l.fate == fateSame || l.fate == fateKnown) {
			b.again(l)
		}
	}
	return b, b.identify(ctx)
}

// again counts that a memory was learnt again: it lasts as long as what was learnt does.
func (b *batch) again(l *lesson) {
	c := b.touched[l.known.ID]
	if c == nil {
		return
	}
	m := &c.record.Memory
	if l.fate == fateSame {
		if !bears(m, l.key) {
			corroborate(m, l.key)
		}
		remember(m, texts(&l.memory, MetaSameAs)) // of lessons that it was joined with
	}
	if l.outlasts(m) {
		m.Expires = l.memory.Expires
	}
}

// touch reads the memories that are to be joined, counted or to last longer, as they are
// now. One
// that says something else by now, or holds no more, is a conflict.
func (b *batch) touch(ctx context.Context) error {
	known := map[string]*backends.Memory{}
	var ids []string
	for _, l := range b.try.lessons {
		if l.changes() && known[l.known.ID] == nil {
			known[l.known.ID] = l.known
			ids = append(ids, l.known.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	records, err := b.try.m.keeper.Records(ctx, b.try.draft.workspace, ids...)
	if err != nil {
		return fmt.Errorf("task: %w", err)
	}
	for i := range records {
		rec := records[i]
		if !rec.Active() || keyOf(&rec.Memory) != keyOf(known[rec.ID]) {
			continue
		}
		before := rec.Memory.Clone()
		rec.Memory = rec.Memory.Clone()
		c := &change{record: &rec, before: &before}
		b.touched[rec.ID] = c
		b.changes = append(b.changes, c)
	}
	if len(b.touched) < len(ids) {
		return fmt.Errorf("task: a memory changed while it was compared with: %w", backends.ErrConflict)
	}
	return nil
}

// join makes of a memory and a lesson the one that takes the memory's place: with the
// counts of the memory, and what both know about themselves.
func (b *batch) join(c *change, l *lesson) {
	v := b.try.joins(l)
	next := l.memory.Clone()
	next.WhenToUse, next.Text = v.WhenToUse, v.Content
	if end := c.before.Expires; end.IsZero() || !next.Expires.IsZero() && end.After(next.Expires) {
		next.Expires = end // of the two the one that holds longer
	}
	for _, key := range []string{MetaFreq, MetaUtility, MetaCorroborated} {
		if n := number(c.before, key); n != 0 {
			next.Metadata[key] = n
		}
	}
	setTexts(next.Metadata, MetaSameAs, texts(c.before, MetaSameAs))
	unite(&next, c.before)
	corroborate(&next, l.key)
	c.record, c.merged = &store.Record{Memory: next}, l
}

// fresh reports whether a change writes a new record.
func (c *change) fresh() bool { return c.before == nil || c.merged != nil }

// identify gives the new records their times, and ids that follow from their words:
// of each the first that is free.
func (b *batch) identify(ctx context.Context) error {
	k := b.try.m.keeper
	stamp := k.Stamps(len(b.changes))
	var open []*change
	for _, c := range b.changes {
		c.record.Updated = stamp
		if c.fresh() {
			c.record.Created = stamp
			open = append(open, c)
		}
		stamp = stamp.Add(time.Microsecond)
	}
	for n := 0; len(open) > 0; n += claim {
		ids := map[*change][]string{}
		var all []string
		for _, c := range open {
			for i := range claim {
				ids[c] = append(ids[c], keeper.ContentID(b.try.draft.workspace, backends.KindTask, keyOf(&c.record.Memory), strconv.Itoa(n+i)))
			}
			all = append(all, ids[c]...)
		}
		taken, err := k.Held(ctx, b.try.draft.workspace, all...)
		if err != nil {
			return fmt.Errorf("task: %w", err)
		}
		for _, m := range taken {
			if m.Active() && !m.Expired(k.Now()) && slices.ContainsFunc(open, func(c *change) bool { return keyOf(&c.record.Memory) == keyOf(m) }) {
				return fmt.Errorf("task: memory %s was stored meanwhile: %w", m.ID, backends.ErrConflict)
			}
		}
		open = slices.DeleteFunc(open, func(c *change) bool {
			free := slices.IndexFunc(ids[c], func(id string) bool { return taken[id] == nil })
			if free >= 0 {
				c.record.ID = ids[c][free]
			}
			return free >= 0
		})
	}
	return nil
}

// claim is how many ids of a wording are looked at together. All but the first were
// of memories that hold no more.
const claim = 4

// mutations returns what the store is to do.
func (b *batch) mutations() []store.Mutation {
	out := make([]store.Mutation, len(b.changes))
	for i, c := range b.changes {
		switch {
		case c.before == nil:
			out[i] = store.Put(c.record)
			out[i].Expect = store.MustNotExist
		case c.merged != nil:
			out[i] = store.Supersede(c.before.ID, c.record)
			out[i].Expect = c.before.Version
		default:
			out[i] = store.Put(c.record)
			out[i].Expect = c.before.Version
		}
		out[i].Actor = b.try.m.redact(b.try.draft.author)
	}
	return out
}
