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
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/internal/text"
)

const (
	maxEvidence = 256 // tokens of an attempt that the judge sees
	maxCited    = 32  // tokens of a step of it
	maxJudged   = 12  // candidates in one prompt, unless one question has more
)

// judge keeps the candidates worth keeping: the evidence bears them out, and they are valid and
// have a score of MinQuality or more. It asks about those of several questions at once.
func (s *summary) judge(ctx context.Context, questions []question) error {
	var together [][]*question
	candidates, tokens := 0, 0
	for i := range questions {
		q := &questions[i]
		if q.state != isAsked {
			continue
		}
		n, size := len(q.found), 0
		for _, m := range s.m.docket([]*question{q}) {
			size += text.Tokens(m.text)
		}
		if len(together) == 0 || candidates+n > maxJudged || tokens+size > s.m.prompt {
			together, candidates, tokens = append(together, nil), 0, 0
		}
		last := len(together) - 1
		together[last] = append(together[last], q)
		candidates, tokens = candidates+n, tokens+size
	}
	return parallel(ctx, len(together), func(ctx context.Context, i int) error { return s.judgeAll(ctx, together[i]) })
}

// judgements are the judge's answer.
type judgements struct {
	Judgements []judgement `json:"judgements" alias:"verdicts,results"`
}

type judgement struct {
	Candidate int      `json:"candidate" alias:"index,id"`
	Valid     *bool    `json:"is_valid" alias:"valid"`
	Score     *float64 `json:"score"`
}

// Check refuses a judgement that leaves open whether the candidate is valid, or how good it is.
func (j *judgement) Check() error {
	if j.Valid == nil || j.Score == nil || !(*j.Score >= 0 && *j.Score <= 1) {
		return errors.New("it needs is_valid and a score from 0 to 1")
	}
	return nil
}

// judgeAll asks about the candidates of some questions. The score becomes their Quality. A
// candidate without a judgement is ErrModel: silence is no approval.
func (s *summary) judgeAll(ctx context.Context, questions []*question) error {
	all := 0
	var said []string
	for _, q := range questions {
		all += len(q.found)
		for _, c := range q.found {
			said = append(said, c.WhenToUse, c.Text)
		}
	}
	stage, material := s.run.Stage(stageJudge), s.m.docket(questions)
	stage.In(all)
	question := s.m.question(s.m.language.For(said...), func(p *prompts) string { return p.Judge }, material...)
	question.Tool = "judge_experiences"
	answer, err := ask.For(ctx, s.run, question, func(j *judgements) error {
		if len(j.Judgements) == 1 && all == 1 && j.Judgements[0].Candidate == 0 { // a single candidate may lack its number
			j.Judgements[0].Candidate = 1
		}
		return ask.EachOnce("candidate", 1, all, j.Judgements, func(j judgement) int { return j.Candidate })
	})
	if err != nil {
		fail(ctx, stage, err)
		return fmt.Errorf("%s: %w", stageJudge, err)
	}
	judged := answer.Value.Judgements
	slices.SortFunc(judged, func(a, b judgement) int { return a.Candidate - b.Candidate })
	for _, q := range questions {
		of := judged[:len(q.found)]
		judged = judged[len(q.found):]
		var kept []backends.Memory
		for i, j := range of {
			if *j.Valid && *j.Score >= s.m.config.MinQuality {
				q.found[i].Quality = j.Score
				kept = append(kept, q.found[i])
			}
		}
		stage.Out(len(kept))
		stage.Drop(len(q.found) - len(kept))
		q.found, q.state = kept, isJudged
	}
	return nil
}

// docket returns the material about the candidates of some questions: the attempts, each with its
// cited steps, and the candidates. The task of several attempts stands above the first.
func (m *Memory) docket(questions []*question) []fenced {
	var attempts []*attempt
	cited := map[*attempt][]int{}
	for _, q := range questions {
		for _, a := range q.attempts {
			if !slices.Contains(attempts, a) {
				attempts = append(attempts, a)
			}
			cited[a] = append(cited[a], q.cited...)
		}
	}
	var shown, candidates strings.Builder
	for i, a := range attempts {
		if len(attempts) > 1 {
			fmt.Fprintf(&shown, "attempt %d\n", i+1)
		}
		shown.WriteString(a.evidence(cited[a], i > 0 && a.key != "" && a.key == attempts[i-1].key))
	}
	n := 0
	for _, q := range questions {
		for _, c := range q.found {
			n++
			heading := fmt.Sprint("candidate ", n)
			if len(attempts) > 1 {
				heading += "\nattempt:"
				for _, a := range q.attempts {
					heading += fmt.Sprint(" ", slices.Index(attempts, a)+1)
				}
			}
			candidates.WriteString(m.shown(heading, c.WhenToUse, c.Text))
		}
	}
	return []fenced{{"attempts", shown.String()}, {"candidates", candidates.String()}}
}

// evidence shows the judge an attempt: the task unless it is the one before's, how it went, and the
// cited steps, shortened. Without a cited step it shows all steps.
func (a *attempt) evidence(cited []int, sameTask bool) string {
	steps := slices.DeleteFunc(slices.Clone(a.steps), func(s step) bool { return !slices.Contains(cited, s.number) })
	if len(steps) == 0 {
		steps = a.steps
	}
	head := a.outcome(maxEvidence)
	if !sameTask {
		head = a.what(maxEvidence, steps) + head
	}
	return head + shortened(steps, maxEvidence-text.Tokens(head), maxCited)
}
