// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/fields"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
)

// Applied is the outcome of Apply or Undo.
type Applied struct {
	Plan string `json:"plan"`
	Done int    `json:"done"` // operations carried out; for Undo, restored memories
	// Conflicts name the operations that were skipped because a memory changed meanwhile.
	Conflicts []string `json:"conflicts,omitempty"`
	Replayed  bool     `json:"replayed,omitempty"` // the plan was applied before, and this call did not repeat it
}

const (
	author = "reflect"
	// ofEvidence is the certainty of an insight, as a share of its least certain evidence.
	ofEvidence = 0.8
)

// Apply carries a plan out, in one atomic write. If a memory changed since the draft it returns
// ErrConflict and writes nothing. With partly it skips only the operations with such a memory.
// Copies to a workspace come after that write: repeat a call that failed there. A plan is applied
// once, however often Apply is called.
func (r *Reflector) Apply(ctx context.Context, p *Plan, partly bool) (_ *Applied, err error) {
	defer work.Recover("reflect", &err)
	if p == nil {
		return nil, fmt.Errorf("reflection: %w: no plan", backends.ErrInvalid)
	}
	a := &application{Plan: p, Reflector: r, keep: keeperOf(keepers(r.Backend), p.Partition), done: &Applied{Plan: p.ID}}
	err = errors.Join(store.ValidateID("plan", p.ID), p.Partition.Validate())
	if err == nil {
		ctx, err = store.Begin(ctx, a.keep.Store(), p.Partition)
	}
	if err == nil {
		err = store.OnConflict(ctx, func() error { return a.apply(ctx, partly) })
	}
	if err == nil && !partly {
		err = a.changed
	}
	if err == nil {
		err = a.promote(ctx)
	}
	if err != nil {
		err = fmt.Errorf("reflection: applying plan %s: %w", p.ID, err)
	}
	return a.done, err
}

// application is a plan on its way into the store.
type application struct {
	*Plan
	*Reflector
	keep    *keeper.Keeper
	now     time.Time
	held    map[string]*store.Record // by id, in their present state
	edits   map[string]*edit
	changed error // the conflicts
	done    *Applied
}

// edit is a memory that the plan changes or adds, with the operation.
type edit struct {
	store.Record
	by *Operation
}

func (a *application) apply(ctx context.Context, partly bool) error {
	a.now, a.edits, a.changed = a.keep.Now(), map[string]*edit{}, nil
	*a.done = Applied{Plan: a.ID}
	key := "reflect/" + a.ID
	replayed, err := a.keep.Replayed(ctx, a.Partition, key, nil)
	if err == nil {
		a.held, _, err = store.All(ctx, a.keep.Store(), a.Partition, nil)
	}
	if err != nil {
		return err
	}
	if a.done.Replayed = replayed != nil; a.done.Replayed {
		return nil
	}
	for i := range a.Operations {
		o := &a.Operations[i]
		err := a.operation(ctx, o)
		if err == nil {
			a.done.Done++
			continue
		}
		if err = fmt.Errorf("operation %d (%s): %w", i+1, o.Op, err); !errors.Is(err, backends.ErrConflict) {
			return err
		}
		a.done.Conflicts, a.changed = append(a.done.Conflicts, err.Error()), errors.Join(a.changed, err)
	}
	if a.changed != nil && !partly || len(a.edits) == 0 {
		return nil
	}
	applied, err := a.keep.Commit(ctx, a.Partition, a.batch(key), nil)
	if err == nil && applied.Replayed { // by another process, in the meantime
		*a.done = Applied{Plan: a.ID, Replayed: true}
	}
	return err
}

