// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

const (
	// AnyVersion is the Version of a SetRequest that overwrites whatever is there.
	AnyVersion int64 = -1

	// actorAgent is the actor of an agent's edit whose scope names no agent.
	actorAgent  = "agent"
	roleAgent   = "assistant"
	actorCaller = "caller" // the program itself

	// maxAttempts bounds how often an edit is tried again that lost a race. Somebody
	// wins each, and of one process one at a time takes part: among 64 processes that
	// never stop, an edit comes to this with a probability of (63/64)^1000, 1e-7.
	maxAttempts = 1000
)

// edit is one change of one block's text.
type edit struct {
	scope       backends.Scope
	name        string
	added       string
	change      change
	key         string
	actor, role string
	expect      *int64 // nil: any version, tried again when it changes meanwhile

	block *Block
	place place
	owner backends.Scope
}

func (b *Blocks) carryOut(ctx context.Context, e *edit) (*Value, error) {
	v, err := b.attempts(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	return v, nil
}

func (b *Blocks) attempts(ctx context.Context, e *edit) (*Value, error) {
	if err := b.prepare(e); err != nil {
		return nil, err
	}
	unlock, err := b.writing.Lock(ctx, e.place)
	if err != nil {
		return nil, fmt.Errorf("waiting to edit block %q: %w", e.name, err)
	}
	defer unlock()
	for attempt := 1; ; attempt++ {
		v, err := b.attempt(ctx, e)
		if !errors.Is(err, backends.ErrConflict) || e.expect != nil || attempt == maxAttempts || ctx.Err() != nil {
			return v, err
		}
	}
}

func (b *Blocks) prepare(e *edit) (err error) {
	if e.block, err = b.block(e.name); err != nil {
		return err
	}
	if e.scope, err = named(e.scope); err != nil {
		return err
	}
	if e.place, e.owner, err = placeOf(e.block, e.scope); err != nil {
		return err
	}
	e.added, err = clean(fmt.Sprintf("block %q", e.name), e.added)
	return err
}

// attempt makes the edit on what the block holds now. ErrConflict says that it
// holds something else by now.
func (b *Blocks) attempt(ctx context.Context, e *edit) (*Value, error) {
	v, err := b.read(ctx, e.block, e.place)
	if err != nil {
		return nil, err
	}
	if e.expect != nil && *e.expect != v.Version {
		return nil, fmt.Errorf("block %q: %w: it is at version %d, not %d: read it again", e.name, backends.ErrConflict, v.Version, *e.expect)
	}
	text, err := b.next(v, e.added, e.change)
	if err != nil {
		if b.done(ctx, e) {
			v.Replayed = true
			return v, nil
		}
		return nil, err
	}
	if text == v.Text && v.Version != 0 {
		return v, nil
	}
	return b.write(ctx, e, v, text)
}

func (b *Blocks) write(ctx context.Context, e *edit, v *Value, text string) (*Value, error) {
	now := b.config.Clock()
	put := store.Put(&store.Record{Memory: backends.Memory{
		ID: e.place.id, Kind: backends.KindCore, Text: text, Scope: e.owner, Updated: now,
		Origin: backends.Origin{Session: e.scope.SessionID, Role: e.role, Author: e.actor},
	}})
	put.Expect, put.Actor, put.Role = v.Version, e.actor, e.role
	if v.Version == 0 {
		put.Expect, put.Record.Created = store.MustNotExist, now
	}
	applied, err := b.config.Records.Apply(ctx, e.place.partition, &store.Batch{Mutations: []store.Mutation{put}, Key: e.key})
	if err != nil {
		return nil, fmt.Errorf("storing block %q: %w", e.name, err)
	}
	if applied.Replayed {
		if v, err = b.read(ctx, e.block, e.place); err == nil {
			v.Replayed = true
		}
		return v, err
	}
	return &Value{Block: *e.block, Text: text, Version: applied.Version, Updated: now}, nil
}

// done reports whether the edit was carried out before, under its key: then it finds
// nothing to replace, or no room, because of itself. The batch that asks cannot
// change anything: no record has that version.
func (b *Blocks) done(ctx context.Context, e *edit) bool {
	if e.key == "" {
		return false
	}
	ask := store.Delete(e.place.id)
	ask.Expect = math.MaxInt64
	applied, err := b.config.Records.Apply(ctx, e.place.partition, &store.Batch{Mutations: []store.Mutation{ask}, Key: e.key})
	return err == nil && applied.Replayed
}
