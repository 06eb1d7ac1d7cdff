// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"log/slog"
)

// The stages that Config.OnError is told of.
const (
	StageScope       = "scope"       // nothing names whose memory it is: there is none for this reply
	StageSearch      = "search"      // the reply goes on without memories
	StageHistory     = "history"     // the reply goes on without what was said before
	StageRecord      = "record"      // the turn could not be written to the log
	StageToolCall    = "tool_call"   // how a tool's call went could not be recorded
	StageConsolidate = "consolidate" // the turn is in the log, and will be learnt from later
)

// Hooks is the memory of agents, at the points where Eino lets it in. One value
// serves any number of agents, runs and users, and is safe for concurrent use:
// what belongs to one run lives in the run's context and messages.
type Hooks struct {
	cfg *Config
}

// New returns hooks for cfg, or backends.ErrInvalid.
func New(cfg *Config) (*Hooks, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Hooks{cfg: c}, nil
}

// records reports whether turns are kept.
func (h *Hooks) records() bool { return h.cfg.Plan.Record && h.cfg.Log != nil }

// report tells of a failure that the agent never sees.
func (h *Hooks) report(ctx context.Context, stage string, err error) {
	slog.WarnContext(ctx, "memory failed", "stage", stage, "error", err)
	if h.cfg.OnError == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "memory: Config.OnError panicked", "stage", stage, "panic", p)
		}
	}()
	h.cfg.OnError(ctx, stage, err)
}

// safely runs f, a call into code that is not ours, and turns its panic into an
// error.
func safely(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", what, p)
		}
	}()
	return f()
}
