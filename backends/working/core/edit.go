// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
)

const (
	actorAgent  = "agent" // the author of an edit whose scope lacks an agent
	roleAgent   = "assistant"
	actorCaller = "caller" // the program itself

	// maxAttempts bounds the retries of an edit after conflicts. In each round one of the
	// competing edits succeeds. Among 64 writers that edit all the time, an edit loses this
	// often with a probability of (63/64)^1000, 1e-7.
	maxAttempts = 1000
)

// Edit is a change of one block.
type Edit struct {
	Scope backends.Scope // Required.
	Block string         // Required. Its name.
	Old   string         // Replace: required. The stored form or the shown one; occurs exactly once.
	Text  string         // Append: required, put on a line of its own. Replace, Set: optional, empty deletes.

	// Version is for Set: the Version of the Value that was read, or store.MustNotExist for a
	// block still unwritten. Optional. 0 overwrites.
	Version int64
	// IdempotencyKey makes repeated calls harmless: a repeated call changes nothing and returns
	// the block as it is. Optional. Defaults to none.
	IdempotencyKey string
	// Confirm gets the block before and after the edit; a refusal is ErrDeclined. Optional.
	Confirm backends.Confirm
}

// MatchError is the error of Replace for an old text that occurs zero times or several times. It
// comes as backends.ErrInvalid, and the block is unchanged.
type MatchError struct {
	Block string
	Count int    // how often the old text occurs
	Shown string // the text of the block, as models see it
}

// Error says how to correct the call.
func (e *MatchError) Error() string {
	what := "copy the text exactly as the block shows it now"
	if e.Count > 0 {
		what = "pass more of the text around it, so that it is the only one"
	}
	return fmt.Sprintf("block %q: the old text occurs %d times in it, and has to occur once: %s; nothing was changed", e.Block, e.Count, what)
}

// Append adds a text to a block as the agent, and returns the block after it. After a conflict
// the edit is made again on top of the newer text, so that concurrent edits are kept.
//
// It returns ErrInvalid for a blank text, for a read-only block, and for a text that would
// exceed the limit. A name outside the configuration is ErrNotFound. A scope that lacks the
// block's owner is ErrNoScope.
func (b *Blocks) Append(ctx context.Context, e *Edit) (*Value, error) {
	return b.edit(ctx, *e, roleAgent, func(before string) (string, error) {
		added := strings.TrimLeft(strings.TrimRight(b.clean(e.Text), " \t\n"), "\n")
		if strings.TrimSpace(added) == "" {
			return "", fmt.Errorf("block %q: %w: no text to append", e.Block, backends.ErrInvalid)
		}
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		return before + added, nil
	})
}

// Replace replaces Old by Text as the agent, and returns the block after it. It returns a
// [MatchError] unless Old occurs exactly once, and otherwise the errors of Append.
func (b *Blocks) Replace(ctx context.Context, e *Edit) (*Value, error) {
	old := show(breaks(e.Old))
	return b.edit(ctx, *e, roleAgent, func(before string) (string, error) {
		if old == "" {
			return "", fmt.Errorf("block %q: %w: no old text to replace; Append adds", e.Block, backends.ErrInvalid)
		}
		from, to, n := occurrences(before, old)
		if n != 1 {
			return "", fmt.Errorf("%w: %w", backends.ErrInvalid, &MatchError{Block: e.Block, Count: n, Shown: show(before)})
		}
		return before[:from] + b.clean(e.Text) + before[to:], nil
	})
}

// Set writes the text of a block as the program, read-only or not, and returns the block. The
// limit holds here too. It returns ErrConflict if the block was written since its Version was
// read.
func (b *Blocks) Set(ctx context.Context, e *Edit) (*Value, error) {
	return b.edit(ctx, *e, "", func(string) (string, error) { return b.clean(e.Text), nil })
}

// change derives a block's next text from the one before.
type change func(before string) (string, error)

