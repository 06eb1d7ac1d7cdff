// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/internal/work"
)

// Config configures a [Memory]. It is copied by [New].
type Config struct {
	Threshold       float64 // Score from which on an attempt is a success. Optional. Defaults to 1.
	SimpleThreshold float64 // The same for SummaryRequest.Simple. Optional. Defaults to 0.9.
	MinQuality      float64 // The judge's score from which on a candidate is kept, above 0 to 1. Optional. Defaults to 0.5.

	// Duplicate is the cosine, above 0 to 1, from which on the model decides whether an
	// experience duplicates a known one. Both are embedded alike, situation and content
	// together. Optional. Defaults to 0.9.
	Duplicate float64
	// DuplicateWords is the same where there is no embedder: Dice's coefficient of the
	// words. Of 970 memories that ReMe's authors published 9 in 100 have a neighbour as
	// near as the default. Optional. Defaults to 0.55.
	DuplicateWords float64

	// What requests ask for that do not say. Optional.
	TopK     int  // RetrieveRequest.TopK. Defaults to 5.
	Rerank   bool // RetrieveRequest.Rerank is set for every request.
	Rewrite  bool // RetrieveRequest.Rewrite is set for every request.
	Attempts int  // RetryRequest.Attempts. Defaults to 3.
	Forget   Rule // ForgetRequest.Rule. Defaults to DefaultRule.

	// KeepQuery keeps as task_query what the task was in the words of the trajectory, as ReMe
	// does, redacted, and experiences that quote what the user said: for workspaces whose users may read each other's questions. Optional.
	KeepQuery bool

	// HoldBack keeps an experience that a user's run taught from searches of others until it is
	// confirmed: it was learnt again, it helped in a task (see Record), or a verifier removed
	// held_back from its Metadata by Update. Who taught it finds it at once, and a scope without
	// user and agent finds all. List shows it to all members. Optional. Off, as in ReMe.
	HoldBack bool

	Author   string            // Origin.Author of what is learnt, and the actor in its history. Optional. Defaults to "model".
	Language backends.Language // Of prompts and answers. Optional. Defaults to that of the material.
	Prompts  Prompts           // Optional. Empty fields have the defaults.
}

func (c Config) withDefaults() (Config, error) {
	out := c
	out.Threshold, out.SimpleThreshold = cmp.Or(c.Threshold, 1), cmp.Or(c.SimpleThreshold, 0.9)
	out.MinQuality = cmp.Or(c.MinQuality, 0.5)
	out.Duplicate, out.DuplicateWords = cmp.Or(c.Duplicate, 0.9), cmp.Or(c.DuplicateWords, 0.55)
	out.TopK, out.Attempts = cmp.Or(c.TopK, defaultTopK), cmp.Or(c.Attempts, 3)
	out.Forget, out.Author = cmp.Or(c.Forget, DefaultRule()), cmp.Or(c.Author, "model")
	if err := out.validate(); err != nil {
		return Config{}, fmt.Errorf("task: %w: Config.%w", backends.ErrInvalid, err)
	}
	return out, nil
}

func (c *Config) validate() error {
	isShare := func(x float64) bool { return x > 0 && x <= 1 }
	switch {
	case !isShare(c.MinQuality) || !isShare(c.Duplicate) || !isShare(c.DuplicateWords):
		return errors.New("MinQuality, Duplicate and DuplicateWords must be above 0, at most 1")
	case c.Threshold != c.Threshold || c.SimpleThreshold != c.SimpleThreshold:
		return errors.New("fields Threshold and SimpleThreshold must be numbers")
	case c.TopK < 0 || c.TopK > maxTopK || c.Attempts < 0:
		return fmt.Errorf("TopK must be from 1 to %d and Attempts above 0, or 0 for the defaults", maxTopK)
	}
	if err := c.Forget.validate(); err != nil {
		return err
	}
	return c.Language.Validate()
}

// Memory is task memory: experience from trajectories, in workspaces. It is safe for
// concurrent use.
type Memory struct {
	config  Config
	keeper  *keeper.Keeper
	model   *ask.Model
	limits  ask.Limits
	prompt  int                            // tokens
	storing work.Locks[backends.Partition] // held from looking for duplicates to storing
	answers sync.Map                       // of requests that failed: by workspace what summary.answers was
}

// New returns task memory over a keeper, as reme.New does. The model extracts, judges, decides
// about near duplicates, reranks and rewrites; if it is nil, nothing is learnt from
// trajectories, and only what has the same words is a duplicate. limits bound what one request
// may cost, prompt how many tokens of material one prompt shows: more is divided, or shortened
// with a mark. A configuration that cannot work is ErrInvalid.
func New(c Config, k *keeper.Keeper, model *ask.Model, limits ask.Limits, prompt int) (*Memory, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Memory{config: c, keeper: k, model: model, limits: limits, prompt: prompt}, nil
}

// The stages of a report, in the order in which they stand in it.
const (
	stageSuccess     = "extract success"     // questions in, candidates out; those refused or too many dropped
	stageFailure     = "extract failure"     // the same
	stageComparative = "extract comparative" // the same
	stageSimple      = "extract simple"      // the same
	stageJudge       = "validate"            // candidates in, those worth keeping out, the others dropped
	stageDuplicates  = "deduplicate"         // candidates in, those to be stored out; duplicates dropped, others merged
	stageStore       = "store"               // candidates in, memories stored out
	stageRecall      = "recall"              // queries in, memories out
	stageRerank      = "rerank"              // memories in, those that help out
	stageRewrite     = "rewrite"             // memories in, an answer out
)

func (m *Memory) redact(s string) string { return strings.TrimSpace(m.keeper.Redact(s)) }

// begin returns the run of one request.
func (m *Memory) begin() *ask.Run { return m.model.Begin(m.limits) }

// head returns the memory that holds in the place of mem: itself, or what superseded
// it; nil if nothing does.
func (m *Memory) head(ctx context.Context, p backends.Partition, mem *backends.Memory) (*backends.Memory, error) {
	for range 64 { // a foreign library may hold a circle
		if mem == nil || mem.SupersededBy == "" {
			break
		}
		next, err := m.keeper.Held(ctx, p, mem.SupersededBy)
		if err != nil {
			return nil, fmt.Errorf("task: %w", err)
		}
		mem = next[mem.SupersededBy]
	}
	if mem == nil || mem.Kind != backends.KindTask || !mem.Active() || mem.Expired(m.keeper.Now()) {
		return nil, nil
	}
	return mem, nil
}

// parallel calls f for 0 to n-1, some at the same time. The first error ends the others.
func parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(16)
	for i := range n {
		all.Go(func() error {
			return work.Catch("task", func() error { return f(ctx, i) })
		})
	}
	return all.Wait()
}
