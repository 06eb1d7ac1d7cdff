// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"slices"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/work"
)

// Config says which blocks there are and where they are kept. It is copied by [New].
type Config struct {
	Records store.Records // Required. Stays the caller's.

	// Blocks are shown in this order. Required: 1 to MaxBlocks. A block that is left
	// out later is no longer shown, and keeps its text in the store.
	Blocks []Block

	// Tools says that the agent has core_memory_append and core_memory_replace (see
	// toolkit.CoreMemory), so that Message tells it to use them. Optional. Defaults to
	// false.
	Tools bool

	// Redact takes out of a text what must not be stored. It must be safe for
	// concurrent use. Optional. Defaults to nothing.
	Redact func(text string) string

	Language Language       // Optional. Of the fixed texts of Message. Defaults to Auto.
	Clock    backends.Clock // Optional. Defaults to backends.SystemClock.
}

// Blocks reads and edits core blocks. It is immutable and safe for concurrent use;
// one serves any number of users, agents and sessions. It holds nothing that has to
// be closed.
type Blocks struct {
	config  Config
	text    *phrases
	writing work.Locks[place]
}

// New returns the blocks of a configuration, or ErrInvalid for one that lacks the
// records, has no block or too many, a name twice, or a block that cannot be.
func New(cfg *Config) (*Blocks, error) {
	switch {
	case cfg == nil || cfg.Records == nil:
		return nil, fmt.Errorf("core: no Config.Records: %w: pass a store, such as one of sqlitestore.Open", backends.ErrInvalid)
	case len(cfg.Blocks) == 0 || len(cfg.Blocks) > MaxBlocks:
		return nil, fmt.Errorf("core: %d blocks: %w: 1 to %d", len(cfg.Blocks), backends.ErrInvalid, MaxBlocks)
	}
	b := &Blocks{config: *cfg}
	var err error
	if b.text, err = cfg.Language.phrases(); err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	b.config.Blocks = slices.Clone(cfg.Blocks)
	names := map[string]bool{}
	for i := range b.config.Blocks {
		block := &b.config.Blocks[i]
		if err := block.complete(); err != nil {
			return nil, fmt.Errorf("core: %w", err)
		}
		if names[block.Name] {
			return nil, fmt.Errorf("core: block %q: %w: the name is taken", block.Name, backends.ErrInvalid)
		}
		names[block.Name] = true
	}
	if b.config.Clock == nil {
		b.config.Clock = backends.SystemClock
	}
	if b.config.Redact == nil {
		b.config.Redact = func(text string) string { return text }
	}
	return b, nil
}

// Blocks returns the definitions in the configured order, with their defaults.
func (b *Blocks) Blocks() []Block { return slices.Clone(b.config.Blocks) }

// block returns the definition of a name.
func (b *Blocks) block(name string) (*Block, error) {
	known := make([]string, len(b.config.Blocks))
	for i := range b.config.Blocks {
		if b.config.Blocks[i].Name == name {
			return &b.config.Blocks[i], nil
		}
		known[i] = b.config.Blocks[i].Name
	}
	return nil, &UnknownError{Block: name, Known: known}
}
