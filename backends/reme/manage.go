// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends"
)

var errNoRequest = fmt.Errorf("reme: %w: no request", backends.ErrInvalid)

// whereHeld returns what f returns for the partition of a scope that holds the memory.
func whereHeld[T any](ctx context.Context, b *Backend, s backends.Scope, id string, f func(backends.Partition) (T, error)) (out T, err error) {
	at, err := b.places(ctx, s)
	if err != nil {
		return out, err
	}
	for _, p := range at.all() {
		if err = b.reaches(ctx, at, p, id); err == nil {
			out, err = f(p)
		}
		if !errors.Is(err, backends.ErrNotFound) {
			break
		}
	}
	return out, err
}

// reaches is ErrNotFound where a memory is about another user of the workspace than the
// one that the scope names.
func (b *Backend) reaches(ctx context.Context, at *places, p backends.Partition, id string) error {
	own := at.own()
	if own == nil {
		return nil
	}
	within, err := own.Compile()
	if err != nil {
		return fmt.Errorf("reme: %w", err)
	}
	held, err := b.keeper.Held(ctx, p, id)
	if err != nil {
		return err
	}
	if m := held[id]; m != nil && !within(m) {
		return fmt.Errorf("reme: memory %s of %s: %w", id, p, backends.ErrNotFound)
	}
	return nil
}

// Get implements [backends.Manager]. It looks into the partition of who speaks and
// into the workspace, as far as the scope names them. So do Update, Delete and History.
func (b *Backend) Get(ctx context.Context, r *backends.GetRequest) (*backends.Memory, error) {
	if r == nil {
		return nil, errNoRequest
	}
	return whereHeld(ctx, b, r.Scope, r.ID, func(p backends.Partition) (*backends.Memory, error) { return b.keeper.Get(ctx, p, r.ID) })
}

// Update implements [backends.Manager].
func (b *Backend) Update(ctx context.Context, r *backends.UpdateRequest) (*backends.Memory, error) {
	if r == nil {
		return nil, errNoRequest
	}
	if _, moves := r.Metadata["target"]; moves {
		if at, err := b.places(ctx, r.Scope); err == nil && at.own() != nil {
			return nil, fmt.Errorf("reme: memory %s: %w: its target is whom it is about, and not for a user to change", r.ID, backends.ErrInvalid)
		}
	}
	return whereHeld(ctx, b, r.Scope, r.ID, func(p backends.Partition) (*backends.Memory, error) { return b.keeper.Update(ctx, p, r) })
}

// Delete implements [backends.Manager].
func (b *Backend) Delete(ctx context.Context, r *backends.DeleteRequest) error {
	if r == nil {
		return errNoRequest
	}
	_, err := whereHeld(ctx, b, r.Scope, r.ID, func(p backends.Partition) (any, error) { return nil, b.keeper.Delete(ctx, p, r) })
	return err
}

// History implements [backends.Manager].
func (b *Backend) History(ctx context.Context, r *backends.HistoryRequest) ([]backends.Event, error) {
	if r == nil {
		return nil, errNoRequest
	}
	return whereHeld(ctx, b, r.Scope, r.ID, func(p backends.Partition) ([]backends.Event, error) { return b.keeper.History(ctx, p, r.ID) })
}

// List implements [backends.Manager]: what the partition of who speaks holds, then what
// the workspace holds, as far as the scope names them.
func (b *Backend) List(ctx context.Context, r *backends.ListRequest) (*backends.ListResponse, error) {
	if r == nil {
		return nil, errNoRequest
	}
	at, err := b.places(ctx, r.Scope)
	if err != nil {
		return nil, err
	}
	partitions := at.all()
	index, cursor, err := parseCursor(r.Cursor, len(partitions))
	if err != nil {
		return nil, err
	}
	asked := *r
	asked.Cursor, asked.Filter = cursor, both(at.own(), r.Filter)
	resp, err := b.keeper.List(ctx, partitions[index], &asked)
	if err != nil {
		return nil, err
	}
	out := &backends.ListResponse{Memories: slices.Clip(resp.Memories)}
	switch {
	case resp.Next != "":
		out.Next = strconv.Itoa(index) + ":" + resp.Next
	case index+1 < len(partitions):
		out.Next = strconv.Itoa(index+1) + ":"
	}
	return out, nil
}

// parseCursor reads "partition:cursor in it".
func parseCursor(s string, partitions int) (index int, cursor string, err error) {
	if s == "" {
		return 0, "", nil
	}
	head, cursor, ok := strings.Cut(s, ":")
	index, err = strconv.Atoi(head)
	if !ok || err != nil || index < 0 || index >= partitions {
		return 0, "", fmt.Errorf("reme: cursor %q: %w: use the Next of the page before, and the same scope", s, backends.ErrInvalid)
	}
	return index, cursor, nil
}

// DeleteAll implements [backends.Manager]. It reaches one partition: that of the user,
// else the agent's own, else the workspace's. Who forgets a user does not erase what a
// workspace shares; name the workspace alone for that. With Personal.InWorkspace it is
// what the workspace knows about the user, and nothing else.
func (b *Backend) DeleteAll(ctx context.Context, r *backends.DeleteAllRequest) (int, error) {
	if r == nil {
		return 0, errNoRequest
	}
	at, err := b.places(ctx, r.Scope)
	if err != nil {
		return 0, err
	}
	asked := *r
	if at.target != "" && at.scope.UserID+at.scope.AgentID != "" {
		about := at.about()
		asked.Filter = both(&about, r.Filter)
	}
	return b.keeper.DeleteAll(ctx, at.owner(), &asked)
}

// Dump implements [backends.Exporter] for one partition: that of the user, else the
// agent's own, else the workspace's; with Personal.InWorkspace always the workspace's,
// with what is known of all its users. Workspaces in ReMe's format are the work of
// [Backend.Library].
func (b *Backend) Dump(ctx context.Context, s backends.Scope, w io.Writer) (int, error) {
	at, err := b.places(ctx, s)
	if err != nil {
		return 0, err
	}
	return b.keeper.Dump(ctx, at.owner(), w)
}

// Load implements [backends.Exporter], into the partition that Dump reads.
func (b *Backend) Load(ctx context.Context, s backends.Scope, r io.Reader) (int, error) {
	at, err := b.places(ctx, s)
	if err != nil {
		return 0, err
	}
	return b.keeper.Load(ctx, at.owner(), r)
}

// ReembedAll gives every memory of a namespace, which "" is the default one, a vector of the
// configured embedder after the embedding model changed ([backends.ErrDimension]): of all
// users, agents and workspaces, whichever backend wrote them. It returns how many have one
// then. Until it comes to a partition, words alone find what is in there. progress, which may
// be nil, is told how many partitions are done. Vectors of the model stay: a call that failed
// may be repeated, and goes on where it stopped.
func (b *Backend) ReembedAll(ctx context.Context, namespace string, progress func(done, total int)) (int, error) {
	return b.keeper.Ranker().ReembedAll(ctx, namespace, progress)
}

// Reembed computes the vectors of every partition that the scope names anew, after the
// embedding model changed ([backends.ErrDimension]), and returns of how many memories.
func (b *Backend) Reembed(ctx context.Context, s backends.Scope) (int, error) {
	at, err := b.places(ctx, s)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, p := range at.all() {
		n, err := b.keeper.Ranker().Reembed(ctx, p)
		total += n
		if err != nil {
			return total, fmt.Errorf("reme: %s: %w", p, err)
		}
	}
	return total, nil
}
