// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// mark is what stands where something was left out. Chinese readers understand it
// as well: the number and the unit matter.
const mark = " …[%d bytes left out]… "

// clip keeps the beginning and the end of a text that is longer than limit bytes,
// whole characters, with a count of what was left out between them.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := cutBack(s, limit-limit/3), cutAhead(s, len(s)-limit/3)
	return strings.Clone(s[:head]) + fmt.Sprintf(mark, tail-head) + strings.Clone(s[tail:])
}

// cutBack returns the last boundary of a character at or before i.
func cutBack(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// cutAhead returns the first boundary of a character at or after i.
func cutAhead(s string, i int) int {
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return i
}
