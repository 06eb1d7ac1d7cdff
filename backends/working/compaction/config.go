// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/budget"
)

// Language is the language of the few words that compaction itself says. What it
// quotes stays in the language in which it was said.
type Language string

// The languages.
const (
	// LanguageAuto follows the last user message: Chinese when that is mostly
	// Chinese.
	LanguageAuto    Language = ""
	LanguageEnglish Language = "en"
	LanguageChinese Language = "zh"
)

// Config says when and how contexts are made smaller. It is copied by [New].
type Config struct {
	// Budget says how many tokens a context may have. Required.
	Budget budget.Budget
	// Steps are tried in this order, each only while the context is too large.
	// Optional. Defaults to [Free].
	Steps []Step
	// Trigger is the share of the budget's limit above which the steps run, and
	// down to which they go: above 0, at most 1. Optional. Defaults to 1.
	Trigger float64
	// Language of stand-ins and summaries. Optional. Defaults to LanguageAuto.
	Language Language
	// NoTools leaves the names of the tools grep_working_memory and
	// read_working_memory out of the stand-ins. Set it for an agent that does not
	// have them: it would call what is not there.
	NoTools bool
}

// withDefaults returns a copy that is complete, or ErrInvalid.
func (c *Config) withDefaults() (*Config, error) {
	if c == nil {
		return nil, fmt.Errorf("compaction: %w: no config: give at least a Budget", backends.ErrInvalid)
	}
	n := *c
	var err error
	if n.Budget, err = n.Budget.WithDefaults(); err != nil {
		return nil, fmt.Errorf("compaction: %w", err)
	}
	if n.Trigger == 0 {
		n.Trigger = 1
	}
	if !(n.Trigger > 0 && n.Trigger <= 1) || n.target() < 1 {
		return nil, fmt.Errorf("compaction: %w: Trigger %v: give a share of the budget above 0, at most 1", backends.ErrInvalid, c.Trigger)
	}
	switch n.Language {
	case LanguageAuto, LanguageEnglish, LanguageChinese:
	default:
		return nil, fmt.Errorf("compaction: %w: language %q: use en or zh", backends.ErrInvalid, n.Language)
	}
	if n.Steps == nil {
		n.Steps = Free()
	}
	if slices.Contains(n.Steps, nil) {
		return nil, fmt.Errorf("compaction: %w: a step is nil: leave it out", backends.ErrInvalid)
	}
	if n.Steps, err = prepared(n.Steps); err != nil {
		return nil, err
	}
	return &n, nil
}

// target is the number of tokens that the steps go down to.
func (c *Config) target() int {
	const rounding = 1e-6 // 20000.0/65536 of 65536 is 20000, not what floating point makes of it
	return int(c.Trigger*float64(c.Budget.Limit()) + rounding)
}
