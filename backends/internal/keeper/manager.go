// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
)

// Place is a partition that a call about memories may go to.
type Place struct {
	backends.Partition
	Caller  backends.Scope   // the caller, for Config.Sharing
	Within  *backends.Filter // the memories that a call reaches; nil: all
	Forgets *backends.Filter // the memories that DeleteAll erases; nil: all
}

// Manager lets programs work with the memories of a backend, in the places that the scope of
// a call names. Backends embed it. It is safe for concurrent use.
type Manager struct {
	keep   *Keeper
	places func(context.Context, backends.Scope) ([]Place, error)
}

// NewManager returns a manager. places returns at least one place for a scope, or an error.
func (k *Keeper) NewManager(places func(context.Context, backends.Scope) ([]Place, error)) *Manager {
	return &Manager{keep: k, places: places}
}

// Of returns the keeper of a backend that embeds a [Manager], or nil.
func Of(backend any) *Keeper {
	m, ok := backend.(interface{ keeper() *Keeper })
	if !ok {
		return nil
	}
	return m.keeper()
}

func (m *Manager) keeper() *Keeper { return m.keep }

// Begin returns the context for the writes of an operation in the scope: see [Keeper.Begin].
func (m *Manager) Begin(ctx context.Context, s backends.Scope) (context.Context, error) {
	return m.keep.Begin(ctx, s)
}

// inPlace returns f's result for the place of a scope that holds the memory.
func inPlace[T any](ctx context.Context, m *Manager, s backends.Scope, id string, f func(Place) (T, error)) (out T, err error) {
	places, err := m.places(ctx, s)
	for _, p := range places {
		if err = m.keep.reaches(ctx, p, id); err == nil {
			out, err = f(p)
		}
		if !errors.Is(err, backends.ErrNotFound) {
			break
		}
	}
	return out, err
}

// reaches returns ErrNotFound for a memory out of the call's reach, such as one about
// another user.
func (k *Keeper) reaches(ctx context.Context, p Place, id string) error {
	if p.Within == nil {
		return nil
	}
	within, err := p.Within.Compile()
	if err != nil {
		return k.errorf("%w", err)
	}
	held, err := k.Held(ctx, p.Partition, id)
	if err != nil {
		return err
	}
	if m := held[id]; m != nil && !within(m) {
		return k.errorf("memory %s of %s: %w", id, p, backends.ErrNotFound)
	}
	return nil
}

func (k *Keeper) noRequest() error { return k.errorf("%w: no request", backends.ErrInvalid) }

// Get implements [backends.Manager]. A memory that expired is ErrNotFound.
func (m *Manager) Get(ctx context.Context, r *backends.GetRequest) (*backends.Memory, error) {
	if r == nil {
		return nil, m.keep.noRequest()
	}
	return inPlace(ctx, m, r.Scope, r.ID, func(p Place) (*backends.Memory, error) {
		got, err := m.keep.Get(ctx, p.Partition, r.ID)
		if err != nil {
			return nil, err
		}
		shown := m.keep.Shown(p.Caller, p.Partition, *got)
		return &shown, nil
	})
}

// Update implements [backends.Manager]: see [Keeper.Update]. ErrDenied: see [Keeper.Allow].
func (m *Manager) Update(ctx context.Context, r *backends.UpdateRequest) (_ *backends.Memory, err error) {
	defer work.Recover(m.keep.config.Name, &err)
	if r == nil {
		return nil, m.keep.noRequest()
	}
	if ctx, err = m.keep.Begin(ctx, r.Scope); err != nil {
		return nil, err
	}
	return inPlace(ctx, m, r.Scope, r.ID, func(p Place) (*backends.Memory, error) {
		q := *r
		q.Scope = p.Caller
		return m.keep.Update(ctx, p.Partition, &q)
	})
}

// Delete implements [backends.Manager]. A core block is ErrInvalid. ErrDenied: see
// [Keeper.Allow].
func (m *Manager) Delete(ctx context.Context, r *backends.DeleteRequest) error {
	if r == nil {
		return m.keep.noRequest()
	}
	ctx, err := m.keep.Begin(ctx, r.Scope)
	if err != nil {
		return err
	}
	_, err = inPlace(ctx, m, r.Scope, r.ID, func(p Place) (any, error) {
		q := *r
		q.Scope = p.Caller
		return nil, m.keep.Delete(ctx, p.Partition, &q)
	})
	return err
}

