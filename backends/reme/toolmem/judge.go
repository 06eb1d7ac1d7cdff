// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/reme/flow"
)

// Who gave a call its score.
const (
	JudgeRules = "rules"
	JudgeModel = "model"
)

// maxJudged is how many calls a model judges at a time.
const maxJudged = 8

// judge gives calls without a score one. recent are calls whose verdicts hold for
// repeats of them. Calls that a model could not judge stay without: the stage says
// why.
func (m *Memory) judge(ctx context.Context, r *recording, calls, recent []Call) {
	stage := r.run.Stage(StageJudge)
	var open []*Call
	for i := range calls {
		if calls[i].Score == nil {
			open = append(open, &calls[i])
		}
	}
	stage.Took(len(open))
	if r.byModel {
		m.judgeOnce(ctx, r.run, open, recent)
	}
	for _, c := range open {
		if !r.byModel {
			c.judgeByRules()
		}
		if c.Score != nil {
			stage.Gave(1)
		}
	}
}

// judgeOnce asks for one verdict on calls that are equal, and for none where a recent
// call has it.
func (m *Memory) judgeOnce(ctx context.Context, run *flow.Run, open []*Call, recent []Call) {
	verdicts := map[string]*Call{}
	for i := range recent {
		if recent[i].Judge == JudgeModel && recent[i].Score != nil {
			verdicts[recent[i].Hash] = &recent[i]
		}
	}
	var ask []*Call
	for _, c := range open {
		if verdicts[c.Hash] == nil {
			verdicts[c.Hash] = c
			ask = append(ask, c)
		}
	}
	m.judgeByModel(ctx, run, ask)
	for _, c := range open {
		if of := verdicts[c.Hash]; of != c {
			c.Score, c.Judge, c.Summary, c.Evaluation = of.Score, of.Judge, of.Summary, of.Evaluation
			run.Stage(StageJudge).Merge(1)
		}
	}
}

// judgeByRules scores a call by how it ended.
func (c *Call) judgeByRules() {
	score := 1.0
	if c.wrong() || saysNothing(c.Output) {
		score = 0
	}
	c.Score, c.Judge = &score, JudgeRules
}

// judgeByModel asks for verdicts, some calls at a time and as many questions at once
// as the limits allow.
func (m *Memory) judgeByModel(ctx context.Context, run *flow.Run, calls []*Call) {
	var all sync.WaitGroup
	for batch := range slices.Chunk(calls, maxJudged) {
		all.Go(func() {
			if err := guarded(func() error { return m.judgeBatch(ctx, run, batch) }); err != nil {
				run.Stage(StageJudge).Fail(err)
			}
		})
	}
	all.Wait()
}

func (m *Memory) judgeBatch(ctx context.Context, run *flow.Run, calls []*Call) error {
	lines, material := make([]string, len(calls)), make([]Call, len(calls))
	room := run.Limits().Prompt / len(calls)
	for i, c := range calls {
		lines[i], material[i] = m.shown(i, c, room), *c
	}
	q := m.question(m.language(materialOf(material)...), toolJudge, "<calls>\n"+strings.Join(lines, "\n")+"\n</calls>")
	verdicts := make([]*verdict, len(calls))
	err := run.Ask(ctx, q, func(out *schema.Message) error { return readVerdicts(out, verdicts) })
	unjudged := 0
	for i, v := range verdicts {
		if v == nil {
			unjudged++
			continue
		}
		c, score := calls[i], v.score
		c.Score, c.Judge = &score, JudgeModel
		c.Summary, c.Evaluation = clip(m.redact(v.summary), m.cfg.MaxResult), clip(m.redact(v.evaluation), m.cfg.MaxResult)
	}
	if err != nil {
		return fmt.Errorf("%d of %d calls stay without a score: %w", unjudged, len(calls), err)
	}
	return nil
}

// shown returns a call as a line of JSON for a model, of about so many tokens at most.
// Angle brackets are escaped, so that nothing in it can close a fence.
func (m *Memory) shown(n int, c *Call, tokens int) string {
	type shown struct {
		N       int      `json:"n"`
		Tool    string   `json:"tool"`
		Input   any      `json:"input"`
		Output  string   `json:"output"`
		Failed  bool     `json:"failed"`
		Error   string   `json:"error,omitempty"`
		Class   string   `json:"error_class,omitempty"`
		Seconds float64  `json:"seconds"`
		Tokens  int      `json:"tokens,omitempty"`
		Score   *float64 `json:"score,omitempty"`
		Verdict string   `json:"verdict,omitempty"`
	}
	s := shown{N: n, Tool: c.Tool, Input: c.Input, Output: c.Output, Failed: c.failed(), Class: string(ClassifyError(c.problem())), Seconds: round(c.Took.Seconds(), 3), Tokens: max(c.Tokens, 0), Score: c.Score, Verdict: c.Evaluation}
	if c.Error != c.Output {
		s.Error = c.Error
	}
	for limit := max(m.cfg.MaxArguments, m.cfg.MaxResult) + 64; ; limit /= 2 {
		line, err := json.Marshal(s)
		if err != nil {
			line, _ = json.Marshal(shown{N: n, Tool: c.Tool, Output: c.Output, Failed: c.failed(), Error: c.Error})
		}
		if limit < 64 || m.cfg.Models.Counter().Text(string(line)) <= tokens {
			return string(line)
		}
		s.Input, s.Output, s.Error, s.Verdict = clip(readable(c.Input), limit), clip(c.Output, limit), clip(s.Error, limit), clip(c.Evaluation, limit)
	}
}

// question returns what a model is asked: the prompt of the tool that it answers by,
// over material in fences.
func (m *Memory) question(l flow.Language, tool, material string) *flow.Question {
	p := m.prompts(l)
	system, form := p.Judge, p.JudgeJSON
	if tool == toolGuideline {
		system, form = p.Guideline, p.GuidelineJSON
	}
	if !m.cfg.Models.ByTool() {
		system += "\n\n" + form
	}
	return &flow.Question{System: system, User: material, Tool: tool, Complaint: func(err error) string { return p.Again + " " + err.Error() }}
}
