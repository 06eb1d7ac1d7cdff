// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/tool"
)

// FillTask puts what is set into the configuration of package task. What code makes,
// such as models, stays as it is there. A prompt of a step that there is not is
// ErrInvalid.
func (s *Settings) FillTask(c *task.Config) error {
	t := &s.Task
	c.Threshold, c.SimpleThreshold, c.MinQuality = t.SuccessThreshold, t.SimpleThreshold, t.ValidationThreshold
	c.Duplicate, c.DuplicateWords, c.Language = t.Duplicate, t.DuplicateWords, s.Language
	if c.Similar = 0; t.Similar {
		c.Similar = t.SimilarAbove
	}
	return fillPrompts(s, "task", &c.Prompts)
}

// FillTools does so with that of package tool.
func (s *Settings) FillTools(c *tool.Config) error {
	t := &s.Tool
	c.History, c.Window, c.RefreshAfter, c.Judge, c.Keep = t.History, t.Window, t.RefreshAfter, t.Judge, t.Keep
	c.MaxArguments, c.MaxResult, c.MaxDescription = t.MaxArguments, t.MaxResult, t.MaxDescription
	c.Language = s.Language
	return fillPrompts(s, "tool", &c.Prompts)
}

// Rule returns which task memories are forgotten.
func (s *Settings) Rule() task.Rule {
	return task.Rule{MinUses: s.Task.ForgetAfter, MaxUtility: s.Task.ForgetShare, Strict: s.Task.ForgetStrict}
}

// fillPrompts puts the prompts of a group into a copy of those that are configured.
func fillPrompts[P any](s *Settings, group string, into **P) error {
	var prompts P
	if *into != nil {
		prompts = **into
	}
	if err := s.Prompts.Fill(group, &prompts); err != nil {
		return err
	}
	*into = &prompts
	return nil
}
