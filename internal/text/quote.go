// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strings"
)

// QuoteFrom is the least number of bytes of a text, as [Fold] returns it, whose repetition is no
// coincidence. A greeting and a thank-you have fewer; four English words or five Chinese characters
// have as many.
const QuoteFrom = 15

// Quotes reports whether a text holds one of the others whole, all of them as [Fold] returns them.
func Quotes(s string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool { return strings.Contains(s, other) })
}
