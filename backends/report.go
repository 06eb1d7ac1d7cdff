// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"errors"
	"fmt"
)

// Report says what became of a request that takes several steps, and what it cost.
type Report struct {
	Stages []StageReport `json:"stages"` // in the order in which they began
	Usage  Usage         `json:"usage"`
}

// StageReport counts what went through one stage.
type StageReport struct {
	Name    string   `json:"name"`
	In      int      `json:"in"`
	Out     int      `json:"out"`
	Dropped int      `json:"dropped,omitempty"` // not worth keeping, or duplicates
	Merged  int      `json:"merged,omitempty"`  // with memories that exist
	Failed  int      `json:"failed,omitempty"`
	Errors  []string `json:"errors,omitempty"` // why, each text once
	Err     error    `json:"-"`                // all of Errors, for errors.Is
}

// Err returns all failures, each under its stage, or nil.
func (r Report) Err() error {
	var all []error
	for _, s := range r.Stages {
		if s.Err != nil {
			all = append(all, fmt.Errorf("%s: %w", s.Name, s.Err))
		}
	}
	return errors.Join(all...)
}

// Stage returns the report of a stage; one that did not run has only its name.
func (r Report) Stage(name string) StageReport {
	for _, s := range r.Stages {
		if s.Name == name {
			return s
		}
	}
	return StageReport{Name: name}
}
