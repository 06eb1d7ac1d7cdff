// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

const (
	mem0TopK      = 20
	mem0Threshold = 0.1
)

func (c *contest) mem0() []ranked { return c.weightedSum() }
