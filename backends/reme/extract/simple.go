// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"context"

	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

// Simple says with one question a trajectory what it teaches, at most two things each.
// Successes are those of SimpleThreshold and above. Nobody judges the candidates, and
// their Source is SourceSimple. Long trajectories are cut down to what fits a prompt,
// which the prompt says. Order and errors are as of [Extractor.Extract].
func (e *Extractor) Simple(ctx context.Context, run *flow.Run, ts []trajectory.Trajectory) ([]Candidate, error) {
	var failed failures
	valid := e.prepare(run, ts, &failed)
	run.Stage(StageSimple).Took(len(valid))
	ask := task{stage: StageSimple, prompt: func(p *Prompts) string { return p.Simple }, tool: toolMemories, most: maxSimple, source: SourceSimple}
	jobs := make([]job, len(valid))
	for i := range valid {
		t := &valid[i]
		lang := e.language(t)
		segments, _ := t.Segments(t.Points())
		jobs[i] = job{task: ask, of: t, lang: lang, material: []fenced{
			{"trajectory", e.whole(t, segments, t.Score >= e.config.SimpleThreshold, lang, e.limit())},
		}}
	}
	return e.do(ctx, run, [][]job{jobs}, &failed), failed.join()
}

// SimpleComparative says with one question a task what sets its best attempt apart
// from its worst, at most two things each; tasks whose attempts have one score teach
// nothing by it. Nobody judges the candidates. Order and errors are as of
// [Extractor.Extract].
func (e *Extractor) SimpleComparative(ctx context.Context, run *flow.Run, ts []trajectory.Trajectory) ([]Candidate, error) {
	var failed failures
	valid := e.prepare(run, ts, &failed)
	pairs := trajectory.Pairs(valid)
	run.Stage(StageSimpleComparative).Took(len(pairs))
	ask := task{stage: StageSimpleComparative, prompt: func(p *Prompts) string { return p.SimpleComparative }, tool: toolMemories, most: maxOfPair, source: SourceComparative}
	jobs := make([]job, len(pairs))
	for i, p := range pairs {
		of, _ := p.Better.Segments(p.Better.Points())
		against, _ := p.Worse.Segments(p.Worse.Points())
		jobs[i] = e.comparison(ask, p.Better, p.Worse, of, against)
	}
	return e.do(ctx, run, [][]job{jobs}, &failed), failed.join()
}
