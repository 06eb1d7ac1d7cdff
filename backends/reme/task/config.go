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
	"github.com/einomem/einomem/backends/internal/learner"
	"github.com/einomem/einomem/internal/work"
)

// Config configures a [Memory]. [New] copies it.
type Config struct {
	Threshold       float64 // Score from which on an attempt is a success. Optional. Defaults to 1.
	SimpleThreshold float64 // The same for SummaryRequest.Simple. Optional. Defaults to 0.9.
	MinQuality      float64 // The judge's score from which on a candidate stays, above 0 to 1. Optional. Defaults to 0.5.

	// Duplicate is the cosine, above 0 to 1, from which on the model decides whether an experience
	// duplicates a known one. The vectors cover situation and content together. Optional. Defaults
	// to 0.9.
	Duplicate float64
	// DuplicateWords is the same without an embedder: Dice's coefficient of the words. Of 970
	// memories that ReMe's authors published 9 in 100 have a neighbour as near as the default.
	// Optional. Defaults to 0.55.
	DuplicateWords float64

	// Defaults for requests. Optional.
	TopK    int  // RetrieveRequest.TopK. Defaults to 5.
	Rerank  bool // RetrieveRequest.Rerank is set for every request.
	Rewrite bool // RetrieveRequest.Rewrite is set for every request.
	Forget  Rule // ForgetRequest.Rule. Defaults to DefaultRule.

	// KeepQuery keeps the words of the trajectory as task_query, redacted, as ReMe does, and
	// experiences that quote the user. It is for workspaces whose users may read each other's
	// questions. Optional.
	KeepQuery bool

	// Examples keeps, with an experience from a success, the calls of the steps that it cites, and
	// their results: answers and notes show them as an example. They may hold data of the user,
	// redacted as all of a workspace. Optional.
	Examples bool

	// HoldBack hides an experience that a user's run taught from the searches of others until it
	// is confirmed. It is confirmed when it is learnt again or helps in a task (see Record). A
	// verifier confirms it, too, by an Update that removes held_back from its Metadata. The user
	// who taught it finds it at once, and a scope without user and agent finds all. List shows it
	// to all members. Optional. Off, as in ReMe.
	HoldBack bool
}

const (
	defaultAttempts = 3       // RetryRequest.Attempts
	author          = "model" // Origin.Author of the experiences, and the actor in their history
)

func (c Config) withDefaults() (Config, error) {
	out := c
	out.Threshold, out.SimpleThreshold = cmp.Or(c.Threshold, 1), cmp.Or(c.SimpleThreshold, 0.9)
	out.MinQuality = cmp.Or(c.MinQuality, 0.5)
	out.Duplicate, out.DuplicateWords = cmp.Or(c.Duplicate, 0.9), cmp.Or(c.DuplicateWords, 0.55)
	out.TopK, out.Forget = cmp.Or(c.TopK, defaultTopK), cmp.Or(c.Forget, DefaultRule())
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
	case c.TopK < 0 || c.TopK > maxTopK:
		return fmt.Errorf("TopK must be from 1 to %d, or 0 for the default", maxTopK)
	}
	return c.Forget.validate()
}

// Memory is task memory: experience from trajectories, in workspaces. It is safe for
// concurrent use.
type Memory struct {
	config   Config
	keeper   *keeper.Keeper
	model    *ask.Model
	limits   ask.Limits
	prompt   int                            // tokens
	language backends.Language              // as configured
	storing  work.Locks[backends.Partition] // held from looking for duplicates to storing
	answers  sync.Map                       // of failed requests: by workspace a copy of summary.answers
}

// New returns task memory that learns with the keeper, the model and the limits of a backend, as
// reme.New makes one. The model extracts, judges, decides about near duplicates, reranks and
// rewrites. Without a model trajectories teach nothing, and only the same words make a duplicate.
// An unusable configuration is ErrInvalid.
func New(c Config, of backends.Backend) (*Memory, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	l, err := learner.Of(of)
	if err != nil {
		return nil, err
	}
	return &Memory{config: c, keeper: l.Keeper.For(backends.PartitionWorkspace), model: l.Model, limits: l.Limits, prompt: l.Prompt, language: l.Language}, nil
}

// The stages of a report, in the order in which they stand in it.
const (
	stageSuccess     = "extract success"     // questions in, candidates out; refused and surplus ones dropped
	stageFailure     = "extract failure"     // the same
	stageComparative = "extract comparative" // the same
	stageSimple      = "extract simple"      // the same
	stageJudge       = "validate"            // candidates in, good ones out, the others dropped
	stageDuplicates  = "deduplicate"         // candidates in, entries to store out; duplicates dropped, others merged
	stageStore       = "store"               // candidates in, memories stored out
	stageRecall      = "recall"              // queries in, memories out
	stageRerank      = "rerank"              // memories in, helpful ones out
	stageRewrite     = "rewrite"             // memories in, an answer out
)

func (m *Memory) redact(s string) string { return strings.TrimSpace(m.keeper.Redact(s)) }

// begin returns the run of one request.
func (m *Memory) begin() *ask.Run { return m.model.Begin(m.limits) }

// head returns the current memory for mem: itself, or its latest successor; nil if none is current.
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
