// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/budget"
)

// Archive keeps what leaves a context: [github.com/einomem/einomem/backends/working/archive.Archive]
// is one. It must be safe for concurrent use.
type Archive interface {
	// Put stores messages and returns the reference under which all of them are
	// found. When it returns, they are stored; storing them again is harmless. It
	// does not change them.
	Put(ctx context.Context, messages []*schema.Message) (ref string, err error)
}

// Step makes a context smaller in one way. Steps are shared by all calls of a
// [Compactor] and must be safe for concurrent use.
type Step interface {
	// Name is the step's name in a [Report].
	Name() string
	// Apply works on c until [Context.Over] is 0 or less, or nothing is left to
	// do. What it did before it failed stays.
	Apply(ctx context.Context, c *Context) error
}

// ErrNoArchive is reported by a step that has something to replace and no archive
// to keep it in: give [Request].Archive.
var ErrNoArchive = errors.New("no archive")

// Request is a context to make smaller.
type Request struct {
	// Messages is the context, oldest first. Neither the slice nor the messages
	// are changed.
	Messages []*schema.Message
	// Archive keeps what is replaced. Optional: without one only that is done
	// which loses nothing.
	Archive Archive
}

// Result is a context that was made smaller.
type Result struct {
	// Messages is the context: a slice of its own, whose messages are the
	// request's where nothing was to be done about them. Providers take it.
	Messages []*schema.Message
	// Before and After say how full it was, and is.
	Before, After budget.Usage
	// Steps tells what was done, one report a step that ran.
	Steps []Report
	// Usage is what models were asked for.
	Usage backends.Usage
	// Summary is what the session is to keep: the last summary that a step made in
	// this call and that reaches a place in the session's log; else nil. Messages has
	// it, or a stand-in of a later step that reaches further.
	Summary *Summary
}

// Report tells what one step did.
type Report struct {
	Step     string
	Replaced int   // messages that left or were replaced
	Saved    int   // tokens
	Err      error // what went wrong; what was not stored was not replaced either
}

// Summary is what stands for the beginning of a session.
type Summary struct {
	Text string
	Upto int64 // the last sequence number of the session's log that it covers
}

// is reports whether m is the message of the summary.
func (s *Summary) is(m *schema.Message) bool { return standsForMany(m) && m.Content == s.Text }

// Compactor makes contexts fit. It is safe for concurrent use.
type Compactor struct {
	config *Config
}

// New returns a compactor, or ErrInvalid.
func New(cfg *Config) (*Compactor, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Compactor{config: c}, nil
}

// Compact returns the context of r as one that providers take and that fits the
// budget. While it fits as it is, nothing is stored and no model is asked: only
// calls and results of tools that do not belong together are put right.
//
// The error is a [*budget.OverError] when all steps together do not suffice, and
// the context's when that ends first; the result is valid then too, and as small
// as could be. ErrInvalid comes without one.
func (c *Compactor) Compact(ctx context.Context, r *Request) (*Result, error) {
	if r == nil {
		return nil, fmt.Errorf("compaction: %w: no request", backends.ErrInvalid)
	}
	work := newContext(c.config, r)
	result := &Result{Before: work.Usage()}
	for _, step := range c.config.Steps {
		if work.Over() <= 0 || ctx.Err() != nil {
			break
		}
		result.Steps = append(result.Steps, work.apply(ctx, step))
	}
	result.Messages, result.After = work.messages, work.Usage()
	result.Usage, result.Summary = work.spent, work.shownSummary()
	if err := ctx.Err(); err != nil && work.Over() > 0 {
		return result, fmt.Errorf("compaction: %w", err)
	}
	if err := result.After.Err(); err != nil {
		return result, fmt.Errorf("compaction: %w", err)
	}
	return result, nil
}
