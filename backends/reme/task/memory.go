// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/work"
)

// The stages of a report that are this package's own. Those of an extraction stand in
// package extract.
const (
	StageDuplicates = "deduplicate" // experiences in, those to be stored out; known ones dropped, joined ones merged
	StageStore      = "store"       // experiences in, those stored out
	StageQuery      = "query"       // messages in, a query out
	StageRecall     = "recall"      // queries in, memories out
	StageRerank     = "rerank"      // memories in, those that help out
	StageRewrite    = "rewrite"     // memories in, an advice out
)

// kinds are what every search of this package is confined to.
var kinds = []backends.Kind{backends.KindTask}

// Memory is task memory: experience from trajectories, in workspaces. It is safe for
// concurrent use.
type Memory struct {
	config  Config
	keeper  *keeper.Keeper
	models  *flow.Models
	storing work.Locks[backends.Partition] // held from what is known to what is stored
}

// New returns task memory over a keeper. A configuration that cannot work is
// ErrInvalid.
func New(cfg *Config) (*Memory, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Memory{config: c, keeper: c.Keeper, models: c.Models}, nil
}

// workspace returns the partition that a call is confined to: the workspace of its
// scope, or of the context's when the call names none.
func (m *Memory) workspace(ctx context.Context, s backends.Scope) (backends.Scope, backends.Partition, error) {
	if s.IsZero() {
		s, _ = backends.ScopeFrom(ctx)
	}
	s, err := s.Normalize()
	if err != nil {
		return s, backends.Partition{}, fmt.Errorf("task: %w", err)
	}
	p, err := s.Partition(backends.PartitionWorkspace)
	if err != nil {
		return s, p, fmt.Errorf("task: %w", err)
	}
	s.Namespace = p.Namespace
	return s, p, nil
}

// redact returns a text as it may be stored and shown to a model.
func (m *Memory) redact(s string) string {
	if m.keeper == nil { // a reranker of searches: see NewReranker
		return s
	}
	return m.keeper.Redact(s)
}

// prompts returns the language that fits the material, and its prompts.
func (m *Memory) prompts(material ...string) (flow.Language, Prompts) {
	l := m.config.Language.For(material...)
	return l, promptsIn(l, m.config.Prompts)
}