// batch writes the edits, each over the version that was read.
func (a *application) batch(key string) *store.Batch {
	b := &store.Batch{Key: key}
	for _, id := range slices.Sorted(maps.Keys(a.edits)) {
		e := a.edits[id]
		put := store.Put(&e.Record)
		put.Actor, put.Expect = author, store.MustNotExist
		if before := a.held[id]; before != nil {
			put.Expect = before.Version
		}
		if e.by != nil || digest(&e.Memory) != digest(&a.held[id].Memory) {
			setMark(&e.Memory, a.held[id], a.ID, e.by)
		}
		b.Mutations = append(b.Mutations, put)
	}
	return b
}

// edit returns a copy of a memory for an operation to change.
func (a *application) edit(s *Seen, by *Operation) *backends.Memory {
	before := a.held[s.ID]
	a.edits[s.ID] = &edit{store.Record{Memory: before.Clone(), Vector: before.Vector}, by}
	return &a.edits[s.ID].Memory
}

// add returns a new memory by an operation.
func (a *application) add(m backends.Memory, by *Operation) *backends.Memory {
	m.Version, m.Created, m.Updated, m.Origin.Author = 0, a.now, a.now, author
	a.edits[m.ID] = &edit{store.Record{Memory: m}, by}
	return &a.edits[m.ID].Memory
}

// operation prepares one operation; after ErrConflict none of it is prepared.
func (a *application) operation(ctx context.Context, o *Operation) error {
	for _, s := range o.seen() {
		if r := a.held[s.ID]; r == nil && s.Version != 0 || r != nil && !s.is(&r.Memory) {
			return fmt.Errorf("memory %s changed since the draft: %w", s.ID, backends.ErrConflict)
		}
	}
	for i := range o.Changes {
		if a.edits[o.Changes[i].ID] != nil {
			return fmt.Errorf("memory %s: %w: another operation changes it", o.Changes[i].ID, backends.ErrInvalid)
		}
		if m := a.held[o.Changes[i].ID]; m != nil {
			if err := a.keep.Allow(ctx, backends.OpUpdate, a.Partition.Scope(), a.Partition, &m.Memory); err != nil {
				return err
			}
		}
	}
	switch {
	case o.Op == Insight && len(o.Evidence) > 0 && o.Text != "":
		a.insight(o)
	case o.Op == EditBlock && len(o.Changes) == 1:
		return a.editBlock(ctx, o)
	case len(o.Changes) == 0:
		return fmt.Errorf("%w: it names no memory", backends.ErrInvalid)
	case (o.Op == Merge || o.Op == Supersede) && o.Stays != nil && a.edits[o.Stays.ID] == nil:
		a.giveWay(o, a.edit(o.Stays, nil))
	case o.Op == Supersede && o.Text != "":
		a.giveWay(o, a.rewritten(o))
	case slices.Contains([]Op{Retract, Expire, Vote, Field, Promote}, o.Op):
		for i := range o.Changes {
			o.change(a.edit(&o.Changes[i], o), a.now)
		}
	default:
		return fmt.Errorf("%w: it cannot be carried out", backends.ErrInvalid)
	}
	return nil
}

// change makes the operation's change to one memory alone.
func (o *Operation) change(m *backends.Memory, now time.Time) {
	m.Updated = now
	switch o.Op {
	case Retract:
		m.Invalidated = now
	case Expire:
		m.Expires = now
	case Vote:
		if keeper.Count(m, keeper.MetaRefuted, -float64(o.Votes)); votes(m) <= 0 {
			m.Invalidated = now
		}
	case Field:
		fields.Fill(m, o.Field, o.Value)
	}
}

// giveWay hides the changed memories behind one that says the same or replaces them. It gets their
// counts, as far as they are lessons.
func (a *application) giveWay(o *Operation, to *backends.Memory) {
	for i := range o.Changes {
		m := a.edit(&o.Changes[i], o)
		m.SupersededBy, m.Invalidated, m.Updated = to.ID, a.now, a.now
		keeper.Count(to, keeper.MetaFreq, keeper.Number(m, keeper.MetaFreq))
		keeper.Count(to, keeper.MetaUtility, keeper.Number(m, keeper.MetaUtility))
		if o.Op == Supersede {
			m.Invalidated = to.Since()
			if to.Supersedes == "" {
				to.Supersedes = m.ID
			}
		}
	}
	keeper.Count(to, keeper.MetaCorroborated, float64(o.Votes))
}

