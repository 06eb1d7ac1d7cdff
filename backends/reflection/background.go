// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
)

// Schedule says when a Reflector works by itself, and bounds its cost.
type Schedule struct {
	Config

	Turns int           // After so many turns about a person or a workspace. Optional. Defaults to 20.
	Idle  time.Duration // And so long after the last of them. Optional. Defaults to an hour.
	// Calls and Tokens bound the model's cost a day for one person or workspace, in all processes
	// together. Optional. Default to 20 calls and 200,000 tokens.
	Calls, Tokens int

	// Review sees each plan before Apply, may remove operations from it, and returns false to stop
	// it. Optional. By default all plans are applied.
	Review func(ctx context.Context, p *Plan) bool
	// OnApplied gets each applied plan. Optional. It must be quick.
	OnApplied func(ctx context.Context, p *Plan, a *Applied)
}

// leased is how long a process has a partition to itself. A process that takes longer may be joined
// by another one. Their writes leave each other's alone.
const leased = 15 * time.Minute

// Background reflects in the background. Close it: it owns goroutines.
type Background struct {
	*Reflector
	schedule Schedule
	owner    string
	life     *work.Service
	due      *work.List[backends.Partition]

	mu      sync.Mutex
	waiting map[backends.Partition]waiting
}

// waiting are turns that are still to be stored.
type waiting struct {
	scope backends.Scope
	turns int
}

// StartReflection implements [store.ReflectionConfig], with c where s itself leaves a field open.
func (s *Schedule) StartReflection(c *store.Common) (backends.Reflection, error) {
	if s == nil {
		return nil, nil
	}
	d := *s
	if d.Backend == nil {
		d.Backend = c.Backend
	}
	if d.Language == "" {
		d.Language = c.Language
	}
	if d.Blocks == nil && d.Block != "" && c.Blocks != nil {
		d.Blocks = c.Blocks
	}
	return Start(&d, c.OnError)
}

// Start returns a Background, which learns of turns by After. It returns the errors of [New].
// onError, which may be nil, gets failures.
func Start(s *Schedule, onError func(ctx context.Context, stage string, err error)) (*Background, error) {
	r, err := New(&s.Config)
	if err != nil {
		return nil, err
	}
	b := &Background{Reflector: r, schedule: *s, owner: backends.NewID(), waiting: map[backends.Partition]waiting{}}
	b.schedule.Turns, b.schedule.Idle = cmp.Or(s.Turns, 20), cmp.Or(s.Idle, time.Hour)
	b.schedule.Calls, b.schedule.Tokens = cmp.Or(s.Calls, 20), cmp.Or(s.Tokens, 200_000)
	b.life = work.NewService(context.Background(), errors.New("reflection is closed"), onError)
	b.due = work.NewList(b.life, "reflect", 1, b.reflect)
	return b, nil
}

// After notes that a turn of a scope ended. It returns at once. After Close it does nothing.
func (b *Background) After(s backends.Scope) {
	leave, err := b.life.Enter()
	if err != nil {
		return
	}
	defer leave()
	team := backends.Scope{Namespace: s.Namespace, Workspace: s.Workspace}
	for _, of := range []backends.Scope{s, team} {
		_, of, p, err := b.home(b.life.Running(), of)
		if err != nil || of.IsZero() {
			continue
		}
		b.mu.Lock()
		b.waiting[p] = waiting{of, b.waiting[p].turns + 1}
		b.mu.Unlock()
		b.due.AddAfter(p, b.schedule.Idle)
	}
}

// Close ends running work, with no operation half done, and stores the counted turns.
func (b *Background) Close(ctx context.Context) error {
	b.life.Cancel()
	err := b.life.Drain(ctx)
	for p := range b.waiting {
		if err == nil {
			_, err = b.update(ctx, p, func(*state) {})
		}
	}
	return err
}

// state is a partition's record of reflections. It is a nameless core block, which stays hidden.
type state struct {
	Turns  int       `json:"turns"` // since the last one
	Since  time.Time `json:"since,omitzero"`
	Day    string    `json:"day"`
	Calls  int       `json:"calls"` // of the day
	Tokens int       `json:"tokens"`
	Owner  string    `json:"owner"`
	Until  time.Time `json:"until,omitzero"` // of the lease
}

const stateID = "einomem/reflect"

// update changes the state of a partition, with the turns that wait here, and returns their scope.
// Where the store fails, the turns wait on.
func (b *Background) update(ctx context.Context, p backends.Partition, change func(*state)) (backends.Scope, error) {
	b.mu.Lock()
	counted := b.waiting[p]
	delete(b.waiting, p)
	b.mu.Unlock()
	k := keeperOf(keepers(b.Backend), p)
	err := store.OnConflict(ctx, func() error {
		records, err := k.Records(ctx, p, stateID)
		if err != nil {
			return err
		}
		r, expect, st := &store.Record{Memory: backends.Memory{ID: stateID, Kind: backends.KindCore, Scope: p.Scope()}}, store.MustNotExist, &state{}
		if len(records) > 0 {
			r, expect = &records[0], records[0].Version
			_ = keeper.Convert(r.Metadata, st) // an unreadable state begins anew
		}
		if today := k.Now().Format(time.DateOnly); st.Day != today {
			st.Day, st.Calls, st.Tokens = today, 0, 0
		}
		st.Turns += counted.turns
		change(st)
		r.Metadata = nil
		_ = keeper.Convert(st, &r.Metadata)
		put := store.Put(r)
		put.Expect, put.Actor = expect, author
		_, err = k.Store().Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{put}})
		return err
	})
	if err != nil && counted.turns > 0 {
		b.mu.Lock()
		b.waiting[p] = waiting{counted.scope, b.waiting[p].turns + counted.turns}
		b.mu.Unlock()
	}
	return counted.scope, err
}

// reflect reflects on a partition that is idle, if it is due.
func (b *Background) reflect(ctx context.Context, p backends.Partition) error {
	now := keeperOf(keepers(b.Backend), p).Now()
	var mine bool
	var before state
	scope, err := b.update(ctx, p, func(st *state) {
		free := st.Owner == "" || st.Owner == b.owner || now.After(st.Until)
		mine = free && st.Turns >= b.schedule.Turns && st.Calls < b.schedule.Calls && st.Tokens < b.schedule.Tokens
		if before = *st; mine {
			st.Owner, st.Until = b.owner, now.Add(leased)
		}
	})
	if err != nil || !mine {
		return err
	}
	plan, err := b.Draft(ctx, &Request{Scope: scope, Since: before.Since, Calls: b.schedule.Calls - before.Calls, Tokens: b.schedule.Tokens - before.Tokens})
	if err == nil && (b.schedule.Review == nil || b.schedule.Review(ctx, plan)) {
		var applied *Applied
		if applied, err = b.Apply(ctx, plan, true); err == nil && b.schedule.OnApplied != nil {
			b.schedule.OnApplied(ctx, plan, applied)
		}
	}
	_, noted := b.update(context.WithoutCancel(ctx), p, func(st *state) {
		st.Owner, st.Until = "", time.Time{}
		if plan != nil {
			st.Calls, st.Tokens = st.Calls+plan.Usage.ModelCalls, st.Tokens+plan.Usage.PromptTokens+plan.Usage.CompletionTokens
		}
		if err == nil { // else the next turn makes it try again
			st.Turns, st.Since = max(0, st.Turns-before.Turns), now
		}
	})
	return errors.Join(err, noted)
}
