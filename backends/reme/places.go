// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
)

// places are the partitions that a scope names: the one of who speaks and the
// workspace. Either may be missing, not both.
type places struct {
	scope     backends.Scope
	personal  *backends.Partition // the user's, else the agent's own
	workspace *backends.Partition
	target    string // with Personal.InWorkspace: the name by which the user's memories are known there
}

// places returns where a call may go. A zero scope is that of the context.
func (b *Backend) places(ctx context.Context, s backends.Scope) (*places, error) {
	if s.IsZero() {
		s, _ = backends.ScopeFrom(ctx)
	}
	s, err := s.Normalize()
	if err != nil {
		return nil, fmt.Errorf("reme: %w", err)
	}
	out := &places{scope: s}
	if out.personal, err = named(s.Speaker()); err != nil {
		return nil, fmt.Errorf("reme: %w", err)
	}
	if out.workspace, err = named(s.Partition(backends.PartitionWorkspace)); err != nil {
		return nil, fmt.Errorf("reme: %w", err)
	}
	if b.config.Personal.InWorkspace {
		out.personal, out.target = out.workspace, cmp.Or(s.UserID, DefaultTarget)
	}
	if out.personal == nil && out.workspace == nil {
		return nil, fmt.Errorf("reme: %w: name a user or an agent for personal memory, a workspace for task and tool memory", backends.ErrNoScope)
	}
	return out, nil
}

// named returns the partition, or nil where the scope names none.
func named(p backends.Partition, err error) (*backends.Partition, error) {
	if errors.Is(err, backends.ErrNoScope) {
		return nil, nil
	}
	return &p, err
}

// all returns the partitions, that of who speaks first.
func (p *places) all() []backends.Partition {
	var out []backends.Partition
	if p.personal != nil {
		out = append(out, *p.personal)
	}
	if p.workspace != nil && (p.personal == nil || *p.personal != *p.workspace) {
		out = append(out, *p.workspace)
	}
	return out
}

// owner is the partition of calls that reach one as a whole: to forget a user must not
// erase what others share.
func (p *places) owner() backends.Partition { return p.all()[0] }

// own are the conditions on what a call that names a user may reach in a partition. In
// a workspace that holds what is known about several users it is what is about the one
// that is named, and what is about no user; nil is everything.
func (p *places) own() *backends.Filter {
	if p.target == "" || p.scope.UserID == "" {
		return nil
	}
	f := backends.Or(backends.Ne("kind", string(backends.KindPersonal)), p.about())
	return &f
}

// about is the condition on what is known about the user.
func (p *places) about() backends.Filter {
	return backends.And(backends.Eq("kind", string(backends.KindPersonal)), backends.Eq("metadata.target", p.target))
}

// both joins two conditions, either of which may be nil.
func both(a, b *backends.Filter) *backends.Filter {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	f := backends.And(*a, *b)
	return &f
}

// shared returns the filter without what it asks of the agent: a workspace is shared
// between agents on purpose.
func shared(f *backends.Filter) *backends.Filter {
	if f == nil || f.Op == backends.OpEq && strings.EqualFold(f.Field, "agent_id") {
		return nil
	}
	if f.Op != backends.OpAnd {
		return f
	}
	out := backends.And()
	for i := range f.Args {
		if kept := shared(&f.Args[i]); kept != nil {
			out.Args = append(out.Args, *kept)
		}
	}
	if len(out.Args) == 0 {
		return nil
	}
	return &out
}
