// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/toolkit"
)

// newWindow returns the working memory that the configuration asks for, or nil.
func (c *Config) newWindow() (*window.Window, error) {
	if c.Window == nil {
		return nil, nil
	}
	w := *c.Window
	if w.Sessions == nil {
		var err error
		if w.Sessions, err = c.sessions(); err != nil {
			return nil, err
		}
	}
	if w.StoreTimeout == 0 {
		w.StoreTimeout = c.SearchTimeout
	}
	if w.Clock == nil {
		w.Clock = c.Clock
	}
	if w.Redact == nil && c.Working != nil {
		w.Redact = c.Working.Redact
	}
	if w.Language == "" && c.Language == Chinese { // Auto follows the user
		w.Language = backends.Chinese
	}
	if w.OnError == nil {
		w.OnError = c.OnError
	}
	if w.Core == nil && c.Core != nil {
		var err error
		if w.Core, err = c.newCore(w.Sessions, w.Redact); err != nil {
			return nil, err
		}
	}
	return window.New(&w)
}

// newCore returns the core blocks. They live where the sessions do, unless the
// configuration says otherwise.
func (c *Config) newCore(sessions store.Sessions, redact func(string) string) (*core.Blocks, error) {
	d := *c.Core
	if d.Records == nil {
		records, ok := sessions.(store.Records)
		if !ok {
			return nil, fmt.Errorf("Config.Core: %w: %T keeps no records: set Config.Core.Records to a store, such as sqlitestore.Open returns", backends.ErrInvalid, sessions)
		}
		d.Records = records
	}
	if d.Redact == nil {
		d.Redact = redact
	}
	if d.Language == "" {
		d.Language = backends.Language(c.Language)
	}
	if d.Clock == nil {
		d.Clock = c.Clock
	}
	d.Tools = !c.Window.NoTools
	return core.New(&d)
}

// windowTools returns the tools that read what left the context, and those that
// edit the core blocks.
func (c *Config) windowTools(ctx context.Context, w *window.Window, scope func(context.Context) (Scope, error)) ([]tool.BaseTool, error) {
	if w == nil || c.Window.NoTools {
		return nil, nil
	}
	tools, err := toolkit.WorkingMemory(ctx, &toolkit.WorkingConfig{
		Archives: w.Archives(), Scope: scope, Language: toolkit.Language(c.Language), OnError: c.OnError,
	})
	if err != nil || w.Core() == nil {
		return tools, err
	}
	edits, err := toolkit.CoreMemory(ctx, &toolkit.CoreConfig{
		Blocks: w.Core(), Scope: scope, Language: toolkit.Language(c.Language), OnError: c.OnError,
	})
	return slices.Concat(tools, edits), err
}

// unlearning is what the log is given to where the mode learns nothing from
// turns: it is kept for the next run, and nobody reads it a second time.
type unlearning struct{ backends.Backend }

func (unlearning) Add(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
	return &backends.AddResponse{}, nil
}
