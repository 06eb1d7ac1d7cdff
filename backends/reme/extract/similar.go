// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

// embedLimit is how many tokens of a segment are embedded: what most embedding models
// take is above.
const embedLimit = 2000

// similarJobs asks what sets successes apart from failures at other tasks that are
// alike.
func (e *Extractor) similarJobs(ctx context.Context, run *flow.Run, success, failure []*trajectory.Trajectory, attempts divided, failed *failures) []job {
	if e.config.Similar == nil {
		return nil
	}
	better, worse := segmentsOf(success, attempts), segmentsOf(failure, attempts)
	similarity, err := e.similarity(ctx, run, e.similar.Candidates(better), e.similar.Candidates(worse))
	if err != nil {
		failed.add(run.Stage(StageComparative), StageComparative, err)
		return nil
	}
	pairs := e.similar.Match(better, worse, similarity)
	run.Stage(StageComparative).Took(len(pairs))
	ask := task{stage: StageComparative, prompt: func(p *Prompts) string { return p.Similar }, tool: toolExperiences, most: maxOfPair, source: SourceComparative}
	jobs := make([]job, len(pairs))
	for i, p := range pairs {
		jobs[i] = e.comparison(ask, p.Better.Trajectory, p.Worse.Trajectory, []trajectory.Segment{*p.Better}, []trajectory.Segment{*p.Worse})
	}
	return jobs
}

func segmentsOf(ts []*trajectory.Trajectory, attempts divided) []trajectory.Segment {
	var out []trajectory.Segment
	for _, t := range ts {
		out = append(out, attempts[t]...)
	}
	return out
}

// similarity compares by the embedder, with one call for all, or by common words.
func (e *Extractor) similarity(ctx context.Context, run *flow.Run, better, worse []trajectory.Segment) (func(i, j int) float64, error) {
	if e.config.Embedder == nil || len(better) == 0 || len(worse) == 0 {
		return func(i, j int) float64 { return trajectory.Overlap(&better[i], &worse[j]) }, nil
	}
	var texts []string
	room := trajectory.Rendering{Limit: embedLimit, Counter: e.config.Models.Counter()}
	for _, side := range [][]trajectory.Segment{better, worse} {
		for _, s := range side {
			texts = append(texts, trajectory.Squeeze([]trajectory.Segment{s}, &room).Text)
		}
	}
	vectors, err := e.config.Embedder.EmbedStrings(ctx, texts)
	switch {
	case errors.Is(err, backends.ErrUnavailable), err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("embedding trajectories: %w", err)
	case err != nil:
		return nil, fmt.Errorf("embedding trajectories: %w: %w", backends.ErrUnavailable, err)
	case len(vectors) != len(texts):
		return nil, fmt.Errorf("embedding trajectories: %w: %d vectors for %d texts", backends.ErrUnavailable, len(vectors), len(texts))
	}
	run.Embedded(len(texts))
	return func(i, j int) float64 { return cosine(vectors[i], vectors[len(better)+j]) }, nil
}

// cosine is 0 for vectors that cannot be compared.
func cosine(a, b []float64) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, x, y float64
	for i := range a {
		dot += a[i] * b[i]
		x += a[i] * a[i]
		y += b[i] * b[i]
	}
	if c := dot / math.Sqrt(x*y); c >= -1 && c <= 1.0000001 {
		return c
	}
	return 0
}
