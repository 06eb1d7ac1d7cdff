// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"sort"

	"github.com/einomem/einomem/internal/text"
)

// estimateTokens estimates how many tokens a model counts for s, as the log
// does it.
func estimateTokens(s string) int {
	return text.Tokens(s)
}

const ellipsis = "…"

// cutTokens returns text, cut to at most so many estimated tokens with an ellipsis
// where it was cut; "" when not even a word fits.
func cutTokens(text string, tokens int) string {
	if estimateTokens(text) <= tokens {
		return text
	}
	runes := []rune(text)
	fits := sort.Search(len(runes), func(n int) bool { return estimateTokens(string(runes[:n+1])+ellipsis) > tokens })
	if fits == 0 {
		return ""
	}
	return string(runes[:fits]) + ellipsis
}
