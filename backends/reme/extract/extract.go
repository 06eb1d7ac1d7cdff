// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"context"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

// The stages of a report, in the order in which they stand in it.
const (
	StagePrepare           = "prepare"             // trajectories taken, those that are none failed
	StageSegment           = "segment"             // trajectories divided; points that are none dropped
	StageSuccess           = "extract success"     // trajectories in, candidates out
	StageFailure           = "extract failure"     // trajectories in, candidates out
	StageComparative       = "extract comparative" // pairs in, candidates out
	StageValidate          = "validate"            // candidates in, those worth keeping out, the others dropped
	StageSimple            = "extract simple"      // trajectories in, candidates out
	StageSimpleComparative = "compare simple"      // pairs in, candidates out
)

// Config configures an [Extractor].
type Config struct {
	Models *flow.Models // Required. Made with [AnswerTools] among its tools.

	Threshold       float64       // score from which on an attempt is a success. Optional. Defaults to 1.
	SimpleThreshold float64       // the same of Simple. Optional. Defaults to 0.9.
	MinQuality      float64       // the judge's score from which on a candidate is kept, above 0 to 1. Optional. Defaults to 0.5.
	Language        flow.Language // of the prompts. Optional. Defaults to that of the material.
	Prompts         *Prompts      // Optional. Empty fields have the defaults.

	// Segment asks a model where trajectories without metadata.segments fall into
	// parts, a call each. Optional.
	Segment bool

	// Similar also compares successes with failures at tasks that are alike. Optional.
	// Nil compares attempts at the same task alone.
	Similar *trajectory.Similar
	// Embedder tells how alike they are. Optional. Defaults to the words that they
	// share.
	Embedder embedding.Embedder
}

// Extractor learns from trajectories. It is safe for concurrent use.
type Extractor struct {
	config Config
}

// New returns an extractor. A configuration that cannot work is ErrInvalid.
func New(cfg *Config) (*Extractor, error) {
	return &Extractor{config: *cfg}, nil
}

// AnswerTools returns the tools by which the model answers.
func AnswerTools() []*schema.ToolInfo { return nil }

// Extract says what the trajectories teach.
func (e *Extractor) Extract(_ context.Context, _ *flow.Run, _ []trajectory.Trajectory) ([]Candidate, error) {
	return nil, backends.ErrUnavailable
}

// Validate returns the candidates that a judge finds worth keeping.
func (e *Extractor) Validate(_ context.Context, _ *flow.Run, _ []Candidate) ([]Candidate, error) {
	return nil, backends.ErrUnavailable
}

// Simple says with one question a trajectory what it teaches.
func (e *Extractor) Simple(_ context.Context, _ *flow.Run, _ []trajectory.Trajectory) ([]Candidate, error) {
	return nil, backends.ErrUnavailable
}

// SimpleComparative says what sets the best attempt at each task apart from the worst.
func (e *Extractor) SimpleComparative(_ context.Context, _ *flow.Run, _ []trajectory.Trajectory) ([]Candidate, error) {
	return nil, backends.ErrUnavailable
}
