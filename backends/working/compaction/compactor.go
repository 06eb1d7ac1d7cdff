// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/work"
)

// Archive keeps the messages that leave a context:
// [github.com/einomem/einomem/backends/working/archive.Archive] is one. It must be safe for
// concurrent use.
type Archive interface {
	// Put stores messages and returns the reference under which all of them are found. When err
	// is nil they are stored; storing them again is harmless. It leaves them unchanged.
	Put(ctx context.Context, messages []*schema.Message) (ref string, err error)
}

// errNoArchive is in the [Report] of a step that has messages to replace but lacks an archive.
var errNoArchive = errors.New("no archive: set Request.Archive")

// Step makes a context smaller in one way. A program writes its own by [Rewrite].
type Step interface {
	// build checks the step's configuration and returns the step to run, or ErrInvalid.
	build(c *Config) (*step, error)
}

// step is ready to run. All calls of a [Compactor] share it.
type step struct {
	name string // in a [Report]
	// run works on c until it fits, or until the step has done all it can. Changes made before a
	// failure stay.
	run func(ctx context.Context, c *draft) error
	// when, if set, says whether the step runs.
	when func(c *draft) bool
	// last, if set, comes after all steps.
	last *step
}

// Default returns all steps in their order, from free to costly: the steps that call no model,
// summaries by m, and archiving steps, which bring the context into its budget when the model
// fails. For a nil model it is [Free].
func Default(m model.BaseChatModel) []Step {
	if m == nil {
		return Free()
	}
	return []Step{
		DropDerived{}, OffloadTools{}, OffloadMessages{}, ShortenInput{Model: m},
		SummarizeRounds{Model: m}, SummarizeCurrent{Model: m},
		ArchiveRounds{}, ArchiveCurrent{},
	}
}

// Free returns the steps that call no model, in their order. Derived messages go first, then
// large old ones, then a user's message that no context could show whole, then whole rounds,
// then the older part of the running round.
func Free() []Step {
	return []Step{DropDerived{}, OffloadTools{}, OffloadMessages{}, ShortenInput{}, ArchiveRounds{}, ArchiveCurrent{}}
}

// Config says when and how contexts are made smaller. [New] copies it.
type Config struct {
	// Budget says how many tokens a context may have. Required.
	Budget Budget
	// Steps are tried in this order, each only while the context is too large.
	// Optional. Defaults to [Free].
	Steps []Step
	// Trigger is a share of the budget's limit: the steps run above it, and go down to it. It is
	// above 0, at most 1. Optional. Defaults to 1.
	Trigger float64
	// Language of placeholders and summaries; quotes keep their own. Optional. LanguageAuto
	// follows the last user message.
	Language backends.Language
	// NoTools leaves the names of the tools grep_working_memory and read_working_memory out of
	// the placeholders. Set it for an agent that lacks these tools, so that it does not call
	// them.
	NoTools bool
}

// withDefaults returns a complete copy, or ErrInvalid.
func (c *Config) withDefaults() (*Config, error) {
	if c == nil {
		return nil, fmt.Errorf("%w: no config: give at least a Budget", backends.ErrInvalid)
	}
	n := *c
	var err error
	if n.Budget, err = n.Budget.WithDefaults(); err != nil {
		return nil, err
	}
	work.Default(&n.Trigger, 1)
	if !(n.Trigger > 0 && n.Trigger <= 1) || n.target() < 1 {
		return nil, fmt.Errorf("%w: Trigger %v: give a share of the budget above 0, at most 1", backends.ErrInvalid, c.Trigger)
	}
	work.Default(&n.Steps, Free())
	return &n, n.Language.Validate()
}

// target is the number of tokens that the steps go down to.
func (c *Config) target() int {
	const rounding = 1e-6 // 20000.0/65536 of 65536 is 20000; floating point may make it less
	return int(c.Trigger*float64(c.Budget.Limit()) + rounding)
}

// Compactor makes contexts fit. It is safe for concurrent use.
type Compactor struct {
	config *Config
	steps  []*step
}

// New returns a compactor, or ErrInvalid.
func New(cfg *Config) (*Compactor, error) {
	full, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("compaction: %w", err)
	}
	c := &Compactor{config: full}
	for i, s := range full.Steps {
		if s == nil {
			return nil, fmt.Errorf("compaction: %w: step %d is nil: leave it out", backends.ErrInvalid, i+1)
		}
		ready, err := s.build(full)
		if err != nil {
			return nil, fmt.Errorf("compaction: step %d, %T: %w", i+1, s, err)
		}
		c.steps = append(c.steps, ready)
	}
	for _, s := range c.steps {
		if s.last != nil {
			c.steps = append(c.steps, s.last)
		}
	}
	return c, nil
}

// Request is a context to compact.
type Request struct {
	// Messages is the context, oldest first. The slice and the messages stay unchanged.
	Messages []*schema.Message
	// Archive keeps the replaced messages. Optional: if it is nil, only [ShortenInput] and steps
	// that lose nothing take effect.
	Archive Archive
	// Begin returns the context for the steps. It is called once, if the messages exceed the
	// budget. Optional.
	Begin func(ctx context.Context) context.Context
}

// Result is a context after compaction.
type Result struct {
	// Messages is the context: a slice of its own, with the request's messages wherever they
	// could stay as they are. Providers accept it.
	Messages []*schema.Message
	// Before and After say how full the context was, and is.
	Before, After Usage
	// Steps has one report for each step that ran.
	Steps []Report
	// Usage counts the requests to models.
	Usage backends.Usage
	// Summary is for the session to keep: the last summary of this call that covers the
	// beginning of the session's log; else nil.
	Summary *Summary
}

// Report is the outcome of one step.
type Report struct {
	Step     string
	Replaced int   // messages that left or were replaced
	Saved    int   // tokens
	Err      error // the error, if any; messages that could not be stored were left in place
}

// Summary stands for the beginning of a session.
type Summary struct {
	Text string
	Upto int64 // the last sequence number of the session's log that it covers
}

// Compact returns the context of r in a form that providers accept and that fits the budget.
// Where it fits already, Compact only repairs calls and results of tools that do not belong
// together; the archive and the models stay idle. Private messages are never stored or
// summarised: before the steps run, the older ones lose their words.
//
// The error is an [*OverError] when all steps together are too little, and the error of ctx when
// that ends first. The result is valid then too, and as small as possible. Only ErrInvalid comes
// with a nil result.
func (c *Compactor) Compact(ctx context.Context, r *Request) (*Result, error) {
	if r == nil {
		return nil, fmt.Errorf("compaction: %w: no request", backends.ErrInvalid)
	}
	work := newDraft(c.config, r)
	result := &Result{Before: work.usage()}
	if work.over() > 0 {
		work.withhold()
		if r.Begin != nil {
			ctx = r.Begin(ctx)
		}
	}
	for _, s := range c.steps {
		if work.over() <= 0 || ctx.Err() != nil {
			break
		}
		if s.when == nil || s.when(work) {
			result.Steps = append(result.Steps, work.apply(ctx, s))
		}
	}
	result.Messages, result.After = einox.Encode(work.messages), work.usage()
	result.Usage, result.Summary = work.spent, work.summary
	switch {
	case work.over() > 0 && ctx.Err() != nil:
		return result, fmt.Errorf("compaction: %w", ctx.Err())
	case result.After.Over() > 0:
		return result, fmt.Errorf("compaction: %w", &OverError{Tokens: result.After.Tokens, Limit: result.After.Limit})
	}
	return result, nil
}
