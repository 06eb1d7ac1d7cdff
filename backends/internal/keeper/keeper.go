// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package keeper is what every backend over a store does with the memories of a
// partition: find, list, change, delete, return their history, write them to a stream
// and read them back, and store a batch with its vectors. A backend decides what is
// worth remembering; its keeper keeps it.
//
//	ranker, err := recall.New(ctx, &recall.Config{Records: st, Keys: keeper.Keys})
//	k, err := keeper.New(&keeper.Config{Name: "notes", Store: st, Ranker: ranker})
//
// A backend resolves the scope of a call to a [backends.Partition] and hands it on; the
// scope of a request does not choose one here. It says who asks: see [Sharing]. An id of
// another partition is [backends.ErrNotFound]: to a call nothing exists but its own.
//
// # Storing
//
// [Keeper.Commit] takes a [store.Batch], embeds the records in it and applies it, all
// or nothing. What other processes may store at the same time is stored in four steps:
//
//   - look for it: [Keeper.Lookup] by [TextKey], or by keys of one's own made by [Key];
//   - give it an id that follows from what it is, by [ContentID] (the [TextKey] is a
//     good part), and an instant of [Keeper.Stamps];
//   - put it with Expect [store.MustNotExist], or with the version that was read
//     ([Keeper.Records]) where it replaces something;
//   - do all that in [Retry]: a race that was lost is [backends.ErrConflict], and the
//     second look finds what the winner stored.
//
// With an idempotency key as the batch's Key a repeated call stores nothing;
// [Keeper.Replayed] says so before a model is asked.
//
// # Reading
//
// [Keeper.All], [Keeper.Lookup] and [Keeper.Held] answer from the ranker's index, at
// no cost worth counting, with memories that belong to it: Clone one to change it.
// Everything else hands out copies.
package keeper

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/config"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
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
	// of them. Optional. It must be safe for concurrent use. Defaults to redact.Text.
	Redact func(string) string
	// Sharing is how workspaces are shared. Optional. Without it they are as other
	// partitions.
	Sharing *Sharing
	// Clock is where the time comes from. Optional. Defaults to [backends.SystemClock].
	Clock backends.Clock
	// Retention says what is erased when its time is over, and whether uses are counted:
	// in the background, from Start to Stop. Optional. Defaults to nothing.
	Retention *backends.Retention
	// CountUses counts how often memories are shown to a model, whether a rule of Retention
	// asks for it or not. Optional.
	CountUses bool
	// OnError gets what fails in the background, which is logged as well. Optional.
	OnError func(context.Context, error)
}

// Keeper keeps the memories of partitions in a store. It is safe for concurrent
// use. Every method is confined to the partition that it is given; one that is not
// legal is [backends.ErrInvalid].
type Keeper struct {
	config Config
	shared *Keeper // of workspaces, where Config.Sharing is set
	mu     sync.Mutex
	stamp  time.Time // the last instant given out: see Stamps
	background
}

// New returns a keeper. A configuration without what is required, or with a retention
// that cannot be carried out, is [backends.ErrInvalid].
func New(c *Config) (*Keeper, error) {
	if c == nil || c.Name == "" || c.Store == nil || c.Ranker == nil {
		return nil, fmt.Errorf("keeper: %w: Config needs a Name, a Store and a Ranker over it", backends.ErrInvalid)
	}
	k := &Keeper{config: *c}
	config.Default(&k.config.Redact, redact.Text)
	k.config.Clock = work.Clock(k.config.Clock)
	if c.Sharing != nil {
		k.shared = &Keeper{config: k.config}
		k.shared.config.Redact = c.Sharing.Redact
	}
	config.Default(&k.config.OnError, func(context.Context, error) {})
	if c.Retention != nil {
		var err error
		if k.config.Retention, err = checkRetention(*c.Retention); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.uses = map[backends.Partition]map[string]int{}
	return k, nil
}

// Store returns where the memories are.
func (k *Keeper) Store() store.Store { return k.config.Store }

// Ranker returns what finds them.
func (k *Keeper) Ranker() *recall.Ranker { return k.config.Ranker }

// Embeds reports whether memories have vectors.
func (k *Keeper) Embeds() bool { return k.config.Embeds }

// Now returns the time of the configured clock.
func (k *Keeper) Now() time.Time { return k.config.Clock() }

// Redact returns a text as it may be stored, by Config.Redact.
func (k *Keeper) Redact(s string) string { return k.config.Redact(s) }

// Call carries out a call of a backend, one of those that its Close waits for: ErrInvalid
// for a call without a request, ErrUnavailable for one after Close. A panic is its error.
func Call[R, T any](ctx context.Context, k *Keeper, calls *work.Calls, r *R, do func(context.Context, *R) (*T, error)) (_ *T, err error) {
	defer work.Recover(k.config.Name, &err)
	if r == nil {
		return nil, k.noRequest()
	}
	if !calls.Enter() {
		return nil, k.errorf("the backend is closed: %w", backends.ErrUnavailable)
	}
	defer calls.Leave()
	return do(ctx, r)
}

// Begin returns the context for what a call writes: see [store.Begin]. It belongs to whom the
// scope names, and to the workspace, wherever it is written. Every public call that writes
// begins so.
func (k *Keeper) Begin(ctx context.Context, s backends.Scope) (context.Context, error) {
	s, p, err := k.Resolve(ctx, s, backends.Scope.Owner)
	if err != nil {
		return ctx, err
	}
	all := []backends.Partition{p}
	if team, err := Workspace(s); err == nil && team != p {
		all = append(all, team)
	}
	for _, p := range all {
		if ctx, err = store.Begin(ctx, k.config.Store, p); err != nil {
			return ctx, k.errorf("%w", err)
		}
	}
	return ctx, nil
}

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
	t := k.config.Clock()
	if !t.After(k.stamp) {
		t = k.stamp.Add(time.Microsecond)
	}
	k.stamp = t.Add(time.Duration(max(n, 1)-1) * time.Microsecond)
	return t
}

// errorf is fmt.Errorf with the backend's name before it.
func (k *Keeper) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", k.config.Name, fmt.Errorf(format, args...))
}

// Keys returns the keys by which [Keeper.Lookup] finds a memory: the [TextKey] of what it says,
// and of one that marks a turn as silent where that was said. It is made for the Keys of a
// recall.Config.
func Keys(m *backends.Memory) []string {
	keys := []string{TextKey(m.Kind, m.WhenToUse, m.Text)}
	if silent(m) {
		for _, at := range placesOf(&m.Origin) {
			keys = append(keys, at.key())
		}
	}
	return keys
}

// TextKey returns the key of the same words: memories of one kind whose WhenToUse
// and Text differ in nothing but width, case, spaces between words and the sentence's
// final mark have the same. Numbers always count, and so does a question mark. The
// keywords by which a personal memory is found do not.
func TextKey(kind backends.Kind, whenToUse, content string) string {
	if kind.Traits().Keywords {
		whenToUse = ""
	}
	return text.HashKey("text", string(kind), text.Fold(whenToUse), text.Fold(content))
}

// ContentID returns the id of a memory that follows from what it is: a UUID of
// version 8 (RFC 9562) made of the partition, the kind and the parts in their order.
// Two processes that learn the same thing at the same time meet: the second Put that
// expects [store.MustNotExist] is ErrConflict, and its writer looks again.
func ContentID(p backends.Partition, kind backends.Kind, parts ...string) string {
	return text.HashID(append([]string{p.String(), string(kind)}, parts...)...)
}
