// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/session"
)

// Config says what prompts are built of. It is copied by [New].
type Config struct {
	// Budget says how many tokens a prompt may have. Its Memories is how much room
	// there is for core blocks and what a search finds. Required.
	Budget compaction.Budget
	// Backend is searched for memories. Optional.
	Backend backends.Backend
	// Sessions has the history. Optional.
	Sessions *session.Service
	// HistoryTokens is how much of the log one prompt loads, in tokens as they were
	// appended. Optional. Defaults to the budget's limit, and to four times that
	// with a Compactor: large results of tools shrink without a model.
	HistoryTokens int
	// Compactor makes a history fit that is too large. Give it the same Budget.
	// Optional: without one, the oldest turns are left out.
	Compactor *compaction.Compactor
	// Archives keeps what the Compactor takes out. Without them it only drops what
	// is derived. Optional.
	Archives *archive.Archives
	// Core has the blocks that are in every prompt. Optional.
	Core *core.Blocks
	// Language is that of the few words added. Optional. Defaults to LanguageEnglish.
	Language Language
}

func (c *Config) withDefaults() (*Config, error) {
	if c == nil {
		return nil, fmt.Errorf("%w: no config: give at least a Budget", backends.ErrInvalid)
	}
	n := *c
	var err error
	if n.Budget, err = c.Budget.WithDefaults(); err != nil {
		return nil, err
	}
	if n.HistoryTokens < 0 {
		return nil, fmt.Errorf("%w: HistoryTokens is %d", backends.ErrInvalid, n.HistoryTokens)
	}
	if n.HistoryTokens == 0 {
		n.HistoryTokens = n.Budget.Limit()
		if n.Compactor != nil {
			n.HistoryTokens *= 4
		}
	}
	if n.Language == "" {
		n.Language = LanguageEnglish
	}
	if _, ok := phrases[n.Language]; !ok {
		return nil, fmt.Errorf("%w: language %q: use %q or %q", backends.ErrInvalid, n.Language, LanguageEnglish, LanguageChinese)
	}
	return &n, nil
}
