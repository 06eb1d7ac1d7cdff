// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"context"

	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
)

// The stages of a report, in the order in which they stand in it.
const (
	StagePrepare           = "prepare"             // trajectories in and out; those that are none failed
	StageSegment           = "segment"             // trajectories in, segments out; points that divide nothing dropped
	StageSuccess           = "extract success"     // trajectories in, candidates out; those refused or too many dropped
	StageFailure           = "extract failure"     // as StageSuccess
	StageComparative       = "extract comparative" // pairs in, candidates out
	StageValidate          = "validate"            // candidates in, those worth keeping out, the others dropped
	StageSimple            = "extract simple"      // trajectories in, candidates out
	StageSimpleComparative = "compare simple"      // pairs in, candidates out
)

// How many candidates one answer may give. What is beyond is dropped.
const (
	maxOfAttempt = 3
	maxOfPair    = 2
	maxSimple    = 2
)

// Extract says what the trajectories teach: what made successes succeed, failures
// fail, and what sets the best attempt at a task apart from the worst. Long
// trajectories are divided, by their segments and then by length, a question each.
//
// The questions of all three branches are put at the same time, as many as the model's
// limits allow. The candidates stand in a fixed order all the same: of successes, of
// failures, of comparisons, each in the order of the trajectories. What fails does not
// keep the rest from being done: then both the candidates and the error are returned,
// and the stages of run say how much failed. Errors are those of flow.Run.Ask, and
// ErrInvalid for what is no trajectory.
func (e *Extractor) Extract(ctx context.Context, run *flow.Run, ts []trajectory.Trajectory) ([]Candidate, error) {
	var failed failures
	valid := e.prepare(run, ts, &failed)
	attempts := e.segment(ctx, run, valid, &failed)
	success, failure := trajectory.Split(valid, e.config.Threshold)
	branches := [][]job{
		e.attemptJobs(run, StageSuccess, success, attempts),
		e.attemptJobs(run, StageFailure, failure, attempts),
		append(e.pairJobs(run, valid, attempts), e.similarJobs(ctx, run, success, failure, attempts, &failed)...),
	}
	return e.do(ctx, run, branches, &failed), failed.join()
}

// prepare leaves out what is no trajectory, and of the others what nobody may see.
func (e *Extractor) prepare(run *flow.Run, ts []trajectory.Trajectory, failed *failures) []trajectory.Trajectory {
	stage := run.Stage(StagePrepare)
	stage.Took(len(ts))
	valid := make([]trajectory.Trajectory, 0, len(ts))
	for i := range ts {
		if err := ts[i].Validate(); err != nil {
			failed.add(stage, StagePrepare, err)
			continue
		}
		valid = append(valid, e.redacted(&ts[i]))
	}
	stage.Gave(len(valid))
	return valid
}

// divided are the segments of each trajectory.
type divided map[*trajectory.Trajectory][]trajectory.Segment

// attemptJobs asks of each attempt, segment by segment and chunk by chunk, what it
// teaches.
func (e *Extractor) attemptJobs(run *flow.Run, stage string, ts []*trajectory.Trajectory, attempts divided) []job {
	run.Stage(stage).Took(len(ts))
	ask := task{stage: stage, prompt: func(p *Prompts) string { return p.Success }, tool: toolExperiences, most: maxOfAttempt, source: SourceSuccess}
	if stage == StageFailure {
		ask.prompt, ask.source = func(p *Prompts) string { return p.Failure }, SourceFailure
	}
	var jobs []job
	for _, t := range ts {
		for _, m := range e.materials(t, attempts[t], stage == StageSuccess) {
			jobs = append(jobs, job{task: ask, of: t, lang: e.language(t), material: []fenced{{"trajectory", m}}})
		}
	}
	return jobs
}

// pairJobs asks what sets the best attempt at each task apart from the worst.
func (e *Extractor) pairJobs(run *flow.Run, ts []trajectory.Trajectory, attempts divided) []job {
	pairs := trajectory.Pairs(ts)
	run.Stage(StageComparative).Took(len(pairs))
	ask := task{stage: StageComparative, prompt: func(p *Prompts) string { return p.Comparative }, tool: toolExperiences, most: maxOfPair, source: SourceComparative}
	jobs := make([]job, len(pairs))
	for i, p := range pairs {
		jobs[i] = e.comparison(ask, p.Better, p.Worse, attempts[p.Better], attempts[p.Worse])
	}
	return jobs
}

// comparison is a question about two attempts, each in half of the room.
func (e *Extractor) comparison(ask task, better, worse *trajectory.Trajectory, of, against []trajectory.Segment) job {
	lang := e.language(better)
	half := e.limit() / 2
	return job{task: ask, of: better, lang: lang, material: []fenced{
		{"better", e.whole(better, of, better.Score >= e.config.Threshold, lang, half)},
		{"worse", e.whole(worse, against, worse.Score >= e.config.Threshold, lang, half)},
	}}
}
