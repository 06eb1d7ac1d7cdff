// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/modes"
)

// Hooks is the memory of agents, at the points where Eino lets it in. One value serves any number
// of agents, runs and users, and is safe for concurrent use: the state of one run lives in that
// run's context and messages.
type Hooks struct {
	cfg       *Config
	plan      modes.Plan
	log       *working.Memory // nil: turns are discarded
	window    backends.Window // nil: contexts stay as they are
	tools     []tool.BaseTool
	toolNames []string
	recorder  backends.ToolRecorder // nil: calls of tools teach memory nothing
	circuit   *fault.Breaker        // of the store where turns are logged
	ended     func(backends.Scope)  // nil: nobody asks
	badZone   atomic.Value          // the name of a zone that was reported last

	mu       sync.Mutex
	shown    sync.Once       // a printed call may have been shown, and was reported
	tree     sync.Once       // agents hand one question on, outside a wrapped run, and that was reported
	printers map[string]int  // how many answers of a model printed calls of tools
	toolless map[string]bool // the models that refused tools
}

// New returns hooks for a configuration and for the parts that package middleware builds of it: the
// log of turns, the window that contexts fit, and the function that makes the tools that agents get,
// of [Hooks.ToolSetup]. Each of them may be nil, which leaves it out. New returns the errors of
// tools, and backends.ErrInvalid for a configuration that cannot work.
func New(ctx context.Context, cfg *Config, log *working.Memory, w backends.Window, tools func(*backends.ToolSetup) ([]tool.BaseTool, error)) (*Hooks, error) {
	c, err := cfg.WithDefaults()
	if err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
	}
	h := &Hooks{circuit: fault.NewBreaker("store", 1, backends.SystemClock), cfg: c, log: log, window: w, printers: map[string]int{}, toolless: map[string]bool{}}
	if h.plan, err = c.Mode.Plan(c.Backend); err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
	}
	if tools != nil {
		if h.tools, err = tools(h.ToolSetup()); err != nil {
			return nil, err
		}
	}
	h.recorder, _ = backends.As[backends.ToolRecorder](c.Backend)
	if h.toolNames, err = namesOf(ctx, h.tools); err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
	}
	work.Default(&c.RecordTool, othersThan(h.toolNames))
	return h, nil
}

// ToolSetup connects tools with the runs that they are called in: their scope, turn, zone and
// privacy. It has the Confirm, OnError and Language of the configuration.
func (h *Hooks) ToolSetup() *backends.ToolSetup {
	return &backends.ToolSetup{
		Scope: h.ResolveScope, Begin: h.beginTool, Private: h.isPrivate, Turn: h.turnID,
		Zone:    func(ctx context.Context) *time.Location { return h.zoneOf(ctx, nil) },
		Confirm: h.cfg.Confirm, OnError: h.cfg.OnError, Language: h.cfg.Language,
	}
}

// AfterTurn has f called with the scope of each turn that ended and is on its way to the log. It
// must return at once. Call it before the hooks are used.
func (h *Hooks) AfterTurn(f func(backends.Scope)) { h.ended = f }

// records reports whether turns are kept: where a mode or a window needs them.
func (h *Hooks) records() bool { return h.log != nil && (h.plan.Record || h.window != nil) }

// report reports a failure, hidden from the agent.
func (h *Hooks) report(ctx context.Context, stage string, err error) {
	work.Report(ctx, h.cfg.OnError, stage, err)
}

// guard keeps a panic in a hook from the agent.
func (h *Hooks) guard(ctx context.Context, stage string, f func()) {
	if err := work.Catch("memory", func() error { f(); return nil }); err != nil {
		h.report(ctx, stage, err)
	}
}

// detach drops the handlers of the agent's run: they would take the backend's own model
// calls for answers of the agent (trap T3).
func detach(ctx context.Context) context.Context {
	return work.Detach(ctx, "Memory", backends.ComponentOfMemory)
}

// nested reports whether ctx belongs to an agent that another one calls as a tool.
func nested(ctx context.Context) bool { return compose.GetToolCallID(ctx) != "" }

// runKey is the context's key for the run of the memory of that name.
type runKey string

// running returns the wrapped run that ctx belongs to, or nil.
func running(ctx context.Context, h *Hooks) *run {
	r, _ := ctx.Value(runKey(h.cfg.NoteName)).(*run)
	return r
}
