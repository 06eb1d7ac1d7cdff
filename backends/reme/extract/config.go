// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"fmt"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

// Config configures an [Extractor].
type Config struct {
	Models *flow.Models // Required. Made with [AnswerTools] among its tools.

	Threshold       float64       // score from which on an attempt is a success. Optional. Defaults to 1.
	SimpleThreshold float64       // the same of [Extractor.Simple]. Optional. Defaults to 0.9.
	MinQuality      float64       // the judge's score from which on a candidate is kept, above 0 to 1. Optional. Defaults to 0.5.
	Language        flow.Language // of the prompts. Optional. Defaults to that of the material.
	Prompts         *Prompts      // Optional. Empty fields have the defaults.

	// Redact is applied to every text of a trajectory before a model is shown it, and so
	// to what candidates say of it. Optional. It must be safe for concurrent use.
	Redact func(string) string

	// Segment asks a model where trajectories without metadata.segments fall into
	// parts, a call each. Optional.
	Segment bool

	// Similar also compares successes with failures at other tasks that are alike.
	// Optional. Nil compares attempts at the same task alone.
	Similar *trajectory.Similar
	// Embedder tells how alike they are. Optional. Defaults to the words that they
	// share.
	Embedder embedding.Embedder
}

// Defaults of [Config].
const (
	DefaultSimpleThreshold = 0.9
	DefaultMinQuality      = 0.5
)

// MinPrompt is the least flow.Limits.Prompt that is of use: fewer tokens of a
// trajectory say nothing.
const MinPrompt = 512

// Extractor learns from trajectories. It is safe for concurrent use.
type Extractor struct {
	config  Config
	similar trajectory.Similar
}

// New returns an extractor. A configuration that cannot work is ErrInvalid.
func New(cfg *Config) (*Extractor, error) {
	if cfg == nil || cfg.Models == nil {
		return nil, fmt.Errorf("extract: %w: Config.Models is required", backends.ErrInvalid)
	}
	e := &Extractor{config: *cfg}
	for _, n := range []struct {
		name     string
		value    *float64
		fallback float64
	}{
		{"Threshold", &e.config.Threshold, trajectory.DefaultThreshold},
		{"SimpleThreshold", &e.config.SimpleThreshold, DefaultSimpleThreshold},
		{"MinQuality", &e.config.MinQuality, DefaultMinQuality},
	} {
		if *n.value == 0 {
			*n.value = n.fallback
		}
		if *n.value != *n.value || (n.name == "MinQuality" && (*n.value < 0 || *n.value > 1)) {
			return nil, fmt.Errorf("extract: Config.%s %v: %w: it must be a number, of a quality one above 0 to 1", n.name, *n.value, backends.ErrInvalid)
		}
	}
	if limit := cfg.Models.Limits().Prompt; limit < MinPrompt {
		return nil, fmt.Errorf("extract: Limits.Prompt %d: %w: trajectories need %d tokens or more", limit, backends.ErrInvalid, MinPrompt)
	}
	if err := cfg.Language.Validate(); err != nil {
		return nil, fmt.Errorf("extract: Config.Language: %w", err)
	}
	if cfg.Prompts != nil {
		prompts := *cfg.Prompts
		e.config.Prompts = &prompts
	}
	if cfg.Similar != nil {
		var err error
		if e.similar, err = cfg.Similar.WithDefaults(); err != nil {
			return nil, fmt.Errorf("extract: Config.Similar: %w", err)
		}
	}
	return e, nil
}

// limit is how many tokens the material of a prompt may have.
func (e *Extractor) limit() int { return e.config.Models.Limits().Prompt }