// History implements [backends.Manager]: see [Keeper.History].
func (m *Manager) History(ctx context.Context, r *backends.HistoryRequest) ([]backends.Event, error) {
	if r == nil {
		return nil, m.keep.noRequest()
	}
	return inPlace(ctx, m, r.Scope, r.ID, func(p Place) ([]backends.Event, error) {
		events, err := m.keep.History(ctx, p.Partition, r.ID)
		if m.keep.hides(p.Caller, p.Partition) {
			for i := range events {
				events[i].Users, events[i].Session, events[i].Messages = nil, "", nil
			}
		}
		return events, err
	})
}

// List implements [backends.Manager]: place after place, and skips empty pages between
// them. Core blocks are listed only where Kinds asks for them.
func (m *Manager) List(ctx context.Context, r *backends.ListRequest) (*backends.ListResponse, error) {
	if r == nil {
		return nil, m.keep.noRequest()
	}
	places, err := m.places(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	q, index := *r, 0
	if r.Cursor != "" {
		var head string
		head, q.Cursor, _ = strings.Cut(r.Cursor, ":")
		if index, err = strconv.Atoi(head); err != nil || index < 0 || index >= len(places) {
			return nil, m.keep.errorf("cursor %q: %w: use the Next of the page before, and the same scope", r.Cursor, backends.ErrInvalid)
		}
	}
	for ; ; index, q.Cursor = index+1, "" {
		resp, err := m.list(ctx, places[index], q)
		switch {
		case err != nil:
			return nil, err
		case resp.Next != "":
			resp.Next = strconv.Itoa(index) + ":" + resp.Next
		case index+1 < len(places) && len(resp.Memories) == 0:
			continue
		case index+1 < len(places):
			resp.Next = strconv.Itoa(index+1) + ":"
		}
		resp.Memories = slices.Clip(resp.Memories)
		return resp, nil
	}
}

// list lists a page of one place.
func (m *Manager) list(ctx context.Context, p Place, q backends.ListRequest) (*backends.ListResponse, error) {
	q.Scope, q.Filter = p.Caller, Both(p.Within, q.Filter)
	return m.keep.List(ctx, p.Partition, &q)
}

// DeleteAll implements [backends.Manager]: with a filter in the first place, see
// [Keeper.DeleteAll]; without one it is Forget.
func (m *Manager) DeleteAll(ctx context.Context, r *backends.DeleteAllRequest) (int, error) {
	if r == nil {
		return 0, m.keep.noRequest()
	}
	places, err := m.places(ctx, r.Scope)
	if err != nil {
		return 0, err
	}
	if r.Filter == nil {
		return m.deleteEverything(ctx, r.Scope)
	}
	if ctx, err = m.keep.Begin(ctx, r.Scope); err != nil {
		return 0, err
	}
	q := *r
	q.Scope, q.Filter = places[0].Caller, Both(places[0].Forgets, r.Filter)
	return m.keep.DeleteAll(ctx, places[0].Partition, &q)
}

// deleteEverything is Forget with a count of the memories before.
func (m *Manager) deleteEverything(ctx context.Context, s backends.Scope) (int, error) {
	p, err := m.whom(ctx, s)
	if err != nil {
		return 0, err
	}
	all, err := m.keep.every(ctx, p, true)
	if err != nil {
		return 0, err
	}
	receipt, err := m.Forget(ctx, &backends.ForgetRequest{Scope: s})
	n := len(all)
	if receipt != nil {
		for _, share := range receipt.Elsewhere {
			n += share.Memories
		}
	}
	return n, err
}

// Forget implements [backends.Forgetter]. For a user it also erases data of other backends
// over the same store, in the workspaces of the namespace.
func (m *Manager) Forget(ctx context.Context, r *backends.ForgetRequest) (*backends.Receipt, error) {
	if r == nil {
		return nil, m.keep.noRequest()
	}
	places, err := m.places(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	_, p, err := m.keep.Resolve(ctx, r.Scope, backends.Scope.Owner)
	if err != nil {
		return nil, err
	}
	receipt, err := store.Forget(ctx, m.keep.Store(), p, r.Part)
	for _, about := range places {
		if err == nil && about.Forgets != nil && r.Part == nil { // the words of others about them
			share := backends.Share{Partition: about.Partition}
			if share.Memories, err = m.keep.remove(ctx, about.Partition, about.Forgets, store.Erase); share.Memories > 0 {
				receipt.Join(&backends.Receipt{Partition: p, Elsewhere: []backends.Share{share}})
			}
		}
	}
	_, _ = m.keep.every(ctx, p, true) // the index drops erased memories; a failed index does so with the next search
	if err != nil {
		err = m.keep.errorf("%w", err)
	}
	return receipt, err
}

// whom returns the partition of a scope's owner, if the owner has a place.
func (m *Manager) whom(ctx context.Context, s backends.Scope) (backends.Partition, error) {
	if _, err := m.places(ctx, s); err != nil {
		return backends.Partition{}, err
	}
	_, p, err := m.keep.Resolve(ctx, s, backends.Scope.Owner)
	return p, err
}

// Rollback implements [backends.Rollbacker], in the places that the scope names. In a
// workspace, a memory that the caller may not delete is a conflict.
func (m *Manager) Rollback(ctx context.Context, r *backends.RollbackRequest) (*backends.RollbackReport, error) {
	if r == nil {
		return nil, m.keep.noRequest()
	}
	ctx, err := m.keep.Begin(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	places, err := m.places(ctx, r.Scope)
	out := &backends.RollbackReport{Items: []backends.Item{}}
	for _, p := range places {
		report, err := store.Rollback(ctx, m.keep.Store(), p.Partition, r, func(one *backends.Memory) error {
			if err := m.keep.Allow(ctx, backends.OpDelete, p.Caller, p.Partition, one); err != nil {
				return err
			}
			return m.keep.reaches(ctx, p, one.ID)
		})
		if err != nil {
			return out, m.keep.errorf("%w", err)
		}
		m.keep.ShowItems(p.Caller, p.Partition, report.Items)
		out.Items, out.Conflicts = append(out.Items, report.Items...), append(out.Conflicts, report.Conflicts...)
	}
	return out, err
}

// Export writes all data of the scope's owner, a user, else an agent, else a workspace: see
// [store.Export]. The texts are as stored, without further redaction.
func (m *Manager) Export(ctx context.Context, s backends.Scope, w io.Writer) (store.TransferCount, error) {
	p, err := m.whom(ctx, s)
	if err != nil {
		return store.TransferCount{}, err
	}
	return store.Export(ctx, m.keep.Store(), p, w)
}

// Import reads an Export of the scope's owner, from any store: see [store.Import].
// [Manager.Admit] checks the memories first, then o, which may be nil. The log of sessions
// is stored as the stream has it.
func (m *Manager) Import(ctx context.Context, s backends.Scope, r io.Reader, o *store.ImportOptions) (_ store.TransferCount, err error) {
	defer work.Recover(m.keep.config.Name, &err)
	p, err := m.whom(ctx, s)
	if err != nil {
		return store.TransferCount{}, err
	}
	return store.Import(ctx, m.keep.Store(), p, r, o.Admitting(func(ctx context.Context, p backends.Partition, x *store.Mutation, space *store.Embedding) error {
		return m.Admit(ctx, s, p, x, space)
	}))
}

// ReembedAll gives every memory of a namespace a vector of the configured embedder after the
// embedding model changed ([backends.ErrDimension]). "" is the default namespace. It covers
// all users, agents and workspaces of all backends, and returns how many memories have such a
// vector then. Words alone find the memories of a partition until its turn comes. progress,
// which may be nil, is told how many partitions are done. Vectors of the model stay: a failed
// call may be repeated, and goes on where it stopped.
func (m *Manager) ReembedAll(ctx context.Context, namespace string, progress func(done, total int)) (int, error) {
	return m.keep.Ranker().ReembedAll(ctx, namespace, progress)
}

// Both joins two conditions; either may be nil.
func Both(a, b *backends.Filter) *backends.Filter {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	f := backends.And(*a, *b)
	return &f
}
