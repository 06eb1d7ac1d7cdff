// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
)

// Synchronous says when a write counts as durable.
type Synchronous string

// The levels of durability. Neither loses an acknowledged write, or part of a
// batch, when the process is killed.
const (
	// Full waits until each commit is on the disk: an acknowledged write survives
	// a power cut. The default.
	Full Synchronous = "full"

	// Normal waits for the disk only at checkpoints. It is faster where the disk
	// is slow, and gives up this: after a power cut or a crash of the operating
	// system the last commits may be gone, though the file stays consistent. A
	// turn that was acknowledged can then be missing from the session log.
	Normal Synchronous = "normal"
)

func (s Synchronous) pragma() string {
	if s == Normal {
		return "NORMAL"
	}
	return "FULL"
}

// Config are the settings of [Open]. The zero value is ready for use.
type Config struct {
	Clock       backends.Clock // Optional. Defaults to backends.SystemClock.
	Synchronous Synchronous    // Optional. Defaults to Full.

	// BusyTimeout is how long a call waits while another process holds the
	// file's write lock, before it fails with ErrUnavailable. Optional. Defaults
	// to 5 s.
	BusyTimeout time.Duration

	// ReadConns is how many reads can go on at the same time. Optional. Defaults
	// to 4; at most 64.
	ReadConns int
}

// withDefaults returns a copy with its defaults filled in.
func (c *Config) withDefaults() Config {
	var out Config
	if c != nil {
		out = *c
	}
	if out.Clock == nil {
		out.Clock = backends.SystemClock
	}
	if out.Synchronous == "" {
		out.Synchronous = Full
	}
	if out.BusyTimeout == 0 {
		out.BusyTimeout = 5 * time.Second
	}
	if out.ReadConns == 0 {
		out.ReadConns = 4
	}
	return out
}

func (c *Config) validate() error {
	switch {
	case c.Synchronous != Full && c.Synchronous != Normal:
		return fmt.Errorf("synchronous %q: %w: use full or normal", c.Synchronous, backends.ErrInvalid)
	case c.BusyTimeout < 0:
		return fmt.Errorf("busy timeout %v: %w: negative", c.BusyTimeout, backends.ErrInvalid)
	case c.ReadConns < 0 || c.ReadConns > 64:
		return fmt.Errorf("%d read connections: %w: use 1 to 64", c.ReadConns, backends.ErrInvalid)
	}
	return nil
}
