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
	"github.com/einomem/einomem/internal/config"
)

// Archive keeps what leaves a context:
// [github.com/einomem/einomem/backends/working/archive.Archive] is one. It must be safe
// for concurrent use.
type Archive interface {
	// Put stores messages and returns the reference under which all of them are found.
	// When it returns, they are stored; storing them again is harmless. It does not
	// change them.
	Put(ctx context.Context, messages []*schema.Message) (ref string, err error)
}

// errNoArchive is in the [Report] of a step that has something to replace and nowhere to
// keep it.
var errNoArchive = errors.New("no archive: set Request.Archive")

// Step makes a context smaller in one way. The steps of this package are all there are.
type Step interface {
	// build checks the step's configuration and returns what runs, or ErrInvalid.
	build(c *Config) (*step, error)
}

// step is a step that is ready to run. It is shared by all calls of a [Compactor].
type step struct {
	name string // in a [Report]
	// run works on c until over returns 0 or less, or nothing is left to do. What it
	// did before it failed stays.
	run func(ctx context.Context, c *draft) error
	// when, if set, says whether the step runs at all.
	when func(c *draft) bool
}

// Default returns all steps in their order, from free to costly: those that call no
// model, then summaries by m, and last what brings the context into its budget when the
// model fails. Without a model it is [Free].
func Default(m model.BaseChatModel) []Step {
	if m == nil {
		return Free()
	}
	return []Step{
		DropDerived{}, OffloadTools{}, OffloadMessages{},
		SummarizeRounds{Model: m}, SummarizeCurrent{Model: m},
		ArchiveRounds{}, ArchiveCurrent{},
	}
}

// Free returns the steps that call no model, in their order: what is derived goes first,
// then what is large and old, then whole rounds, then the older part of the running round.
func Free() []Step {
	return []Step{DropDerived{}, OffloadTools{}, OffloadMessages{}, ArchiveRounds{}, ArchiveCurrent{}}
}

// Config says when and how contexts are made smaller. It is copied by [New].
type Config struct {
	// Budget says how many tokens a context may have. Required.
	Budget Budget
	// Steps are tried in this order, each only while the context is too large.
	// Optional. Defaults to [Free].
	Steps []Step
	// Trigger is the share of the budget's limit above which the steps run, and down to
	// which they go: above 0, at most 1. Optional. Defaults to 1.
	Trigger float64
	// Language of placeholders and summaries; what they quote stays as it was said.
	// Optional. LanguageAuto follows the last user message.
	Language backends.Language
	// NoTools leaves the names of the tools grep_working_memory and read_working_memory
	// out of the placeholders. Set it for an agent that does not have them: it would
	// call what is not there.
	NoTools bool
}

// withDefaults returns a copy that is complete, or ErrInvalid.
func (c *Config) withDefaults() (*Config, error) {
	if c == nil {
		return nil, fmt.Errorf("%w: no config: give at least a Budget", backends.ErrInvalid)
	}
	n := *c
	var err error
	if n.Budget, err = n.Budget.WithDefaults(); err != nil {
		return nil, err
	}
	config.Default(&n.Trigger, 1)
	if !(n.Trigger > 0 && n.Trigger <= 1) || n.target() < 1 {
		return nil, fmt.Errorf("%w: Trigger %v: give a share of the budget above 0, at most 1", backends.ErrInvalid, c.Trigger)
	}
	config.Default(&n.Steps, Free())
	return &n, n.Language.Validate()
}

// target is the number of tokens that the steps go down to.
func (c *Config) target() int {
	const rounding = 1e-6 // 20000.0/65536 of 65536 is 20000, not what floating point makes of it
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
	return c, nil
}

// Request is a context to make smaller.
type Request struct {
	// Messages is the context, oldest first. Neither the slice nor the messages are
	// changed.
	Messages []*schema.Message
	// Archive keeps what is replaced. Optional: without one only that is done which
	// loses nothing.
	Archive Archive
	// Begin returns the context for the steps. It is called once, if the messages do not fit.
	// Optional.
	Begin func(ctx context.Context) context.Context
}

// Result is a context that was made smaller.
type Result struct {
	// Messages is the context: a slice of its own, whose messages are the request's
	// where nothing was to be done about them. Providers take it.
	Messages []*schema.Message
	// Before and After say how full it was, and is.
	Before, After Usage
	// Steps reports what was done, one report a step that ran.
	Steps []Report
	// Usage is what models were asked for.
	Usage backends.Usage
	// Summary is what the session may keep: the last summary of this call that covers
	// the beginning of the session's log; else nil.
	Summary *Summary
}

// Report says what one step did.
type Report struct {
	Step     string
	Replaced int   // messages that left or were replaced
	Saved    int   // tokens
	Err      error // what went wrong; what was not stored was not replaced either
}

// Summary stands for the beginning of a session.
type Summary struct {
	Text string
	Upto int64 // the last sequence number of the session's log that it covers
}

// Compact returns the context of r as one that providers take and that fits the budget.
// While it fits as it is, nothing is stored and no model is asked: only calls and results
// of tools that do not belong together are repaired. Of messages that are private, none of
// which is stored or summarised, the older ones lose their words first.
//
// The error is an [*OverError] when all steps together do not suffice, and the context's
// when that ends first; the result is valid then too, and as small as could be. ErrInvalid
// comes without one.
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
	result.Messages, result.After = work.messages, work.usage()
	result.Usage, result.Summary = work.spent, work.summary
	switch {
	case work.over() > 0 && ctx.Err() != nil:
		return result, fmt.Errorf("compaction: %w", ctx.Err())
	case result.After.Over() > 0:
		return result, fmt.Errorf("compaction: %w", &OverError{Tokens: result.After.Tokens, Limit: result.After.Limit})
	}
	return result, nil
}
