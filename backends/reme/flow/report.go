// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"errors"
	"fmt"

	"github.com/einomem/einomem/backends"
)

// Report tells what became of a request, stage by stage, and what it cost. It is
// fit to be written as JSON.
type Report struct {
	Stages []StageReport  `json:"stages"` // in the order in which they began
	Usage  backends.Usage `json:"usage"`
}

// StageReport is one stage of a flow: how many things it was given, gave on, left
// out on purpose, and could not work on.
type StageReport struct {
	Name    string   `json:"name"`
	In      int      `json:"in"`
	Out     int      `json:"out"`
	Dropped int      `json:"dropped,omitempty"` // judged not worth keeping, or known already
	Merged  int      `json:"merged,omitempty"`  // joined with what is known
	Failed  int      `json:"failed,omitempty"`
	Errors  []string `json:"errors,omitempty"` // why, once each
	Err     error    `json:"-"`                // all failures, for errors.Is
}

// Err returns all failures of all stages, or nil: a repeat of the request may
// succeed where it is ErrUnavailable or ErrModel.
func (r Report) Err() error {
	var all []error
	for _, s := range r.Stages {
		if s.Err != nil {
			all = append(all, fmt.Errorf("%s: %w", s.Name, s.Err))
		}
	}
	return errors.Join(all...)
}

// Stage returns what the report says of a stage; one that never ran is zero.
func (r Report) Stage(name string) StageReport {
	for _, s := range r.Stages {
		if s.Name == name {
			return s
		}
	}
	return StageReport{Name: name}
}

// maxErrors is how many different errors a stage keeps.
const maxErrors = 8

// Stage counts for one stage of a run. It is safe for concurrent use.
type Stage struct {
	run    *Run
	report StageReport
	errs   []error
}

// Stage returns the stage of the given name, beginning it if need be.
func (r *Run) Stage(name string) *Stage {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.stages {
		if s.report.Name == name {
			return s
		}
	}
	s := &Stage{run: r, report: StageReport{Name: name}}
	r.stages = append(r.stages, s)
	return s
}

func (s *Stage) count(field *int, n int) {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	*field += n
}

// Took counts things that the stage was given.
func (s *Stage) Took(n int) { s.count(&s.report.In, n) }

// Gave counts things that the stage gave on.
func (s *Stage) Gave(n int) { s.count(&s.report.Out, n) }

// Drop counts things that the stage left out on purpose.
func (s *Stage) Drop(n int) { s.count(&s.report.Dropped, n) }

// Merge counts things that the stage joined with others.
func (s *Stage) Merge(n int) { s.count(&s.report.Merged, n) }

// Fail counts one thing that the stage could not work on, and why.
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

// Report returns what became of the request so far.
func (r *Run) Report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := Report{Stages: make([]StageReport, len(r.stages)), Usage: r.usage}
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
