// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/internal/work"
)

// task is what is asked in a branch.
type task struct {
	stage  string
	prompt func(*Prompts) string
	tool   string
	most   int // candidates
	source Source
}

// job is a question of a branch about some material.
type job struct {
	task
	of       *trajectory.Trajectory // what the candidates are said to be of
	lang     flow.Language
	material []fenced
}

// do puts the questions of all branches, as many at a time as the limits allow, and
// returns the candidates in the order of the questions.
func (e *Extractor) do(ctx context.Context, run *flow.Run, branches [][]job, failed *failures) []Candidate {
	results := make([][][]Candidate, len(branches))
	errs := make([][]error, len(branches))
	longest := 0
	for b, jobs := range branches {
		results[b], errs[b] = make([][]Candidate, len(jobs)), make([]error, len(jobs))
		longest = max(longest, len(jobs))
	}
	var all errgroup.Group
	all.SetLimit(run.Limits().Concurrency)
	for i := range longest { // a question of each branch in turn: none waits for another to end
		for b, jobs := range branches {
			if i < len(jobs) {
				all.Go(func() error {
					errs[b][i] = work.Catch("extract", func() (err error) {
						results[b][i], err = e.ask(ctx, run, &jobs[i])
						return err
					})
					return nil
				})
			}
		}
	}
	_ = all.Wait() // every error has its place in errs
	var out []Candidate
	for b, jobs := range branches {
		for i := range jobs {
			out = append(out, results[b][i]...)
			if err := errs[b][i]; err != nil {
				failed.add(run.Stage(jobs[i].stage), jobs[i].stage, err)
			}
		}
	}
	return out
}

// ask puts one question.
func (e *Extractor) ask(ctx context.Context, run *flow.Run, j *job) ([]Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	var found items
	q := e.question(j.lang, j.prompt, j.tool, j.most, fences(j.material))
	if err := run.Ask(ctx, q, func(m *schema.Message) (err error) {
		found, err = readItems(m, j.tool, j.most)
		return err
	}); err != nil {
		return nil, err
	}
	stage := run.Stage(j.stage)
	stage.Gave(len(found.kept))
	stage.Drop(found.dropped)
	for i := range found.kept {
		j.sign(&found.kept[i], e.config.Models.Counter())
	}
	return found.kept, nil
}

// maxQuery is how many tokens of the words of a task a candidate carries: where nobody
// says what the task was, they are all that a user said at first.
const maxQuery = 1000

// sign says where a candidate comes from.
func (j *job) sign(c *Candidate, counter budget.Counter) {
	c.Source = j.source
	c.TaskID, c.Query, c.Score = j.of.TaskID, trajectory.Clip(j.of.Task(), maxQuery, counter), j.of.Score
	c.Session, c.Turn, c.Observed = j.of.Session, j.of.Turn, j.of.Observed
	c.Material = evidence(j.material)
}

// evidence is the material as a judge is shown it.
func evidence(material []fenced) string {
	if len(material) == 1 {
		return material[0].text
	}
	var sb strings.Builder
	for _, m := range material {
		sb.WriteString("== " + m.name + " ==\n" + m.text)
	}
	return sb.String()
}

func fences(material []fenced) string {
	parts := make([]string, len(material))
	for i, m := range material {
		parts[i] = trajectory.Fence(m.name, m.text)
	}
	return strings.Join(parts, "\n\n")
}

// failures are the errors of a call, each text once.
type failures struct {
	errs []error
	seen map[string]struct{}
}

// add counts one thing that failed in a stage.
func (f *failures) add(stage *flow.Stage, name string, err error) {
	stage.Fail(err)
	err = fmt.Errorf("%s: %w", name, err)
	if _, known := f.seen[err.Error()]; known {
		return
	}
	if f.seen == nil {
		f.seen = map[string]struct{}{}
	}
	f.seen[err.Error()] = struct{}{}
	f.errs = append(f.errs, err)
}

func (f *failures) join() error { return errors.Join(f.errs...) }
