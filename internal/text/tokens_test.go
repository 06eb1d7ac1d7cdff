// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/internal/text"
)

// What tiktoken-go v0.1.8 counts by o200k_base and cl100k_base for the texts in
// testdata; "go run ./tokens" in examples/bench/peers prints it anew. least and
// most bound the estimate, in percent of o200k_base.
var counted = map[string]struct{ o200k, cl100k, least, most int }{
	"english":  {472, 484, 100, 105},
	"chinese":  {501, 783, 105, 115},
	"mixed":    {366, 448, 105, 115},
	"go":       {655, 660, 100, 112},
	"json":     {2813, 2814, 100, 108},
	"logs":     {2955, 2980, 100, 105},
	"table":    {1287, 1287, 100, 105},
	"numbers":  {1800, 1800, 100, 110},
	"base64":   {3225, 3385, 100, 110},
	"hex":      {2216, 2205, 110, 160},
	"japanese": {289, 421, 105, 115},
	"korean":   {228, 389, 110, 130},
	"russian":  {228, 416, 110, 130},
	"german":   {167, 219, 110, 135},
	"french":   {166, 201, 110, 130},
	"spanish":  {150, 180, 105, 120},
	"emoji":    {161, 209, 105, 120},
}

func TestTheEstimateIsCalibrated(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.Len(t, files, len(counted))
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txt")
		sample := read(t, name)
		c, ok := counted[name]
		require.True(t, ok, name)
		n := text.Tokens(sample)
		assert.GreaterOrEqual(t, 100*n, c.least*c.o200k, "%s: %d of %d", name, n, c.o200k)
		assert.LessOrEqual(t, 100*n, c.most*c.o200k, "%s: %d of %d", name, n, c.o200k)
		assert.GreaterOrEqual(t, 100*n, 68*c.cl100k, "%s by an old vocabulary: %d of %d", name, n, c.cl100k)
	}
}

func read(t testing.TB, name string) string {
	data, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	require.NoError(t, err)
	return string(data)
}

func TestEstimateText(t *testing.T) {
	for s, want := range map[string]int{
		"":                               0,
		" ":                              1,
		"a":                              1,
		"hello":                          1,
		"hello world":                    2,
		"internationalisation":           10, // long words are taken for what no vocabulary has
		"getUserName":                    4,
		"2026":                           3,
		"a 1 b":                          4,
		"x\ny":                           4,
		"f(x)":                           3,
		"记忆":                             2,
		"🎉":                              3,
		"\xff\xff\xff\xff":               7,
		"\xe8":                           1,
		strings.Repeat("记忆库", 10):        26,
		strings.Repeat("-", 75):          11,
		strings.Repeat(" ", 76):          11,
		strings.Repeat("\n", 10):         7,
		strings.Repeat("é", 10):          14,
		strings.Repeat("ж", 10):          5,
		strings.Repeat("word ", 100):     100,
		strings.Repeat("word", 100):      339, // as is what has no spaces
		strings.Repeat("ABCDEFGH", 1000): 7459,
	} {
		assert.Equal(t, want, text.Tokens(s), "%.20q", s)
	}
}

// texts draws texts of all sorts, longer than a block.
func texts() *rapid.Generator[string] {
	pieces := rapid.OneOf(
		rapid.StringMatching(`[a-z]{1,20}`), rapid.StringMatching(`[A-Z][a-z]{0,9}([A-Z][a-z]{1,9}){0,3}`), rapid.StringMatching(`[0-9a-f]{1,70}`),
		rapid.StringMatching(`[ \t\n\r]{1,5}`), rapid.StringMatching(`[-=_.,:;"'(){}<>/]{1,6}`), rapid.StringMatching(`[A-Za-z0-9+/]{1,140}`),
		rapid.SampledFrom([]string{" ", " ", "\n", "记忆库", "，", "é", "für", "что", "기억", "メモリ", "🎉", "👩‍💻", "ก", "\xff", "\xe8\xae", "\x80", "\xc3", "\x00", "----------"}),
		rapid.String(),
	)
	return rapid.Map(rapid.SliceOfN(pieces, 0, 40), func(p []string) string { return strings.Join(p, "") })
}

func TestMoreTextNeverCountsLess(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := texts().Draw(rt, "a"), texts().Draw(rt, "b")
		whole, first, second := text.Tokens(a+b), text.Tokens(a), text.Tokens(b)
		require.GreaterOrEqual(rt, whole, first, "more text")
		require.Equal(rt, a == "", first == 0, "only the empty text is free")
		// A run that goes on across the cut costs more than two: up to 16 bytes of it.
		require.InDelta(rt, first+second, whole, 16)
	})
}

func FuzzEstimate(f *testing.F) {
	for _, s := range []string{"", "hello World 42\n\n", "\xff\xe8\xae🎉", strings.Repeat("x", 65), strings.Repeat("记", 22), "Für  {\"a\":1}"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, cut int) {
		n := text.Tokens(s)
		if cut >= 0 && cut <= len(s) && text.Tokens(s[:cut]) > n {
			t.Fatalf("%q counts more than the whole", s[:cut])
		}
	})
}

// Whatever a text is made of, it is not for nothing: the bytes that a token of the
// estimate has are bounded.
func TestNoRunIsCountedForNothing(t *testing.T) {
	for _, unit := range []string{"a", "A", "aA", "a1", "0", " ", "\n", "-", "-=", "é", "ж", "記", "ก", "🎉", "\x00", "\xff", "\x80", "а б ", "x "} {
		s := strings.Repeat(unit, 10_000)
		runes := utf8.RuneCountInString(s)
		assert.GreaterOrEqual(t, text.Tokens(s), runes/8, "%q", unit)
	}
}

func TestTheEstimateAllocatesNothing(t *testing.T) {
	sample := read(t, "mixed")
	assert.Zero(t, testing.AllocsPerRun(10, func() { text.Tokens(sample) }))
}

func BenchmarkEstimate(b *testing.B) {
	for _, name := range []string{"english", "go", "json", "logs", "hex", "mixed", "russian", "chinese"} {
		sample := read(b, name)
		sample = strings.Repeat(sample, 200_000/len(sample)+1)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(sample)))
			b.ReportAllocs()
			for b.Loop() {
				text.Tokens(sample)
			}
		})
	}
}