// rewritten returns a new memory that says the same in other words.
func (a *application) rewritten(o *Operation) *backends.Memory {
	before := a.held[o.Changes[0].ID]
	m := before.Clone()
	m.Text, m.Supersedes = a.keep.Redact(o.Text), ""
	m.ID = keeper.ContentID(a.Partition, m.Kind, keeper.TextKey(m.Kind, m.WhenToUse, m.Text), before.ID)
	delete(m.Metadata, keeper.MetaFreq) // giveWay counts
	delete(m.Metadata, keeper.MetaUtility)
	return a.add(m, o)
}

// insight adds the conclusion of several memories.
func (a *application) insight(o *Operation) {
	first := &a.held[o.Evidence[0].ID].Memory
	quality, agent := 1.0, first.Scope.AgentID
	m := backends.Memory{ID: o.insightID(a.Partition), Kind: backends.KindInsight, Text: a.keep.Redact(o.Text), Scope: a.Partition.Scope(), Observed: a.now}
	for _, s := range o.Evidence {
		of := &a.held[s.ID].Memory
		if of.Quality != nil {
			quality = min(quality, *of.Quality)
		}
		if of.Scope.AgentID != agent {
			agent = ""
		}
		m.Origin.Evidence = append(m.Origin.Evidence, s.ID)
		if a.Partition.Kind == backends.PartitionWorkspace {
			keeper.Credit(&m, of.From()...)
		}
	}
	if a.Partition.Kind == backends.PartitionUser { // searches may ask for what one agent learnt
		m.Scope.AgentID = agent
	}
	quality *= ofEvidence
	m.Quality = &quality
	a.add(m, o)
}

// editBlock gives a core block its text. Forgetting any of the memories that it may repeat also
// forgets it.
func (a *application) editBlock(ctx context.Context, o *Operation) error {
	if a.Blocks == nil {
		return fmt.Errorf("%w: Config.Blocks is not set", backends.ErrInvalid)
	}
	r, limit, err := a.Blocks.Record(ctx, a.Partition.Scope(), o.Into)
	switch {
	case err != nil:
		return err
	case r.ID != o.Changes[0].ID || r.Version != 0 && a.held[r.ID] == nil:
		return fmt.Errorf("block %q: %w", o.Into, backends.ErrConflict)
	case utf8.RuneCountInString(o.Text) > limit:
		return fmt.Errorf("block %q: %w: at most %d characters", o.Into, backends.ErrInvalid, limit)
	}
	r.Text, r.Updated, r.Origin = a.keep.Redact(o.Text), a.now, backends.Origin{Author: author}
	for _, s := range o.Evidence {
		r.Origin.Evidence = append(r.Origin.Evidence, s.ID)
	}
	a.edits[r.ID] = &edit{*r, o}
	return nil
}

// promote copies facts to the workspace that the plan names: the ones that this call or an earlier
// one marked. Each copy is made once.
func (a *application) promote(ctx context.Context) error {
	for _, o := range a.Operations {
		marked := func(s Seen) bool {
			return a.edits[s.ID] != nil || a.held[s.ID] != nil && markOf(&a.held[s.ID].Memory).Plan == a.ID
		}
		if o.Op != Promote || !slices.ContainsFunc(o.Changes, marked) {
			continue
		}
		share, ok := backends.As[promoter](a.Backend)
		if !ok {
			return fmt.Errorf("%w: the backend cannot share facts with workspaces", backends.ErrInvalid)
		}
		s := a.Partition.Scope()
		s.Workspace = o.Into
		for _, m := range o.Changes {
			if _, err := share.Promote(ctx, s, m.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
