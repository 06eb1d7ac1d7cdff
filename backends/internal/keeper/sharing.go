// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

// Sharing limits a backend's workspaces, which several users share. Both functions are
// required, and must be safe for concurrent use. It hides the users of a workspace's
// memories from callers: see [Keeper.Shown].
type Sharing struct {
	// Redact is the Config.Redact for a workspace.
	Redact func(string) string
	// Allow returns an error if a caller may not do the operation in a workspace. m is the
	// memory to change or delete, as it is; nil for an added one, and for a workspace as a
	// whole.
	Allow func(ctx context.Context, op backends.Op, s backends.Scope, m *backends.Memory) error
}

// For returns the keeper for partitions of a kind: the one for workspaces redacts by
// Sharing.Redact.
func (k *Keeper) For(kind backends.PartitionKind) *Keeper {
	if k.shared != nil && kind == backends.PartitionWorkspace {
		return k.shared
	}
	return k
}

// Allow returns ErrDenied, wrapped with the reason, if the caller may not do the
// operation in the partition: see Sharing.Allow. Its ErrUnavailable stays, since the
// right is unknown then. Outside of workspaces everything is allowed.
func (k *Keeper) Allow(ctx context.Context, op backends.Op, s backends.Scope, p backends.Partition, m *backends.Memory) error {
	if k.config.Sharing == nil || p.Kind != backends.PartitionWorkspace {
		return nil
	}
	err := work.Catch("Allow", func() error { return k.config.Sharing.Allow(ctx, op, s, m) })
	if err == nil {
		return nil
	}
	if !errors.Is(err, backends.ErrDenied) && !errors.Is(err, backends.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", backends.ErrDenied, err)
	}
	if m != nil {
		return k.errorf("%s of memory %s of %s: %w", op, m.ID, p, err)
	}
	return k.errorf("%s in %s: %w", op, p, err)
}

// Credit notes that a memory has words of further users: see [backends.Memory.CameFrom].
func Credit(m *backends.Memory, users ...string) {
	m.Origin.Users = slices.Clone(m.Origin.Users)
	for _, user := range users {
		if user != "" && !m.CameFrom(user) {
			m.Origin.Users = append(m.Origin.Users, user)
		}
	}
}

// hides reports whether the users of a partition's memories are hidden from a caller. The
// program, which names a workspace and no user, sees them.
func (k *Keeper) hides(s backends.Scope, p backends.Partition) bool {
	return k.config.Sharing != nil && p.Kind == backends.PartitionWorkspace && s.UserID+s.AgentID != ""
}

// Shown returns a memory as a caller sees it. In a workspace it hides the user and the
// session of a memory, unless the memory is the caller's own.
func (k *Keeper) Shown(s backends.Scope, p backends.Partition, m backends.Memory) backends.Memory {
	if !k.hides(s, p) {
		return m
	}
	m.Origin.Users = nil
	if m.Scope.UserID != s.UserID {
		m.Scope.UserID, m.Scope.SessionID = "", ""
		m.Origin = backends.Origin{Role: m.Origin.Role, Author: m.Origin.Author, Evidence: m.Origin.Evidence}
	}
	return m
}

// ShowItems replaces the memories of items by the caller's view of them.
func (k *Keeper) ShowItems(s backends.Scope, p backends.Partition, items []backends.Item) {
	for i := range items {
		items[i].Memory = k.Shown(s, p, items[i].Memory)
		if former := items[i].Previous; former != nil {
			*former = k.Shown(s, p, *former)
		}
	}
}

// showHits does the same for hits.
func (k *Keeper) showHits(s backends.Scope, p backends.Partition, hits []backends.Hit) {
	for i := range hits {
		h := &hits[i]
		h.Memory = k.Shown(s, p, h.Memory)
		if h.Before != nil {
			*h.Before = k.Shown(s, p, *h.Before)
		}
	}
}

// Visible changes a caller's filter so that it cannot reveal the fields that [Keeper.Shown]
// hides: they count as absent, except in the caller's own memories.
func (k *Keeper) Visible(s backends.Scope, p backends.Partition, f *backends.Filter) *backends.Filter {
	if f == nil || !k.hides(s, p) {
		return f
	}
	own := backends.Eq("user_id", s.UserID)
	if s.UserID == "" {
		own = backends.Filter{Op: "exists", Field: "user_id", Value: false}
	}
	out := visible(*f, own)
	return &out
}

func visible(f, own backends.Filter) backends.Filter {
	if !slices.Contains([]string{"user_id", "session_id", "turn", "speaker"}, f.Field) {
		args := slices.Clone(f.Args)
		for i := range args {
			args[i] = visible(args[i], own)
		}
		f.Args = args
		return f
	}
	if f.Op == "ne" || f.Op == "nin" || f.Op == "exists" && f.Value == false { // these match absent fields
		return backends.Or(backends.Not(own), f)
	}
	return backends.And(own, f)
}
