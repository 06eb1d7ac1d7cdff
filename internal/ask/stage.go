// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"errors"

	"github.com/einomem/einomem/backends"
)

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
