// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/ask"
)

// judgements are what the judge answers.
type judgements struct {
	Judgements []judgement `json:"judgements" alias:"verdicts,results" jsonschema_description:"one for each candidate"`
}

type judgement struct {
	Candidate int      `json:"candidate" alias:"index,id" jsonschema_description:"its number"`
	Valid     *bool    `json:"is_valid" alias:"valid" jsonschema_description:"whether it is worth keeping"`
	Score     *float64 `json:"score" jsonschema_description:"0 to 1"`
	Feedback  string   `json:"feedback,omitempty" jsonschema_description:"why, in a sentence"`
}

// Check refuses what leaves open whether the candidate is valid, or how good it is.
func (j *judgement) Check() error {
	if j.Valid == nil || j.Score == nil || !(*j.Score >= 0 && *j.Score <= 1) {
		return errors.New("it needs is_valid and a score from 0 to 1")
	}
	return nil
}

// judge returns those candidates of some material that are worth keeping: those that are
// valid and have a score of MinQuality or more, which is their Quality then. A candidate
// without a judgement is ErrModel: no answer is no approval.
func (m *Memory) judge(ctx context.Context, run *ask.Run, material []fenced, candidates []backends.Memory) ([]backends.Memory, error) {
	stage := run.Stage(stageJudge)
	stage.In(len(candidates))
	var list strings.Builder
	for i, c := range candidates {
		list.WriteString(m.shown(fmt.Sprint("candidate ", i+1), c.WhenToUse, c.Text))
	}
	q := m.question(m.config.Language.For(list.String()), func(p *Prompts) string { return p.Judge }, append(slices.Clone(material), fenced{"candidates", list.String()})...)
	q.Tool, q.Purpose = "judge_experiences", "Hand in the judgements."
	answer, err := ask.For(ctx, run, q, func(j *judgements) error {
		if len(j.Judgements) == 1 && len(candidates) == 1 && j.Judgements[0].Candidate == 0 { // it goes without saying
			j.Judgements[0].Candidate = 1
		}
		return ask.EachOnce("candidate", 1, len(candidates), j.Judgements, func(j judgement) int { return j.Candidate })
	})
	if err != nil {
		fail(ctx, stage, err)
		return nil, fmt.Errorf("%s: %w", stageJudge, err)
	}
	slices.SortFunc(answer.Value.Judgements, func(a, b judgement) int { return a.Candidate - b.Candidate })
	var kept []backends.Memory
	for i, j := range answer.Value.Judgements {
		if c := candidates[i]; *j.Valid && *j.Score >= m.config.MinQuality {
			c.Quality = j.Score
			kept = append(kept, c)
		}
	}
	stage.Out(len(kept))
	stage.Drop(len(candidates) - len(kept))
	return kept, nil
}
