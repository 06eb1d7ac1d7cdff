// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/internal/keeper"
)

// The defaults of [Config].
const (
	DefaultDuplicate      = 0.9
	DefaultDuplicateWords = 0.55
)

// Config configures a [Memory]. It is copied by [New].
type Config struct {
	// Keeper keeps the memories. Required. It stays the caller's to close.
	Keeper *keeper.Keeper
	// Models answers questions; it is made with [AnswerTools] among its tools.
	// Optional: without a model nothing is extracted, reranked or rewritten, and what
	// nearly repeats a memory is judged by its words alone.
	Models *flow.Models
	// Extractor says what trajectories teach. Required by Draft, Summarize and Retry.
	Extractor *extract.Extractor
	// Embeds says that the keeper's ranker has an embedder: likeness is then a cosine.
	// Optional.
	Embeds bool

	// Duplicate is the cosine, above 0 to 1, from which on a new experience is held
	// against one that is known. Both are embedded alike, situation and content
	// together. What is as near as that goes to the model, which decides; without a
	// model it counts as known only from 0.95 on, and if it names the same numbers and
	// turns no word round (not, never, before, …). Optional. Defaults to
	// DefaultDuplicate.
	Duplicate float64
	// DuplicateWords is the same where there is no embedder: Dice's coefficient of the
	// words. Of 970 memories that ReMe's authors published 9 in 100 have a neighbour
	// as near as the default, which the model then decides about, and a single one has
	// one at 0.9. Optional. Defaults to DefaultDuplicateWords.
	DuplicateWords float64

	// Author is the name under which the model's work is kept, in Origin.Author and in
	// the history. Optional. Defaults to "model".
	Author   string
	Language flow.Language // Optional. Of prompts and answers. Defaults to that of the material.
	Prompts  *Prompts      // Optional. Empty fields have the defaults.

	// OnDelete is called for each memory that Forget deleted, after it is gone.
	// Optional. It must be safe for concurrent use.
	OnDelete func(ctx context.Context, p backends.Partition, f Forgotten)
	Log      *slog.Logger // Optional. What was deleted is logged to it. Defaults to slog.Default().
}

func (c *Config) withDefaults() (Config, error) {
	if c == nil || c.Keeper == nil {
		return Config{}, fmt.Errorf("task: %w: Config.Keeper is required; keeper.New gives one", backends.ErrInvalid)
	}
	out := *c
	for _, share := range []struct {
		name     string
		value    *float64
		fallback float64
	}{{"Duplicate", &out.Duplicate, DefaultDuplicate}, {"DuplicateWords", &out.DuplicateWords, DefaultDuplicateWords}} {
		if *share.value == 0 {
			*share.value = share.fallback
		}
		if !(*share.value > 0 && *share.value <= 1) {
			return out, fmt.Errorf("task: Config.%s %v: %w: above 0, at most 1", share.name, *share.value, backends.ErrInvalid)
		}
	}
	if err := out.Language.Validate(); err != nil {
		return out, fmt.Errorf("task: %w", err)
	}
	if out.Models == nil {
		models, err := flow.New(&flow.Config{Name: "task"})
		if err != nil {
			return out, err
		}
		out.Models = models
	}
	if out.Prompts != nil {
		own := *out.Prompts
		out.Prompts = &own
	}
	if out.Author == "" {
		out.Author = "model"
	}
	if out.Log == nil {
		out.Log = slog.Default()
	}
	return out, nil
}
