// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
)

// The names of the tools.
const (
	SearchMemory = "search_memory"
	AddMemory    = "add_memory"
	UpdateMemory = "update_memory"
	DeleteMemory = "delete_memory"
)

// Stages at which an error can be reported to Config.OnError.
const (
	StageSearchTool = "search_tool"
	StageAddTool    = "add_tool"
	StageUpdateTool = "update_tool"
	StageDeleteTool = "delete_tool"
)

// MaxLimit is the most memories that one keyword of search_memory can bring.
const MaxLimit = 50

// MaxKeywords is the number of keywords of one call that are searched for.
// Further ones are left out, and the result says so.
const MaxKeywords = 16

// Config says what the tools work on. It is copied by [New].
type Config struct {
	Backend backends.Backend // Required. Stays the caller's: the tools never close it.

	// Scope says on whose behalf a call is made. It runs at each call, with the
	// call's context, and must be safe for concurrent use. Required.
	Scope func(ctx context.Context) (backends.Scope, error)

	SearchByAgent bool // Optional. A user's memories are searched for those of the scope's agent alone. Defaults to false.
	Limit         int  // Optional. The limit of search_memory when the model gives none. Defaults to 5; 1 to MaxLimit.
	Update        bool // Optional. Also update_memory. Needs a backend that is a backends.Manager.
	Delete        bool // Optional. Also delete_memory. Needs a backend that is a backends.Manager.

	Language      Language      // Optional. Of the descriptions and the fixed texts. Defaults to Auto.
	SearchTimeout time.Duration // Optional. Of one call of search_memory. Defaults to 10 s; below 0 none.

	// OnError hears of every failure of the backend or the scope, with the stage
	// (StageSearchTool and its like). Arguments that a model got wrong, and ids that
	// it made up, are none. Must be safe for concurrent use. Optional. Failures are
	// logged by slog in any case.
	OnError func(ctx context.Context, stage string, err error)

	Clock backends.Clock    // Optional. Defaults to backends.SystemClock.
	IDs   backends.IDSource // Optional. Defaults to backends.NewID.
}

// New returns search_memory and add_memory, and update_memory and delete_memory
// if the configuration asks for them, in this order. The slice has no spare
// capacity, so that appending to it never writes into another agent's tools.
//
// It returns ErrInvalid for a configuration that lacks the backend or the scope,
// has a limit out of range or an unknown language, or asks for a tool that the
// backend cannot serve.
func New(_ context.Context, cfg *Config) ([]tool.BaseTool, error) {
	k, err := newKit(cfg)
	if err != nil {
		return nil, fmt.Errorf("toolkit: %w", err)
	}
	makers := []func() (tool.BaseTool, error){k.searchTool, k.addTool}
	if k.Update {
		makers = append(makers, k.updateTool)
	}
	if k.Delete {
		makers = append(makers, k.deleteTool)
	}
	tools := make([]tool.BaseTool, len(makers))
	for i, makeTool := range makers {
		if tools[i], err = makeTool(); err != nil {
			return nil, fmt.Errorf("toolkit: %w", err)
		}
	}
	return tools, nil
}

// kit is what the tools of one New share. It is immutable.
type kit struct {
	Config
	set
	manager backends.Manager // nil without Update and Delete
	text    *phrases
}

func newKit(cfg *Config) (*kit, error) {
	switch {
	case cfg == nil:
		return nil, fmt.Errorf("no Config: %w", backends.ErrInvalid)
	case cfg.Backend == nil:
		return nil, fmt.Errorf("no Config.Backend: %w: pass a backend, such as one of mem0.New", backends.ErrInvalid)
	case cfg.Scope == nil:
		return nil, fmt.Errorf("no Config.Scope: %w: pass a function that says whose memory a call is about", backends.ErrInvalid)
	case cfg.Limit < 0 || cfg.Limit > MaxLimit:
		return nil, fmt.Errorf("Config.Limit %d: %w: 1 to %d, or 0 for the default", cfg.Limit, backends.ErrInvalid, MaxLimit)
	}
	text, err := cfg.Language.phrases()
	if err != nil {
		return nil, err
	}
	k := &kit{Config: *cfg, text: text}
	k.setDefaults()
	k.set = set{advice: &text.Advice, onError: cfg.OnError, defaults: map[string]any{"limit": k.Limit}}
	if !k.Update && !k.Delete {
		return k, nil
	}
	manager, ok := k.Backend.(backends.Manager)
	if !ok {
		return nil, fmt.Errorf("update_memory and delete_memory: %w: backend %T is no backends.Manager; leave Config.Update and Config.Delete off", backends.ErrInvalid, k.Backend)
	}
	k.manager = manager
	return k, nil
}

func (k *kit) setDefaults() {
	if k.Limit == 0 {
		k.Limit = 5
	}
	if k.SearchTimeout == 0 {
		k.SearchTimeout = defaultTimeout
	}
	if k.Clock == nil {
		k.Clock = backends.SystemClock
	}
	if k.IDs == nil {
		k.IDs = backends.NewID
	}
}

// scope returns whose memory a call is about, or why nobody knows.
func (k *kit) scope(ctx context.Context) (backends.Scope, error) { return currentScope(ctx, k.Scope) }
