// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import "time"

// Sweep looks once for sessions that other processes left, as the sweeper does.
var Sweep = (*Memory).sweep

// Attempts is how often a range is tried before it is divided.
func (c *Config) Attempts() *int { return &c.maxAttempts }

// NeverLeft makes a Memory wait for each Add, so that a test and an abandoned Add share nothing.
func NeverLeft(c *Config) { c.grace = time.Hour }
