// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

// ErrLimit is returned when a request would cost more than its [Limits] allow. It is
// backends.ErrInvalid: repeating the request spends as much again.
var ErrLimit = fmt.Errorf("the limit of the request is reached: %w", backends.ErrInvalid)

// Limits bound what one request may cost. 0 is no limit.
type Limits struct {
	Calls  int // model calls, repeats included
	Tokens int // of prompts and answers together
}

// Run is one request to a backend: the questions that belong to it, and what they cost
// together. It is safe for concurrent use.
type Run struct {
	model  *Model
	limits Limits

	mu     sync.Mutex
	calls  int // made or under way
	tokens int // spent, and those of the prompts under way
	usage  backends.Usage
	stages []*Stage
}

// Begin returns a run without questions so far.
func (m *Model) Begin(l Limits) *Run { return &Run{model: m, limits: l} }

// Usage returns what the run has cost so far.
func (r *Run) Usage() backends.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usage
}

// Embedded counts texts that were embedded for the run.
func (r *Run) Embedded(texts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.EmbeddedTexts += texts
}

// reserve takes one call and the tokens of its prompt, by estimate.
func (r *Run) reserve(in []*schema.Message) (tokens int, err error) {
	for _, m := range in {
		tokens += text.Tokens(m.Content)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch l := r.limits; {
	case l.Calls > 0 && r.calls >= l.Calls:
		return 0, fmt.Errorf("%w: %d model calls; raise Limits.Calls or send less at a time", ErrLimit, l.Calls)
	case l.Tokens > 0 && r.tokens+tokens > l.Tokens:
		return 0, fmt.Errorf("%w: %d tokens; raise Limits.Tokens or send less at a time", ErrLimit, l.Tokens)
	}
	r.calls++
	r.tokens += tokens
	r.usage.ModelCalls++
	return tokens, nil
}

// spent replaces the estimate of a call by what the model reported.
func (r *Run) spent(estimate int, out *schema.Message) {
	if out == nil || out.ResponseMeta == nil || out.ResponseMeta.Usage == nil {
		return
	}
	u := out.ResponseMeta.Usage
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens += u.PromptTokens + u.CompletionTokens - estimate
	r.usage.PromptTokens += u.PromptTokens
	r.usage.CompletionTokens += u.CompletionTokens
}

// maxErrors bounds how many different errors a stage keeps.
const maxErrors = 8

// Stage counts what goes through one stage of a run, for its report. It is safe for
// concurrent use.
type Stage struct {
	run    *Run
	report backends.StageReport
	errs   []error
}

// Stage returns the stage of that name, which begins with the first call.
func (r *Run) Stage(name string) *Stage {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.stages {
		if s.report.Name == name {
			return s
		}
	}
	s := &Stage{run: r, report: backends.StageReport{Name: name}}
	r.stages = append(r.stages, s)
	return s
}

// In counts what came in.
func (s *Stage) In(n int) { s.count(&s.report.In, n) }

// Out counts what went on.
func (s *Stage) Out(n int) { s.count(&s.report.Out, n) }

// Drop counts what did not go on.
func (s *Stage) Drop(n int) { s.count(&s.report.Dropped, n) }

// Merge counts what was merged with memories that exist.
func (s *Stage) Merge(n int) { s.count(&s.report.Merged, n) }

func (s *Stage) count(field *int, n int) {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	*field += n
}

// Fail counts a failure. Each text of an error is kept once.
func (s *Stage) Fail(err error) {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	s.report.Failed++
	for _, e := range s.errs {
		if e.Error() == err.Error() {
			return
		}
	}
	if len(s.errs) < maxErrors {
		s.errs = append(s.errs, err)
	}
}

// Report returns what became of the run so far.
func (r *Run) Report() backends.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := backends.Report{Stages: make([]backends.StageReport, len(r.stages)), Usage: r.usage}
	for i, s := range r.stages {
		line := s.report
		line.Err = errors.Join(s.errs...)
		for _, e := range s.errs {
			line.Errors = append(line.Errors, e.Error())
		}
		out.Stages[i] = line
	}
	return out
}

// EachOnce refuses an answer that does not have one entry for each number from first on,
// n in all: nothing is taken for granted. number returns that of an entry; what is the
// name of what is numbered. The error is for the model.
func EachOnce[T any](what string, first, n int, entries []T, number func(T) int) error {
	seen := make([]bool, n)
	for _, e := range entries {
		at := number(e) - first
		if at < 0 || at >= n || seen[at] {
			return fmt.Errorf("there is no %s %d, or it is answered twice", what, number(e))
		}
		seen[at] = true
	}
	if at := slices.Index(seen, false); at >= 0 {
		return fmt.Errorf("%s %d is not answered", what, at+first)
	}
	return nil
}
