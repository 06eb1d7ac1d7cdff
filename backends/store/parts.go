// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"

	"github.com/einomem/einomem/backends"
)

// A middleware has parts beside its log: a window, core blocks, a reflection. Their
// configurations are interfaces here, so that a program links only the parts that it names.

// Common is shared by the parts of one memory. A part uses it where its own configuration leaves a
// field open.
type Common struct {
	Backend  backends.Backend
	Sessions Sessions
	Blocks   Blocks       // nil if the memory lacks them
	Core     BlocksConfig // nil if the memory lacks them

	Redact   func(string) string
	Language backends.Language
	Clock    backends.Clock
	OnError  func(ctx context.Context, stage string, err error)
	Timeout  time.Duration // of one call of the store, while a reply waits; 0: the part's own
}

// WindowConfig opens a window: *window.Config is one.
type WindowConfig interface {
	OpenWindow(c *Common) (backends.Window, error)
}

// BlocksConfig opens core blocks: *core.Config is one. editable says whether an agent gets tools
// that edit them.
type BlocksConfig interface {
	OpenBlocks(c *Common, editable bool) (Blocks, error)
}

// Blocks are texts that are always in an agent's prompt: *core.Blocks are.
type Blocks interface {
	// Record returns the record of a block, or nil before the first write, and its limit in
	// characters. Writing it is an ordinary batch.
	Record(ctx context.Context, s backends.Scope, name string) (r *Record, limit int, err error)
}

// ReflectionConfig starts the work that tidies memory in the background: *reflection.Schedule is
// one.
type ReflectionConfig interface {
	StartReflection(c *Common) (backends.Reflection, error)
}
