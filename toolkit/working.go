// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
)

// The names of the tools of [WorkingMemory].
const (
	GrepWorkingMemory = "grep_working_memory"
	ReadWorkingMemory = "read_working_memory"
)

// The defaults of package archive, for the schemas of the tools.
const (
	grepLimit = 50
	readLines = 200
	readBytes = 6000
)

// Stages at which an error can be reported to WorkingConfig.OnError.
const (
	StageGrepWorkingTool = "grep_working_tool"
	StageReadWorkingTool = "read_working_tool"
)

// WorkingConfig says which archives the tools reach. It is copied by
// [WorkingMemory].
type WorkingConfig struct {
	Archives *archive.Archives // Required.

	// Scope says whose session a call is about. It runs at each call, with the call's
	// context, and must be safe for concurrent use. Required.
	Scope func(ctx context.Context) (backends.Scope, error)

	Language Language      // Optional. Of the descriptions and the fixed texts. Defaults to Auto.
	Timeout  time.Duration // Optional. Of one call. Defaults to 10 s; below 0 none.

	// OnError hears of every failure of the store or the scope, and of damaged
	// archives, with the stage (StageGrepWorkingTool or StageReadWorkingTool). Arguments
	// that a model got wrong, and archives that it made up, are none. Must be safe for
	// concurrent use. Optional. Failures are logged by slog in any case.
	OnError func(ctx context.Context, stage string, err error)
}

// WorkingMemory returns grep_working_memory(pattern, regex, archives,
// context_lines, limit, case_sensitive) and read_working_memory(archive, line,
// lines, byte, bytes), in this order, with which an agent finds and reads what left
// its context. They reach the session that the scope names and no other; what they
// answer is bounded and says how to go on. No error but that of a cancelled context
// ends a run.
//
// It returns ErrInvalid for a configuration that lacks the archives or the scope,
// or has an unknown language.
func WorkingMemory(_ context.Context, cfg *WorkingConfig) ([]tool.BaseTool, error) {
	k, err := newWorkingKit(cfg)
	if err != nil {
		return nil, fmt.Errorf("toolkit: %w", err)
	}
	var tools [2]tool.BaseTool
	if tools[0], err = newTool[grepParams](&k.set, GrepWorkingMemory, StageGrepWorkingTool, k.text.Grep, k.grep); err == nil {
		tools[1], err = newTool[readParams](&k.set, ReadWorkingMemory, StageReadWorkingTool, k.text.Read, k.read)
	}
	if err != nil {
		return nil, fmt.Errorf("toolkit: %w", err)
	}
	return tools[:], nil
}

// workingKit is what the tools of one WorkingMemory share. It is immutable.
type workingKit struct {
	WorkingConfig
	set
	text *workingPhrases
}

func newWorkingKit(cfg *WorkingConfig) (*workingKit, error) {
	switch {
	case cfg == nil:
		return nil, fmt.Errorf("no WorkingConfig: %w", backends.ErrInvalid)
	case cfg.Archives == nil:
		return nil, fmt.Errorf("no WorkingConfig.Archives: %w: pass those of archive.New", backends.ErrInvalid)
	case cfg.Scope == nil:
		return nil, fmt.Errorf("no WorkingConfig.Scope: %w: pass a function that says whose session a call is about", backends.ErrInvalid)
	}
	if _, err := cfg.Language.phrases(); err != nil {
		return nil, err
	}
	k := &workingKit{WorkingConfig: *cfg, text: &englishWorking}
	if cfg.Language == Chinese {
		k.text = &chineseWorking
	}
	if k.Timeout == 0 {
		k.Timeout = defaultTimeout
	}
	k.set = set{advice: &k.text.Advice, onError: cfg.OnError, defaults: map[string]any{
		"limit": grepLimit, "context_lines": 0, "line": 1, "lines": readLines, "bytes": readBytes,
	}}
	return k, nil
}

// open returns the archive of the session that a call is about, and the context of
// the call.
func (k *workingKit) open(ctx context.Context) (*archive.Archive, context.Context, context.CancelFunc, error) {
	s, err := currentScope(ctx, k.Scope)
	if err != nil {
		return nil, nil, nil, err
	}
	x, err := k.Archives.Of(s)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := within(ctx, k.Timeout)
	return x, ctx, cancel, nil
}

// slip makes what the model got wrong a refusal, and leaves what failed.
func (k *workingKit) slip(d toolText, err error) error {
	if errors.Is(err, backends.ErrInvalid) || errors.Is(err, backends.ErrNotFound) {
		return refusal(k.failure(d.Failed, err))
	}
	return err
}

func (k *workingKit) unreadable(name string, err error) error {
	return refusal(fmt.Sprintf(k.text.Unreadable, name, clip(err.Error(), maxErrorRunes)))
}
