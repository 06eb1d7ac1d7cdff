// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/working/budget"
)

func TestDEF20PiecesAreTheWholeText(t *testing.T) {
	count := budget.Estimate.Text
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"Hello there. ", "天气很好。", "word ", "x", "🙂", "\n", "多", "a?b!c;d "}), 0, 400).Draw(t, "text"), "")
		room := rapid.IntRange(0, 100).Draw(t, "room")
		pieces := divide(text, room, count)
		if strings.Join(pieces, "") != text {
			t.Fatalf("%q is not the whole of %q", pieces, text)
		}
		for _, p := range pieces {
			if !utf8.ValidString(p) || count(p) > max(room, least) && utf8.RuneCountInString(p) > 1 {
				t.Fatalf("%d tokens of %d: %q", count(p), room, p)
			}
		}
	})
}

func TestDEF20TextsAreDividedBetweenSentences(t *testing.T) {
	words := func(s string) int { return 10 * len(strings.Fields(s)) }
	got := divide("One two three four. Five six seven eight. Nine ten eleven twelve.", 50, words)
	assert.Equal(t, []string{"One two three four.", " Five six seven eight.", " Nine ten eleven twelve."}, got)
}

func TestFormsOfNumbersInChinese(t *testing.T) {
	for s, want := range map[string]int{"十": 10, "十二": 12, "二十": 20, "二十三": 23, "两": 2, "7": 7, "12": 12, "十十": 0, "二三": 0, "": 0} {
		assert.Equal(t, want, zhCount(s), s)
	}
}
