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

// Sharing says what a backend's workspaces, which several users share, let through. Both
// functions are required, and must be safe for concurrent use. With it, callers do not see
// whose a memory of a workspace is: see [Keeper.Shown].
type Sharing struct {
	// Redact is the Config.Redact of what goes to a workspace.
	Redact func(string) string
	// Allow returns an error for what a caller may not do to a workspace. m is the memory that
	// is changed or deleted, as it is; nil for what is added, and for a workspace as a whole.
	Allow func(ctx context.Context, op backends.Op, s backends.Scope, m *backends.Memory) error
}

// For returns the keeper of what goes to partitions of a kind: for workspaces one that
// redacts by Sharing.Redact.
func (k *Keeper) For(kind backends.PartitionKind) *Keeper {
	if k.shared != nil && kind == backends.PartitionWorkspace {
		return k.shared
	}
	return k
}

// Allow returns ErrDenied, wrapped with the reason, for what the caller may not do to the
// partition: see Sharing.Allow, of which ErrUnavailable stays what it is: it is unknown.
// Outside of workspaces everything is allowed.
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

// hides reports whether a caller may not see whose the memories of a partition are. The
// program, which names a workspace and no user, sees it.
func (k *Keeper) hides(s backends.Scope, p backends.Partition) bool {
	return k.config.Sharing != nil && p.Kind == backends.PartitionWorkspace && s.UserID+s.AgentID != ""
}

// Shown returns a memory as a caller sees it: in a workspace without the user and the
// session that it came from, unless it is the caller's own.
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

// ShowItems replaces the memories of items by what a caller sees of them.
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

// Visible returns a caller's filter so that it finds out nothing that [Keeper.Shown] hides: of
// a memory that is not the caller's own the hidden fields count as absent.
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
	if f.Op == "ne" || f.Op == "nin" || f.Op == "exists" && f.Value == false { // which match what is absent
		return backends.Or(backends.Not(own), f)
	}
	return backends.And(own, f)
}
