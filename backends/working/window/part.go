// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/work"
)

var (
	_ backends.Window    = (*Window)(nil)
	_ store.WindowConfig = (*Config)(nil)
)

// OpenWindow implements [store.WindowConfig]. Fields that c leaves open come from d.
func (c *Config) OpenWindow(d *store.Common) (backends.Window, error) {
	if c == nil { // a nil pointer in the interface: no window
		return nil, nil
	}
	own := *c
	work.Default(&own.Sessions, d.Sessions)
	own.delay = d.Timeout
	work.Default(&own.Redact, d.Redact)
	work.Default(&own.Language, d.Language)
	work.Default(&own.OnError, d.OnError)
	work.Default(&own.Clock, d.Clock)
	if own.Core == nil && d.Core != nil {
		with := *d
		with.Sessions, with.Redact = own.Sessions, own.Redact
		blocks, err := d.Core.OpenBlocks(&with, !own.NoTools)
		if err != nil {
			return nil, err
		}
		var ok bool
		if own.Core, ok = blocks.(*core.Blocks); !ok && blocks != nil {
			return nil, fmt.Errorf("context window: %w: core blocks %T: pass a *core.Config", backends.ErrInvalid, blocks)
		}
	}
	w, err := New(&own)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// CoreBlocks returns the blocks that are always shown, or nil.
func (w *Window) CoreBlocks() store.Blocks {
	if w.cfg.Core == nil {
		return nil
	}
	return w.cfg.Core
}

// Fitted implements [backends.Window]: it is Fit, and reports each failure except an OverError.
func (w *Window) Fitted(ctx context.Context, s backends.Scope, messages []*schema.Message) ([]*schema.Message, error) {
	res, err := w.Fit(ctx, s, messages)
	if res != nil {
		messages = res.Messages
	}
	if err != nil && !errors.As(err, new(*compaction.OverError)) {
		w.report(ctx, StageCompact, err)
		err = nil
	}
	return messages, err
}

// Tools returns the tools that search and read archived messages, and the tools that edit the
// core blocks; none under Config.NoTools.
func (w *Window) Tools(ctx context.Context, setup *backends.ToolSetup) ([]tool.BaseTool, error) {
	if w.cfg.NoTools {
		return nil, nil
	}
	tools, err := w.archives.Tools(ctx, setup)
	if err != nil || w.cfg.Core == nil {
		return tools, err
	}
	edit, err := w.cfg.Core.Tools(ctx, setup)
	return append(tools, edit...), err
}
