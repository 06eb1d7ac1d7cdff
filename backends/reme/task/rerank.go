// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme/flow"
)

// rerank lets the model put the hits in order: those that it names first, in its
// order, then the others as they were. Their Rerank part falls from 1 by even steps;
// it is 0 for those that were not named. On an error the order is as before.
func (m *Memory) rerank(ctx context.Context, run *flow.Run, query string, hits []backends.Hit) error {
	if len(hits) < 2 {
		return nil
	}
	stage := run.Stage(StageRerank)
	stage.Took(len(hits))
	l, prompts := m.prompts(query)
	mat := m.material(frameIn(l))
	mat.section("task", []any{said{Text: mat.shown(query, shownQuery)}})
	shown := mat.section("experiences", mat.numbered(hits))
	var order []int
	err := m.ask(ctx, run, l, toolRerank, prompts.Rerank, mat.text.String(), func(o map[string]any) (err error) {
		order, err = indexesOf(o, "ranked_indices", shown)
		return err
	})
	if err != nil {
		return fmt.Errorf("task: the order is that of the search: %w", err)
	}
	before := slices.Clone(hits)
	next := hits[:0]
	for i, n := range order {
		h := before[n]
		h.Parts.Rerank = 1 - float64(i)/float64(len(before))
		next = append(next, h)
	}
	for n := range before {
		if !slices.Contains(order, n) {
			next = append(next, before[n])
		}
	}
	stage.Gave(len(order))
	stage.Drop(len(before) - len(order))
	return nil
}

// NewReranker returns the model as a reranker of searches, for the Reranker of a
// recall.Config: one question a search, in the given language and by Prompts.Rerank.
// Both may be left zero. Without a model every search is degraded. What it shows the
// model is what the searches give it: redact queries before.
func NewReranker(models *flow.Models, l flow.Language, p *Prompts) recall.Reranker {
	return reranker{&Memory{config: Config{Language: l, Prompts: p}, models: models}}
}

type reranker struct{ memory *Memory }

// Rerank implements [recall.Reranker].
func (r reranker) Rerank(ctx context.Context, query string, hits []backends.Hit) ([]float64, error) {
	pool := slices.Clone(hits)
	for i := range pool {
		pool[i].Parts.Rerank = 0
	}
	if r.memory.models == nil {
		return nil, flow.ErrNoModel
	}
	if err := r.memory.rerank(ctx, r.memory.models.Begin(), query, pool); err != nil {
		return nil, err
	}
	byID := make(map[string]float64, len(pool))
	for i := range pool {
		byID[pool[i].ID] = pool[i].Parts.Rerank
	}
	scores := make([]float64, len(hits))
	for i := range hits {
		scores[i] = byID[hits[i].ID]
	}
	return scores, nil
}
