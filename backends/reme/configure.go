// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"errors"
	"fmt"
	"maps"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/settings"
)

// Configure puts what is set in files and on a command line into the configuration.
// What code makes, such as the store and the models, stays as it is. Defaults of
// requests (how many memories, whether to rerank) stand in the settings for whoever
// makes the requests. Settings that cannot work are [backends.ErrInvalid].
func (c *Config) Configure(s *settings.Settings) error {
	if s == nil {
		return fmt.Errorf("reme: %w: no settings; settings.Load gives them", backends.ErrInvalid)
	}
	if err := s.Validate(); err != nil {
		return fmt.Errorf("reme: %w", err)
	}
	c.Language, c.Limits = s.Language, s.Limits
	c.configurePersonal(s)
	err := errors.Join(s.FillTask(&c.Task), s.FillTools(&c.Tools))
	if err != nil {
		return fmt.Errorf("reme: %w", err)
	}
	return nil
}

// configurePersonal does so for personal memory. Weights are put over those that the
// configuration has, else over [DefaultTypeWeights].
func (c *Config) configurePersonal(s *settings.Settings) {
	p, to := &s.Personal, &c.Personal
	to.MinScore, to.MaxKnown, to.TimeWeight, to.InWorkspace, to.Language = p.MinScore, p.MaxKnown, p.TimeWeight, p.InWorkspace, s.Language
	if to.TypeWeights == nil {
		to.TypeWeights = DefaultTypeWeights()
	}
	to.TypeWeights = maps.Clone(to.TypeWeights)
	maps.Copy(to.TypeWeights, p.TypeWeights)
	if prompt, ok := s.Prompts["personal"]["summarize"]; ok {
		to.Prompt = prompt
	}
}
