// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/keeper"
)

// Config configures a [Library]. It is copied by [New].
type Config struct {
	// Keeper keeps the memories. Required. It stays the caller's.
	Keeper *keeper.Keeper
	// Dir is where DumpFile and LoadFile find files. Optional. Without one they are
	// ErrInvalid. It stays the caller's to close.
	Dir *Dir
	// Location is the zone of times that say none, as those of ReMe. Optional.
	// Defaults to UTC.
	Location *time.Location
	// OneBatch is up to how many memories a load stores in one write. Longer inputs,
	// and those of more than 16 MiB, are staged: see the package comment. Optional.
	// Defaults to 4,000; at most 50,000.
	OneBatch int
	// Progress is told how calls get on whose request names none. Optional.
	Progress Progress
	// IDs makes the names of staged loads. Optional. Defaults to [backends.NewID].
	IDs backends.IDSource
}

// Progress is told how far a call is: done of total at a stage, such as "reading".
// A total that is not known is 0. It is called by one goroutine at a time, often, and
// must return soon. See [Bar].
type Progress func(done, total int, stage string)

// The stages that a [Progress] is told of.
const (
	StageRead   = "reading"   // memories read, embedded and, where staged, put aside
	StageWrite  = "writing"   // memories stored, or written to a dump
	StageRemove = "removing"  // memories removed
	StageEmbed  = "embedding" // texts embedded anew
)

// Library keeps workspaces as files of one memory a line. All methods are safe for
// concurrent use, also by processes that share a store.
type Library struct {
	keeper   *keeper.Keeper
	dir      *Dir
	location *time.Location
	oneBatch int
	progress Progress
	ids      backends.IDSource
}

const (
	defaultOneBatch = 4_000
	mostInOneBatch  = 50_000
)

// New returns a library. A configuration that cannot work is ErrInvalid.
func New(c *Config) (*Library, error) {
	switch {
	case c == nil || c.Keeper == nil:
		return nil, fmt.Errorf("library: %w: Config.Keeper is required; keeper.New gives one", backends.ErrInvalid)
	case c.OneBatch < 0 || c.OneBatch > mostInOneBatch:
		return nil, fmt.Errorf("library: %w: Config.OneBatch %d is not from 0 to %d", backends.ErrInvalid, c.OneBatch, mostInOneBatch)
	}
	l := &Library{keeper: c.Keeper, dir: c.Dir, location: c.Location, oneBatch: c.OneBatch, progress: c.Progress, ids: c.IDs}
	if l.location == nil {
		l.location = time.UTC
	}
	if l.oneBatch == 0 {
		l.oneBatch = defaultOneBatch
	}
	if l.ids == nil {
		l.ids = backends.NewID
	}
	return l, nil
}

// place is a workspace: its scope and its partition.
type place struct {
	scope     backends.Scope
	partition backends.Partition
}

// place returns the workspace that a scope names; a zero scope is that of the
// context.
func (l *Library) place(ctx context.Context, s backends.Scope) (*place, error) {
	if s.IsZero() {
		s, _ = backends.ScopeFrom(ctx)
	}
	return named(s)
}

// named returns the workspace that a scope names itself.
func named(s backends.Scope) (*place, error) {
	s, err := s.Normalize()
	if err != nil {
		return nil, fmt.Errorf("library: %w", err)
	}
	p, err := s.Partition(backends.PartitionWorkspace)
	if err != nil {
		return nil, fmt.Errorf("library: %w", err)
	}
	s.Namespace = p.Namespace
	return &place{scope: s, partition: p}, nil
}

// reporter returns who is told how a call gets on.
func (l *Library) reporter(p Progress) Progress {
	switch {
	case p != nil:
		return p
	case l.progress != nil:
		return l.progress
	}
	return func(int, int, string) {}
}
