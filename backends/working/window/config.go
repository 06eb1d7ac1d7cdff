// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
)

// Config configures a [Window]. It is copied by [New].
type Config struct {
	// Budget says how much a context may hold; its Window is required.
	Budget compaction.Budget
	// Sessions keeps the log and the archives. Required. The log must be the one
	// that turns are appended to.
	Sessions store.Sessions

	// Model writes summaries when the steps that cost nothing do not suffice.
	// Optional. Without it what does not fit is archived and named.
	Model model.BaseChatModel
	// Steps makes contexts smaller, in this order. Optional. Defaults to
	// compaction.Default(Model), or to compaction.Free() without a Model.
	Steps []compaction.Step
	// Trigger is the share of the budget above which the steps begin. Optional.
	// Defaults to 1: only what does not fit is compacted.
	Trigger float64

	// StoreTimeout is how long one call of the store may hold a context up. When one
	// took longer, or the store is away, nothing more is archived for this context: it
	// fits without, or is over budget. Optional. Defaults to 2s; below 0 without limit.
	StoreTimeout time.Duration

	// NoHistory leaves it to the caller to pass what was said before.
	NoHistory bool
	// HistoryTokens is how much of the log one reply loads, in tokens as they were
	// appended; the compaction makes room for it. A turn counts as a quarter of it at
	// most, so that a large one does not hide what was said before. Optional. Defaults to four times
	// the budget's limit: large outputs of tools shrink without a model.
	HistoryTokens int

	// Core has the blocks that are always shown. Optional.
	Core *core.Blocks
	// Redact changes texts before they are archived, and summaries before they are
	// kept. Optional. Give the log's.
	Redact func(string) string
	// Language is that of the texts that stand in for what left. Optional. Defaults
	// to that of the last user message.
	Language backends.Language
	// NoTools is for agents that do not have grep_working_memory and
	// read_working_memory: what stands in for a text does not name them then.
	NoTools bool

	// OnFit hears of every context that was fitted: how full it is, and what was
	// done. It must return quickly, and be safe for concurrent use. Optional.
	OnFit func(ctx context.Context, scope backends.Scope, r *compaction.Result)
	// OnError hears of what went wrong while a context was made to fit all the
	// same: a model that failed, an archive that could not be written, a summary
	// that could not be kept. Must be safe for concurrent use. Optional.
	OnError func(ctx context.Context, stage string, err error)
}

// The stages that Config.OnError is told about.
const (
	StageCompact = "compact" // a step of the compaction failed
	StageSummary = "summary" // a summary could not be kept with its session
)

func (c *Config) withDefaults() (Config, error) {
	if c == nil || c.Sessions == nil {
		return Config{}, fmt.Errorf("%w: Config.Sessions is required", backends.ErrInvalid)
	}
	d := *c
	var err error
	if d.Budget, err = c.Budget.WithDefaults(); err != nil {
		return d, err
	}
	if d.HistoryTokens < 0 {
		return d, fmt.Errorf("%w: Config.HistoryTokens is %d", backends.ErrInvalid, d.HistoryTokens)
	}
	if d.HistoryTokens == 0 {
		d.HistoryTokens = 4 * d.Budget.Limit()
	}
	if d.StoreTimeout == 0 {
		d.StoreTimeout = defaultStoreTimeout
	}
	if d.Steps == nil {
		d.Steps = compaction.Default(d.Model)
	}
	if d.OnFit == nil {
		d.OnFit = func(context.Context, backends.Scope, *compaction.Result) {}
	}
	if d.OnError == nil {
		d.OnError = func(context.Context, string, error) {}
	}
	return d, nil
}
