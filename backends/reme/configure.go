// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"errors"
	"fmt"

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
	err := errors.Join(s.FillExtract(&c.Extract), s.FillTask(&c.Task), s.FillPersonal(&c.Personal), s.FillTools(&c.Tools))
	if err != nil {
		return fmt.Errorf("reme: %w", err)
	}
	return nil
}
