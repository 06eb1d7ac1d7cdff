// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"unicode"
	"unicode/utf8"
)

// estimateText counts 4 bytes of text a token and 1.5 Chinese, Japanese or Korean
// characters a token. It rounds up, in twelfths of a token: a byte is 3 of them, a
// CJK character 8.
func estimateText(s string) int {
	twelfths := 0
	for _, r := range s {
		if isCJK(r) {
			twelfths += 8
		} else {
			twelfths += 3 * max(utf8.RuneLen(r), 1)
		}
	}
	return (twelfths + 11) / 12
}

func isCJK(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
