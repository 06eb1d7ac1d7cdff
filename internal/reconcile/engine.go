// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconcile turns what was said into statements that hold: what is known and what
// was said go to a model, operations come back (add a statement, supersede or retract a
// known one), and one batch stores them, all or nothing. Package mem0 learns facts by it,
// package reme what it knows about people.
//
//	call, err := engine.Begin(ctx, reconcile.Request{AddRequest: r, Partition: p})
//	resp, err := call.Learn(ctx, func(ctx context.Context) error {
//		return call.Reconcile(ctx, &reconcile.Question{System: rules, Tool: "remember", Ask: reconcile.Asked[facts]})
//	})
//
// There is one place for each decision: Begin lets through what may be learnt from,
// material.go renders messages and memories, candidates.go chooses which memories the model
// is shown, decisions.go decides where a statement comes from, and batch.go how the
// statements of a call relate to those that the store holds.
//
// # Races
//
// One call at a time learns for a partition, so that it knows what the one before it
// stored. Other processes are found out when the batch is stored: ids follow from content,
// targets are written with the version that they had when they were read. What leaves the
// operations valid is built and stored again; where a target changed, or statements were
// added that the model was not shown, the model is asked again.
package reconcile

import (
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/ask"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/work"
)

// Config says what an [Engine] learns, and how.
type Config struct {
	Name     string            // Required. The backend's: errors and idempotency keys begin with it.
	Keeper   *keeper.Keeper    // Required. Its ranker has at least the keys of [keeper.Keys].
	Model    *ask.Model        // Optional. Without one nothing can be asked.
	Limits   ask.Limits        // Optional. What one call may cost.
	Kind     backends.Kind     // Required. Of what a model writes down.
	Author   string            // Required. The Origin.Author of what a model writes down.
	Language backends.Language // Optional. Of the prompts.

	// Shown is how many known statements the model is shown. Required.
	Shown int
	// Room is how many tokens of messages one question has room for, by Count: more
	// messages are divided between several questions, long messages between their
	// sentences. Optional. By default there is one question, and long messages are shown
	// without their middle.
	Room  int
	Count func(string) int // Required with Room.
	// UsersOnly learns from users alone; what assistants say is shown beside it.
	UsersOnly bool
	// ByTime has the statement hold that was said last, whatever the order in which
	// statements are learnt: one that is older than what it supersedes is stored as the
	// history of that. By default what is learnt later holds.
	ByTime bool
	// Location is the zone of the times that the model is shown. Optional. Defaults to UTC.
	Location *time.Location
	// Dates explains the words for times in a message. Optional.
	Dates func(message string, said time.Time) []string
	// Complete puts into a memory what an operation says beyond its text. Optional.
	// Defaults to Valid, if the operation has a Since.
	Complete func(m *backends.Memory, op *Operation)
}

// Engine learns statements. It is safe for concurrent use.
type Engine struct {
	Config
	learning work.Locks[string] // by partition and subject; held from what the model is shown to what is stored
}

// New returns an engine.
func New(c *Config) *Engine {
	e := &Engine{Config: *c}
	if e.Location == nil {
		e.Location = time.UTC
	}
	if e.Complete == nil {
		e.Complete = func(m *backends.Memory, op *Operation) { m.Valid = op.Since }
	}
	return e
}

// errorf is fmt.Errorf with the backend's name before it.
func (e *Engine) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", e.Name, fmt.Errorf(format, args...))
}

// Since returns from when a memory holds.
func Since(m *backends.Memory) time.Time {
	for _, t := range []time.Time{m.Valid, m.Observed} {
		if !t.IsZero() {
			return t
		}
	}
	return m.Created
}
