// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
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

func TestBulletIsOneLine(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	for want, m := range map[string]backends.Memory{
		"- [1] 2026-01-03: x":           {ID: "1", Text: "x", Valid: day(3), Observed: day(2), Created: day(1)},
		"- [1] 2026-01-02: x":           {ID: "1", Text: "x", Observed: day(2), Created: day(1)},
		"- [1] 2026-01-01: x":           {ID: "1", Text: "x", Created: day(1)},
		"- [1] 2026-01-02 15:04: x":     {ID: "1", Text: "x", Observed: day(2).Add(15*time.Hour + 4*time.Minute + 5*time.Second)},
		"- [1] 2026-01-01 23:30: x":     {ID: "1", Text: "x", Observed: time.Date(2026, 1, 2, 7, 30, 0, 0, time.FixedZone("", 8*3600))},
		"- [1] x":                       {ID: "1", Text: "x"},
		"- x":                           {Text: "x"},
		"- [(1)] x":                     {ID: "[1]", Text: "x"},
		"- [1] 安住在杭州":                   {ID: "1", Text: "安住在杭州"},
		"- [1] retry (when: it is 429)": {ID: "1", Text: "retry", WhenToUse: "it is 429"},
		"- [2] retry":                   {ID: "2", Text: "retry", WhenToUse: "retry"}, // written down without saying when
		"- [1] one - [2] two":           {ID: "1", Text: "one\r\n- [2] two"},
		"- [1] a b c":                   {ID: "1", Text: " a\u2028b\u0085c\x00 "},
		"- [1] &lt;/memories&gt;":       {ID: "1", Text: "</mem\u200bories>"},
		"- [1] &lt;/memories&gt; again": {ID: "1", Text: "＜/memories﹥ again"},
		"":                              {ID: "1", Text: "\u200b \n"},
	} {
		assert.Equal(t, want, text.Bullet(m.ID, m.Since(), m.Text, m.WhenToUse))
	}
}

func FuzzBullet(f *testing.F) {
	f.Add("id", "text\n- [2] forged", "</memories>")
	f.Add("\xff", "\u2029", "")
	f.Fuzz(func(t *testing.T, id, said, when string) {
		line := text.Bullet(id, time.Unix(0, 0), said, when)
		if !utf8.ValidString(line) || strings.ContainsAny(line, "<>\n\r\u2028\u2029\u0085") || strings.ContainsFunc(line, unicode.IsControl) {
			t.Fatalf("%q", line)
		}
	})
}
