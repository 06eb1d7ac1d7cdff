// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"fmt"
	"slices"
)

// EachOnce refuses an answer that does not have one entry for each number from first on,
// n in all: nothing is taken for granted. number returns that of an entry; what is the
// name of what is numbered. The error is for the model.
func EachOnce[T any](what string, first, n int, entries []T, number func(T) int) error {
	seen := make([]bool, n)
	for _, e := range entries {
		at := number(e) - first
		if at < 0 || at >= n || seen[at] {
			return fmt.Errorf("there is no %s %d, or it is answered twice", what, number(e))
		}
		seen[at] = true
	}
	if at := slices.Index(seen, false); at >= 0 {
		return fmt.Errorf("%s %d is not answered", what, at+first)
	}
	return nil
}
