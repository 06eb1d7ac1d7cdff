// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"fmt"

	"github.com/einomem/einomem/backends"
)

// NearConfig says how the store uses the vector sets of Redis 8 and later, by which
// it finds neighbours in partitions that are too large for a process: see
// [Store.Nearest].
type NearConfig struct {
	// Use is whether vector sets are used. Optional. Defaults to NearAuto.
	Use NearUse

	// Float32 keeps the vectors of the index as float32 instead of int8, so that its
	// cosines are exact. What is found hardly differs: an element of 1,536 dimensions
	// takes 6.9 KB of the server's memory instead of 2.3. Optional.
	// Processes that share a partition must agree on it: each would build the
	// index anew. Defaults to false.
	Float32 bool

	// Ahead is how many changes a search indexes itself, which takes about a
	// millisecond each. With more to do it fails with ErrUnavailable, and the index
	// is built in the background. Optional. Defaults to 256; negative is none.
	Ahead int
}

// NearUse is whether vector sets are used.
type NearUse string

// The values of [NearUse].
const (
	NearAuto   NearUse = ""       // where no release notes speak of crashes of the server's version
	NearAlways NearUse = "always" // wherever the server has them
	NearNever  NearUse = "never"
)

const defaultAhead = 256

func (c *NearConfig) setDefaults() error {
	if c.Ahead == 0 {
		c.Ahead = defaultAhead
	}
	switch c.Use {
	case NearAuto, NearAlways, NearNever:
		return nil
	}
	return fmt.Errorf("redisstore: use of vector sets %q: %w: want NearAuto, NearAlways or NearNever", c.Use, backends.ErrInvalid)
}

func (c *NearConfig) quantisation() string {
	if c.Float32 {
		return "NOQUANT"
	}
	return "Q8"
}
