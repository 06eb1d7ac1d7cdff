// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package keeper is the common part of all backends over a store. It finds, lists,
// changes and deletes the memories of a partition, and returns their history. It writes
// them to a stream and reads them back, and stores a batch with its vectors. A backend
// decides what is worth remembering; its keeper keeps it.
//
//	ranker, err := recall.New(ctx, &recall.Config{Records: st, Keys: keeper.Keys})
//	k, err := keeper.New(&keeper.Config{Name: "notes", Store: st, Ranker: ranker})
//
// A backend resolves the scope of a call to a [backends.Partition] and hands it on. The
// scope of a request only names the caller here: see [Sharing]. An id of another
// partition is [backends.ErrNotFound]: a call sees its own partition alone.
//
// # Storing
//
// [Keeper.Commit] takes a [store.Batch], embeds the records in it and applies it, all or
// nothing. Several processes may store the same memory at the same time. It takes four
// steps:
//
//   - look for it: [Keeper.Lookup] by [TextKey], or by keys of one's own made by [Key];
//   - give it an id that follows from its content, by [ContentID] (the [TextKey] is a
//     good part), and an instant of [Keeper.Stamps];
//   - put it with Expect [store.MustNotExist], or with the version that was read
//     ([Keeper.Records]) where it replaces another;
//   - do all that in [store.OnConflict]: a lost race is [backends.ErrConflict], and the
//     second look finds the memory that the winner stored.
//
// With an idempotency key as the batch's Key a repeated call is harmless;
// [Keeper.Replayed] reports it before a model is asked.
//
// # Reading
//
// [Keeper.All], [Keeper.Lookup] and [Keeper.Held] answer from the ranker's index, at a
// negligible cost. Their memories belong to the index: Clone one to change it. All other
// methods return copies.
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
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// Config configures a [Keeper]. It is copied by [New].
type Config struct {
	// Name is the backend's: errors begin with it. Required.
	Name string
	// Store has the memories. Required. It stays the caller's to close.
	Store store.Store
	// Ranker finds them. Required. It reads the same store, and is closed with the keeper. Where it
	// has an embedder, written memories get vectors.
	Ranker *recall.Ranker
	// Redact is applied to every text that Update and Load store, metadata included. The
	// caller of Commit redacts its texts, before ids are made of them. Optional. It must
	// be safe for concurrent use. Defaults to redact.Text.
	Redact func(string) string
	// Sharing says how users share workspaces. Optional. Without it a workspace is like
	// any other partition.
	Sharing *Sharing
	// Clock is the source of the time. Optional. Defaults to [backends.SystemClock].
	Clock backends.Clock
	// Retention says what is erased when its time is over, and whether uses are counted.
	// It works in the background, from Start to Close. Optional. By default everything
	// stays.
	Retention *backends.Retention
	// CountUses counts how often a model is shown memories, even if no rule of Retention
	// asks for it. Optional.
	CountUses bool
	// OnError gets failures in the background, which are logged as well. Optional.
	OnError func(context.Context, error)
}

// Keeper keeps the memories of partitions in a store. It is safe for concurrent use.
// Every method is confined to the partition that it is given; an illegal partition is
// [backends.ErrInvalid].
type Keeper struct {
	config Config
	shared *Keeper // of workspaces, where Config.Sharing is set
	life   *work.Service

	mu    sync.Mutex
	stamp time.Time // the last instant given out: see Stamps
	// uses are the counts to be stored, by partition and memory. They are stored with the
	// memories, and so filtered, exported and erased with them.
	uses map[backends.Partition]map[string]int
}

