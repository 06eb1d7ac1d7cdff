// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// Config configures a [Keeper]. It is copied by [New].
type Config struct {
	// Name is the backend's: errors begin with it. Required.
	Name string
	// Store is where the memories are. Required. It stays the caller's to close.
	Store store.Store
	// Ranker finds them. Required. It reads the same store. It stays the caller's to close.
	Ranker *recall.Ranker
	// Embeds says that the ranker has an embedder: what is written gets vectors.
	Embeds bool
	// Redact is applied to every text that Update and Load store, those of metadata
	// among them; of a Commit the texts are the caller's to redact, before ids are made
	// of them. Optional. It must be safe for concurrent use.
	Redact func(string) string
	// Clock is where the time comes from. Optional. Defaults to [backends.SystemClock].
	Clock backends.Clock
}

// Keeper keeps the memories of partitions in a store. It is safe for concurrent
// use. Every method is confined to the partition that it is given; one that is not
// legal is [backends.ErrInvalid].
type Keeper struct {
	name   string
	store  store.Store
	ranker *recall.Ranker
	embeds bool
	redact func(string) string
	clock  backends.Clock

	mu    sync.Mutex
	stamp time.Time // the last instant given out: see Stamps
}

// New returns a keeper. A configuration without what is required is
// [backends.ErrInvalid].
func New(c *Config) (*Keeper, error) {
	if c == nil || c.Name == "" || c.Store == nil || c.Ranker == nil {
		return nil, fmt.Errorf("keeper: %w: Config needs a Name, a Store and a Ranker over it", backends.ErrInvalid)
	}
	k := &Keeper{name: c.Name, store: c.Store, ranker: c.Ranker, embeds: c.Embeds, redact: c.Redact, clock: c.Clock}
	if k.redact == nil {
		k.redact = func(s string) string { return s }
	}
	if k.clock == nil {
		k.clock = backends.SystemClock
	}
	return k, nil
}

// Store returns where the memories are.
func (k *Keeper) Store() store.Store { return k.store }

// Ranker returns what finds them.
func (k *Keeper) Ranker() *recall.Ranker { return k.ranker }

// Embeds reports whether memories have vectors.
func (k *Keeper) Embeds() bool { return k.embeds }

// Now returns the time of the configured clock.
func (k *Keeper) Now() time.Time { return k.clock() }

// Redact returns a text as it may be stored, by Config.Redact.
func (k *Keeper) Redact(s string) string { return k.redact(s) }

// Resolve returns the scope of a call and the partition that of names in it, such as
// [backends.Scope.Speaker]. A zero scope is that of the context. Errors: ErrNoScope, and
// ErrInvalid for a part that is not legal.
func (k *Keeper) Resolve(ctx context.Context, s backends.Scope, of func(backends.Scope) (backends.Partition, error)) (backends.Scope, backends.Partition, error) {
	if s.IsZero() {
		s, _ = backends.ScopeFrom(ctx)
	}
	s, err := s.Normalize()
	if err != nil {
		return s, backends.Partition{}, k.errorf("%w", err)
	}
	p, err := of(s)
	if err != nil {
		return s, p, k.errorf("%w", err)
	}
	s.Namespace = p.Namespace
	return s, p, nil
}

// Workspace returns the workspace that a scope names, for [Keeper.Resolve].
func Workspace(s backends.Scope) (backends.Partition, error) {
	return s.Partition(backends.PartitionWorkspace)
}

// Stamps returns the first of n instants a microsecond apart, later than any given
// out before: the Created of n memories of one batch. So the order of storing
// survives a clock that stands still.
func (k *Keeper) Stamps(n int) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.clock()
	if !t.After(k.stamp) {
		t = k.stamp.Add(time.Microsecond)
	}
	k.stamp = t.Add(time.Duration(max(n, 1)-1) * time.Microsecond)
	return t
}

// errorf is fmt.Errorf with the backend's name before it.
func (k *Keeper) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", k.name, fmt.Errorf(format, args...))
}
