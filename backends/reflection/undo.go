// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
)

// mark is a plan's note in a memory that it changes or adds, in its metadata under
// backends.MetaReflect. It is written, forgotten and moved with the memory: Undo reads only these
// marks.
type mark struct {
	Plan string           `json:"plan"`
	Op   Op               `json:"op,omitempty"` // empty for the memory that replaced others
	At   time.Time        `json:"at"`           // the memory's Updated; another one means a later edit
	Into string           `json:"into,omitempty"`
	Was  *backends.Memory `json:"was,omitempty"` // its texts are empty if they stay; nil: the plan added it
}

func markOf(m *backends.Memory) (of mark) {
	_ = keeper.Convert(m.Metadata[backends.MetaReflect], &of) // a malformed mark belongs to no plan
	return of
}

// setMark notes in a memory its state before a plan.
func setMark(m *backends.Memory, before *store.Record, plan string, by *Operation) {
	of := mark{Plan: plan, At: m.Updated}
	if by != nil {
		of.Op, of.Into = by.Op, by.Into
	}
	if before != nil {
		was := before.Clone()
		if was.Version, was.WhenToUse = 0, ""; was.Text == m.Text {
			was.Text = ""
		}
		of.Was = &was
	}
	var plain any
	_ = keeper.Convert(of, &plain) // a memory is JSON
	keeper.SetMeta(m, backends.MetaReflect, plain)
}

// before returns a memory as it was before the plan of its mark, with its uses since.
func (of mark) before(m *backends.Memory) backends.Memory {
	was := of.Was.Clone()
	if was.WhenToUse = m.WhenToUse; was.Text == "" {
		was.Text = m.Text
	}
	for _, key := range []string{backends.MetaUses, backends.MetaLastUse} {
		if v, ok := m.Metadata[key]; ok {
			keeper.SetMeta(&was, key, v)
		}
	}
	return was
}

// Undo takes a plan back, in one atomic write. Hidden memories hold again, changed ones get their
// former state, and added ones are deleted. It returns ErrConflict and writes nothing if a memory
// was edited since, by another plan or otherwise, or if a successor was itself replaced. With
// partly it restores the others. ErrNotFound: none of the plan's changes is left.
func (r *Reflector) Undo(ctx context.Context, s backends.Scope, planID string, partly bool) (*Applied, error) {
	keep, _, p, err := r.home(ctx, s)
	if err != nil {
		return nil, err
	}
	if ctx, err = store.Begin(ctx, keep.Store(), p); err != nil {
		return nil, fmt.Errorf("reflection: undoing plan %s: %w", planID, err)
	}
	u := &undoing{keep: keep, partition: p, done: &Applied{Plan: planID}}
	if err = store.OnConflict(ctx, func() error { return u.undo(ctx, partly) }); err == nil && !partly {
		err = u.changed
	}
	if err != nil {
		err = fmt.Errorf("reflection: undoing plan %s: %w", planID, err)
	}
	return u.done, err
}

// undoing is a plan on its way back.
type undoing struct {
	keep      *keeper.Keeper
	partition backends.Partition
	changed   error // the conflicts
	done      *Applied
}

func (u *undoing) undo(ctx context.Context, partly bool) error {
	all, _, err := store.All(ctx, u.keep.Store(), u.partition, nil)
	if err != nil {
		return err
	}
	*u.done, u.changed = Applied{Plan: u.done.Plan}, nil
	b := &store.Batch{}
	var shared []*store.Record
	for id, r := range all {
		of := markOf(&r.Memory)
		if !of.covers(u.done.Plan) {
			continue
		}
		if err := of.conflict(r, all[r.SupersededBy], u.done.Plan); err != nil {
			err = fmt.Errorf("memory %s %w: %w", id, err, backends.ErrConflict)
			u.done.Conflicts, u.changed = append(u.done.Conflicts, err.Error()), errors.Join(u.changed, err)
			continue
		}
		undo := store.Delete(id)
		if of.Was != nil {
			undo = store.Put(&store.Record{Memory: of.before(&r.Memory), Vector: r.Vector})
		}
		if of.Op == Promote {
			shared = append(shared, r)
		}
		undo.Expect, undo.Actor = r.Version, author
		b.Mutations = append(b.Mutations, undo)
	}
	switch u.done.Done = len(b.Mutations); {
	case u.done.Done == 0 && u.changed == nil:
		return fmt.Errorf("%w: %s has no changes of it", backends.ErrNotFound, u.partition)
	case u.done.Done == 0 || u.changed != nil && !partly:
		u.done.Done = 0
		return nil
	}
	for _, r := range shared {
		if err := u.unshare(ctx, r); err != nil {
			return err
		}
	}
	_, err = u.keep.Store().Apply(ctx, u.partition, b)
	return err
}

// covers reports whether a mark is of a plan, or was made over such a mark.
func (of mark) covers(plan string) bool {
	return of.Plan == plan || of.Plan != "" && of.Was != nil && markOf(of.Was).covers(plan)
}

// conflict returns the reason against restoring a memory; by is its successor.
func (of mark) conflict(r, by *store.Record, plan string) error {
	switch {
	case of.Plan != plan:
		return fmt.Errorf("was changed by plan %s since: undo that first", of.Plan)
	case !r.Updated.Equal(of.At):
		return errors.New("was edited since")
	case of.Was == nil || by == nil || of.Op != Merge && of.Op != Supersede:
		return nil
	case !by.Active():
		return fmt.Errorf("was replaced by %s, which ended since", by.ID)
	}
	if to := markOf(&by.Memory); to.covers(plan) { // the operation is undone as a whole
		return to.conflict(by, nil, plan)
	}
	return nil
}

// unshare deletes the plan's copy of a fact in a workspace.
func (u *undoing) unshare(ctx context.Context, r *store.Record) error {
	s := u.partition.Scope()
	s.Workspace = markOf(&r.Memory).Into
	team, err := keeper.Workspace(s)
	if err != nil {
		return err
	}
	made, err := copies(ctx, u.keep, u.partition, team)
	if err != nil || made[r.ID] == nil {
		return err
	}
	return u.keep.Delete(ctx, team, &backends.DeleteRequest{Scope: team.Scope(), ID: made[r.ID].ID})
}
