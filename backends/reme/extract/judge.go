// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/work"
)

// maxBatch is how many candidates are judged at a time.
const maxBatch = 8

// Validate returns the candidates that a judge finds worth keeping: valid, and with a
// score of MinQuality or more, which is then their Quality. The judge is shown the
// material that taught them. Several are judged with one question where their material
// fits; each needs a verdict of its own. A candidate without a verdict that can be
// understood is never kept: it counts as failed, and the error, which is returned
// beside those that were kept, says why. Errors are those of flow.Run.Ask.
func (e *Extractor) Validate(ctx context.Context, run *flow.Run, candidates []Candidate) ([]Candidate, error) {
	stage := run.Stage(StageValidate)
	stage.Took(len(candidates))
	verdicts := make([]verdict, len(candidates))
	var all errgroup.Group
	all.SetLimit(run.Limits().Concurrency)
	for _, b := range e.batches(candidates) {
		all.Go(func() error {
			batch := verdicts[b.from:b.to]
			err := work.Catch("extract", func() error {
				e.judge(ctx, run, candidates[b.from:b.to], batch)
				return nil
			})
			for i := range batch {
				if err != nil {
					batch[i] = verdict{err: err}
				}
			}
			return nil
		})
	}
	_ = all.Wait() // every error is in a verdict
	var kept []Candidate
	var failed failures
	for i, v := range verdicts {
		switch {
		case v.err != nil:
			failed.add(stage, StageValidate, v.err)
		case !v.valid || v.score < e.config.MinQuality:
			stage.Drop(1)
		default:
			c := candidates[i]
			c.Quality, c.Feedback = &v.score, v.feedback
			kept = append(kept, c)
		}
	}
	stage.Gave(len(kept))
	return kept, failed.join()
}

// batch is a run of candidates that are judged together.
type batch struct{ from, to int }

// batches puts neighbours together as long as they and their material fit.
func (e *Extractor) batches(candidates []Candidate) []batch {
	var out []batch
	room := 0
	for i := range candidates {
		c := &candidates[i]
		shown := i > 0 && candidates[i-1].Material == c.Material
		need := e.config.Models.Counter().Text(c.shown(i + 1))
		if !shown {
			need += e.config.Models.Counter().Text(c.Material)
		}
		if last := len(out) - 1; last >= 0 && need <= room && out[last].to-out[last].from < maxBatch {
			out[last].to = i + 1
			room -= need
			continue
		}
		if shown { // in a question of its own the material is shown again
			need += e.config.Models.Counter().Text(c.Material)
		}
		out = append(out, batch{i, i + 1})
		room = e.limit() - need
	}
	return out
}

// shown is a candidate as the judge sees it.
func (c *Candidate) shown(number int) string {
	return fmt.Sprintf("candidate %d\nwhen_to_use:\n%sexperience:\n%s", number, trajectory.Indent(c.WhenToUse), trajectory.Indent(c.Content))
}

// judge asks for the verdicts of a batch. The answer must hold one for each
// candidate; of a second answer those count that it holds.
func (e *Extractor) judge(ctx context.Context, run *flow.Run, batch []Candidate, verdicts []verdict) {
	answers := 0
	err := context.Cause(ctx)
	if err == nil {
		err = run.Ask(ctx, e.judgement(batch), func(m *schema.Message) error {
			answers++
			found, err := readVerdicts(m, len(batch))
			if err != nil {
				return err
			}
			if answers == 1 && slices.ContainsFunc(found, func(v verdict) bool { return v.err != nil }) {
				return errNoVerdict
			}
			copy(verdicts, found)
			return nil
		})
	}
	for i := range verdicts {
		if err != nil {
			verdicts[i] = verdict{err: fmt.Errorf("judging: %w", err)}
		}
	}
}

// judgement is the question about a batch.
func (e *Extractor) judgement(batch []Candidate) *flow.Question {
	var texts []string
	var list strings.Builder
	for i := range batch {
		list.WriteString(batch[i].shown(i + 1))
		texts = append(texts, batch[i].WhenToUse, batch[i].Content)
	}
	lang := e.config.Language.For(texts...)
	counter := e.config.Models.Counter()
	candidates := trajectory.Clip(list.String(), e.limit()*3/4, counter)
	room := max(e.limit()-counter.Text(candidates), trajectory.MinLimit)
	var material []fenced
	for i := range batch {
		if i > 0 && batch[i].Material == batch[i-1].Material || batch[i].Material == "" {
			continue
		}
		last := i
		for last+1 < len(batch) && batch[last+1].Material == batch[i].Material {
			last++
		}
		material = append(material, fenced{fmt.Sprintf("material-of-%d-to-%d", i+1, last+1), trajectory.Clip(batch[i].Material, room, counter)})
	}
	material = append(material, fenced{"candidates", candidates})
	return e.question(lang, func(p *Prompts) string { return p.Judge }, toolVerdicts, 0, fences(material))
}