// edit carries out an edit by the agent, or by the program if role is empty.
func (b *Blocks) edit(ctx context.Context, e Edit, role string, f change) (v *Value, err error) {
	defer wrap(&err)
	defer work.Recover("a function of the program's", &err)
	t, err := b.find(e.Block, e.Scope)
	switch {
	case err != nil:
		return nil, err
	case !utf8.ValidString(e.Text):
		return nil, fmt.Errorf("block %q: %w: not UTF-8", e.Block, backends.ErrInvalid)
	case t.View != nil:
		return nil, fmt.Errorf("block %q: %w: what it shows follows from elsewhere, see Block.View", e.Block, backends.ErrInvalid)
	case role != "" && t.ReadOnly:
		return nil, fmt.Errorf("block %q: %w: it is read-only, and only the program changes it, with Set", e.Block, backends.ErrInvalid)
	case role != "":
		e.Version = 0
	}
	if ctx, err = store.BeginRecords(ctx, b.config.Records, t.place.partition); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ { // an edit that expects a version is made once
		v, err := b.attempt(ctx, &t, &e, role, f)
		if !errors.Is(err, backends.ErrConflict) || e.Version != 0 || attempt == maxAttempts || ctx.Err() != nil {
			return v, err
		}
	}
}

// attempt makes the edit on the present text of the block. It returns ErrConflict if another
// write came in between.
func (b *Blocks) attempt(ctx context.Context, t *target, e *Edit, role string, f change) (*Value, error) {
	held, err := b.records(ctx, t.place)
	if err != nil {
		return nil, err
	}
	v := valueOf(t.Block, held[t.place])
	if expect := max(e.Version, 0); e.Version != 0 && expect != v.Version {
		return nil, fmt.Errorf("block %q: %w: it is at version %d, not %d: read it again", t.Name, backends.ErrConflict, v.Version, expect)
	}
	text, err := f(v.Text)
	if err != nil {
		return nil, err
	}
	size := utf8.RuneCountInString(text)
	switch {
	case size > t.Limit && size >= v.Size: // a text that is too long already may become shorter
		return nil, fmt.Errorf("block %q: %w: the edit would make it %d characters long, its limit is %d, and it holds %d now: "+
			"shorten or replace what it holds first; nothing was changed", t.Name, backends.ErrInvalid, size, t.Limit, v.Size)
	case text == v.Text && v.Version != 0:
		return v, nil
	}
	put := store.Put(b.record(t, role, text))
	put.Expect, put.Actor, put.Role = v.Version, put.Record.Origin.Author, role
	old := put.Record.Memory
	old.Text = v.Text
	if err := e.Confirm.Ask(ctx, backends.Change{Scope: e.Scope, Update: []backends.Edit{{Old: old, New: put.Record.Memory}}}); err != nil {
		return nil, fmt.Errorf("confirming an edit of block %q: %w", t.Name, err)
	}
	if v.Version == 0 {
		put.Expect, put.Record.Created = store.MustNotExist, put.Record.Updated
	}
	applied, err := b.config.Records.Apply(ctx, t.place.partition, &store.Batch{Mutations: []store.Mutation{put}, Key: e.IdempotencyKey})
	switch {
	case err != nil:
		return nil, fmt.Errorf("storing block %q: %w", t.Name, err)
	case applied.Replayed:
		v.Replayed = true
		return v, nil
	}
	put.Record.Version = applied.Version
	return valueOf(t.Block, put.Record), nil
}

func (b *Blocks) record(t *target, role, text string) *store.Record {
	actor := actorCaller
	if role != "" {
		actor = cmp.Or(t.scope.AgentID, actorAgent)
	}
	return &store.Record{Memory: backends.Memory{
		ID: t.place.id, Kind: backends.KindCore, Text: text, Scope: t.owner, Updated: b.config.Clock(),
		Origin: backends.Origin{Session: t.scope.SessionID, Role: role, Author: actor},
	}}
}

// clean returns a text in the stored form: redacted, with \n for line breaks.
func (b *Blocks) clean(s string) string {
	return strings.ToValidUTF8(b.config.Redact(breaks(s)), "\uFFFD")
}

// breaks returns a text with \n for line breaks.
func breaks(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// occurrences finds the places in text that models see as part. It returns the bytes of the
// first and the number of places. Overlapping places count too, since they leave the choice open
// as well.
func occurrences(text, part string) (from, to, n int) {
	for i, r := range text {
		if visible(r) == "" {
			continue // it belongs to the character behind it
		}
		if size, ok := prefix(text[i:], part); ok {
			if n++; n == 1 {
				from, to = i, i+size
			}
		}
	}
	return from, to, n
}

// prefix returns how many bytes at the beginning of text are shown as part.
func prefix(text, part string) (int, bool) {
	for i, r := range text {
		if part == "" {
			return i, true
		}
		v := visible(r)
		if !strings.HasPrefix(part, v) {
			return 0, false
		}
		part = part[len(v):]
	}
	return len(text), part == ""
}
