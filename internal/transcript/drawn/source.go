// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package drawn makes conversations up in property tests, which shrink those that
// fail.
package drawn

import (
	"pgregory.net/rapid"

	"github.com/einomem/einomem/internal/transcript"
)

// Source returns chance that a property test draws.
func Source(t *rapid.T) transcript.Source { return source{t: t} }

type source struct{ t *rapid.T }

// IntN implements [transcript.Source].
func (s source) IntN(n int) int {
	if n == 1 {
		return 0
	}
	return rapid.IntRange(0, n-1).Draw(s.t, "choice")
}