// New returns a keeper. An incomplete configuration, or an impossible retention, is
// [backends.ErrInvalid].
func New(c *Config) (*Keeper, error) {
	if c == nil || c.Name == "" || c.Store == nil || c.Ranker == nil {
		return nil, fmt.Errorf("keeper: %w: Config needs a Name, a Store and a Ranker over it", backends.ErrInvalid)
	}
	k := &Keeper{config: *c}
	work.Default(&k.config.Redact, redact.Text)
	k.config.Clock = work.Clock(k.config.Clock)
	if c.Sharing != nil {
		k.shared = &Keeper{config: k.config}
		k.shared.config.Redact = c.Sharing.Redact
	}
	work.Default(&k.config.OnError, func(context.Context, error) {})
	if c.Retention != nil {
		var err error
		if k.config.Retention, err = checkRetention(*c.Retention); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	k.life = work.NewService(context.Background(), k.errorf("the backend is closed: %w", backends.ErrUnavailable), k.tell)
	k.uses = map[backends.Partition]map[string]int{}
	return k, nil
}

// Store returns the store of the memories.
func (k *Keeper) Store() store.Store { return k.config.Store }

// Ranker returns the ranker that finds them.
func (k *Keeper) Ranker() *recall.Ranker { return k.config.Ranker }

// Embeds reports whether memories have vectors.
func (k *Keeper) Embeds() bool { return k.config.Ranker.EmbeddingModel() != "" }

// Now returns the time of the configured clock.
func (k *Keeper) Now() time.Time { return k.config.Clock() }

// Redact returns a text as it may be stored, by Config.Redact.
func (k *Keeper) Redact(s string) string { return k.config.Redact(s) }

// Call carries out a call of a backend that Close waits for. It returns ErrInvalid for a nil
// request, ErrUnavailable after Close, and a panic as an error.
func Call[R, T any](ctx context.Context, k *Keeper, r *R, do func(context.Context, *R) (*T, error)) (_ *T, err error) {
	defer work.Recover(k.config.Name, &err)
	if r == nil {
		return nil, k.noRequest()
	}
	leave, err := k.life.Enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	return do(ctx, r)
}

// Begin returns the context for the writes of a call: see [store.Begin]. It begins in the
// epochs of the scope's owner and of the workspace, for writes to any partition. Every public
// call that writes begins so.
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

// Resolve returns the scope of a call and its partition, which of finds in it, such as
// [backends.Scope.Speaker]. A zero scope takes the context's. Errors: ErrNoScope, and
// ErrInvalid for an illegal part.
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

// Stamps returns the first of n instants a microsecond apart, later than all earlier
// ones: the Created of n memories of one batch. So the order of storing survives a clock
// that stands still.
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

// Name returns Config.Name.
func (k *Keeper) Name() string { return k.config.Name }

// errorf is fmt.Errorf with the backend's name before it.
func (k *Keeper) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", k.config.Name, fmt.Errorf(format, args...))
}

// StandingKey is the key of memories that always apply, except delicate ones.
var StandingKey = text.HashKey("standing")

// Keys returns the keys by which [Keeper.Lookup] finds a memory: the [TextKey] of its text. A
// memory that marks a turn as silent also has the places of that turn, and one that always
// applies has StandingKey. It is made for the Keys of a recall.Config.
func Keys(m *backends.Memory) []string {
	keys := []string{TextKey(m.Kind, m.WhenToUse, m.Text)}
	if m.Standing && !m.Delicate {
		keys = append(keys, StandingKey)
	}
	if silent(m) {
		for _, at := range placesOf(&m.Origin) {
			keys = append(keys, at.key())
		}
	}
	return keys
}

// TextKey returns the key of the same words. Memories of one kind share it if their
// WhenToUse and Text differ only in width, case, spaces between words and the sentence's
// final mark. Numbers always count, and so does a question mark. The keywords of a
// personal memory are left out.
func TextKey(kind backends.Kind, whenToUse, content string) string {
	if kind.Traits().Keywords {
		whenToUse = ""
	}
	return text.HashKey("text", string(kind), text.Fold(whenToUse), text.Fold(content))
}

// ContentID returns the id of a memory that follows from its content. It is a UUID of
// version 8 (RFC 9562), made of the partition, the kind and the parts in their order. Two
// processes that learn the same thing at the same time meet: the second Put that expects
// [store.MustNotExist] is ErrConflict, and its writer looks again.
func ContentID(p backends.Partition, kind backends.Kind, parts ...string) string {
	return text.HashID(append([]string{p.String(), string(kind)}, parts...)...)
}
