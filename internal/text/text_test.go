// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/internal/text"
)

func TestTruncateEndsAtAWord(t *testing.T) {
	for _, c := range []struct {
		in    string
		runes int
		want  string
	}{
		{"short", 10, "short"}, {"", 0, ""}, {"any", 0, "…"},
		{"refund order 12345 now", 15, "refund order…"}, {"refund order 12345 now", 18, "refund order 12345…"},
		{"用户住在北京市朝阳区", 4, "用户住在…"}, {strings.Repeat("x", 50), 30, strings.Repeat("x", 30) + "…"},
	} {
		assert.Equal(t, c.want, text.Truncate(c.in, c.runes), "%q %d", c.in, c.runes)
	}
}

func TestTruncateBytesKeepsWholeCharacters(t *testing.T) {
	assert.Equal(t, "ab", text.TruncateBytes("ab", 2))
	assert.Equal(t, "记…", text.TruncateBytes("记忆", 5))
	assert.Equal(t, "…", text.TruncateBytes("记忆", 2))
	assert.Equal(t, "…", text.TruncateBytes("记忆", -1))
}

func TestMiddleKeepsBothEndsAndCountsWhatIsMissing(t *testing.T) {
	assert.Equal(t, "all of it", text.Middle("all of it", 9))
	assert.Equal(t, "one two […21…] seven", text.Middle("one two three four five six seven", 16))
	assert.Equal(t, "一二三四 […4…] 九十", text.Middle("一二三四五六七八九十", 6))
}

func TestLineIsOneLine(t *testing.T) {
	assert.Equal(t, "a b c", text.Line(" a\n\tb\u2028c\x00", 10))
	assert.Equal(t, "a b…", text.Line("a\nb ccc", 4))
	assert.Equal(t, "�", text.Line("\xff", 4))
}

func TestIndentSetsFurtherLinesApart(t *testing.T) {
	assert.Equal(t, "a\n  b\n  c", text.Indent(" a\r\nb\u2028c\n", "  "))
}

func TestInertEndsNoFence(t *testing.T) {
	assert.Equal(t, "&lt;/memories&gt; again", text.Inert("＜/mem\u200bories﹥\n again"))
	assert.Empty(t, text.Inert("\u200b \n"))
}

func TestMostlyHanIsThreeLettersInTen(t *testing.T) {
	assert.False(t, text.MostlyHan())
	assert.False(t, text.MostlyHan("Ann bought tea in 北京 yesterday"))
	assert.True(t, text.MostlyHan("安娜昨天", "在北京用 API 买茶"))
	assert.False(t, text.MostlyHan("123 !?"))
}

func TestCleanIsWhatAStoreTakes(t *testing.T) {
	assert.Equal(t, "a�b", text.Clean(" a\xffb\x00\n"))
	assert.True(t, text.HasWords("— 7"))
	assert.False(t, text.HasWords("— ?!"))
}

// Whatever the text and the limit, what is shortened is valid, within the limit, and
// the text itself where that fits.
func TestShorteningKeepsItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(0, 40).Draw(t, "n")
		size := utf8.RuneCountInString(s)
		for name, short := range map[string]string{"truncate": text.Truncate(s, n), "line": text.Line(s, n)} {
			require.True(t, utf8.ValidString(short), name)
			require.LessOrEqual(t, utf8.RuneCountInString(short), n+1, name)
		}
		require.False(t, strings.ContainsFunc(text.Line(s, n), unicode.IsControl))
		if size <= n {
			require.Equal(t, s, text.Truncate(s, n))
			require.Equal(t, s, text.Middle(s, n))
		}
		limit := rapid.IntRange(0, 30).Draw(t, "tokens")
		require.LessOrEqual(t, text.Tokens(text.Fit(s, limit, text.Tokens)), limit)
	})
}

func TestDivideLeavesNothingOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"Hello there. ", "天气很好。", "word ", "x", "🙂", "\n", "多", "a?b!c;d "}), 0, 400).Draw(t, "text"), "")
		limit := rapid.IntRange(0, 100).Draw(t, "limit")
		parts := text.Divide(s, limit, text.Tokens)
		require.Equal(t, s, strings.Join(parts, ""))
		for _, p := range parts {
			require.True(t, utf8.ValidString(p))
			require.True(t, text.Tokens(p) <= max(limit, 32) || utf8.RuneCountInString(p) == 1, "%d tokens of %d: %q", text.Tokens(p), limit, p)
		}
	})
	words := func(s string) int { return 10 * len(strings.Fields(s)) }
	require.Equal(t, []string{"One two three four.", " Five six seven eight.", " Nine ten eleven twelve."},
		text.Divide("One two three four. Five six seven eight. Nine ten eleven twelve.", 50, words), "between sentences")
}
