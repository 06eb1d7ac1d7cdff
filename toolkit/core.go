// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/core"
)

// The names of the tools of [CoreMemory].
const (
	CoreMemoryAppend  = "core_memory_append"
	CoreMemoryReplace = "core_memory_replace"
)

// Stages at which an error can be reported to CoreConfig.OnError.
const (
	StageCoreAppendTool  = "core_append_tool"
	StageCoreReplaceTool = "core_replace_tool"
)

// CoreConfig says which core blocks the tools edit. It is copied by [CoreMemory].
type CoreConfig struct {
	Blocks *core.Blocks // Required. With Config.Tools set, so that the prompt speaks of the tools.

	// Scope says on whose behalf a call is made. It runs at each call, with the
	// call's context, and must be safe for concurrent use. Required.
	Scope func(ctx context.Context) (backends.Scope, error)

	Language Language      // Optional. Of the descriptions and the fixed texts. Defaults to Auto.
	Timeout  time.Duration // Optional. Of one call. Defaults to 10 s; below 0 none.

	// OnError hears of every failure of the store or the scope, with the stage
	// (StageCoreAppendTool or StageCoreReplaceTool). Edits that a model got wrong are
	// none. Must be safe for concurrent use. Optional. Failures are logged by slog in
	// any case.
	OnError func(ctx context.Context, stage string, err error)
}

// CoreMemory returns core_memory_append(block, text) and core_memory_replace(block,
// old_text, new_text), in this order, with which an agent edits those of its core
// blocks that are not read-only; where all are, there are no tools. Their
// descriptions name these blocks. What a block holds after an edit is in the result,
// with the room that is left. An edit that cannot be is refused in words that tell
// the model what to do; no error but that of a cancelled context ends a run.
//
// A call that an interrupted run repeats after its resumption edits nothing twice.
//
// It returns ErrInvalid for a configuration that lacks the blocks or the scope, or has
// an unknown language.
func CoreMemory(ctx context.Context, cfg *CoreConfig) ([]tool.BaseTool, error) {
	k, err := newCoreKit(cfg)
	if err != nil {
		return nil, fmt.Errorf("toolkit: %w", err)
	}
	if len(k.editable) == 0 {
		return nil, nil
	}
	var tools [2]tool.BaseTool
	if tools[0], err = k.appendTool(ctx); err == nil {
		tools[1], err = k.replaceTool(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("toolkit: %w", err)
	}
	return tools[:], nil
}

// coreKit is what the tools of one CoreMemory share. It is immutable.
type coreKit struct {
	CoreConfig
	set
	editable []core.Block
	text     *corePhrases
}

func newCoreKit(cfg *CoreConfig) (*coreKit, error) {
	switch {
	case cfg == nil:
		return nil, fmt.Errorf("no CoreConfig: %w", backends.ErrInvalid)
	case cfg.Blocks == nil:
		return nil, fmt.Errorf("no CoreConfig.Blocks: %w: pass those of core.New", backends.ErrInvalid)
	case cfg.Scope == nil:
		return nil, fmt.Errorf("no CoreConfig.Scope: %w: pass a function that says whose memory a call is about", backends.ErrInvalid)
	}
	if _, err := cfg.Language.phrases(); err != nil {
		return nil, err
	}
	k := &coreKit{CoreConfig: *cfg, text: &englishCore}
	if cfg.Language == Chinese {
		k.text = &chineseCore
	}
	if k.Timeout == 0 {
		k.Timeout = defaultTimeout
	}
	k.set = set{advice: &k.text.Advice, onError: cfg.OnError}
	for _, b := range cfg.Blocks.Blocks() {
		if !b.ReadOnly {
			k.editable = append(k.editable, b)
		}
	}
	return k, nil
}
