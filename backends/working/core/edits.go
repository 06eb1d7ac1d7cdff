// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"fmt"
	"strings"

	"github.com/einomem/einomem/backends"
)

// AppendRequest adds a text to a block.
type AppendRequest struct {
	Scope backends.Scope // Required.
	Block string         // Required. Its name.
	Text  string         // Required. Put on a line of its own.

	// IdempotencyKey makes a repeated call harmless: it changes nothing and returns
	// the block as it is. Optional. Defaults to none.
	IdempotencyKey string
}

// ReplaceRequest replaces a text in a block.
type ReplaceRequest struct {
	Scope backends.Scope // Required.
	Block string         // Required. Its name.
	Old   string         // Required. As the block holds it, or as models are shown it; occurs exactly once.
	New   string         // Optional. Empty deletes Old.

	// IdempotencyKey makes a repeated call harmless: it changes nothing and returns
	// the block as it is. Optional. Defaults to none.
	IdempotencyKey string
}

// SetRequest gives a block a text, whatever it holds.
type SetRequest struct {
	Scope   backends.Scope // Required.
	Block   string         // Required. Its name.
	Text    string         // Optional. Empty empties the block.
	Version int64          // That of the Value that was read: 0 where nobody has written the block. AnyVersion overwrites.
}

// Append adds a text to a block as the agent, and returns the block after it. What
// others write at the same time stays: the edit is made again on top of it.
//
// It returns a LimitError where there is no room, a ReadOnlyError, an UnknownError,
// ErrInvalid for a blank text, and ErrNoScope when the scope does not name the
// block's owner.
func (b *Blocks) Append(ctx context.Context, r *AppendRequest) (*Value, error) {
	text := strings.TrimLeft(strings.TrimRight(breaks(r.Text), " \t\n"), "\n")
	e := edit{scope: r.Scope, name: r.Block, added: text, change: appended, key: r.IdempotencyKey}
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("core: block %q: %w: no text to append", r.Block, backends.ErrInvalid)
	}
	return b.byAgent(ctx, &e)
}

// Replace puts New in the place of Old as the agent, and returns the block after it.
// What others write at the same time stays: the edit is made again on top of it.
//
// It returns a MatchError when Old is not there, or more than once, a LimitError
// where there is no room, a ReadOnlyError, an UnknownError, ErrInvalid for an empty
// Old, and ErrNoScope when the scope does not name the block's owner.
func (b *Blocks) Replace(ctx context.Context, r *ReplaceRequest) (*Value, error) {
	old := breaks(r.Old)
	if old == "" {
		return nil, fmt.Errorf("core: block %q: %w: no old text to replace; Append adds", r.Block, backends.ErrInvalid)
	}
	e := edit{scope: r.Scope, name: r.Block, added: r.New, change: replaced(r.Block, old), key: r.IdempotencyKey}
	return b.byAgent(ctx, &e)
}

// Set gives a block a text as the program, read-only or not, and returns it. Its
// limit holds here too. ErrConflict says that the block was written since its
// Version was read.
func (b *Blocks) Set(ctx context.Context, r *SetRequest) (*Value, error) {
	e := edit{scope: r.Scope, name: r.Block, added: r.Text, actor: actorCaller, expect: &r.Version}
	e.change = func(_, added string) (string, error) { return added, nil }
	if r.Version == AnyVersion {
		e.expect = nil
	}
	return b.carryOut(ctx, &e)
}

// byAgent carries out an edit of the agent.
func (b *Blocks) byAgent(ctx context.Context, e *edit) (*Value, error) {
	if block, err := b.block(e.name); err == nil && block.ReadOnly {
		return nil, fmt.Errorf("core: %w", &ReadOnlyError{Block: e.name})
	}
	e.role, e.actor = roleAgent, strings.TrimSpace(e.scope.AgentID)
	if e.actor == "" {
		e.actor = actorAgent
	}
	return b.carryOut(ctx, e)
}
