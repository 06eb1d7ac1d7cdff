// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
)

// passageOf returns the passage of a text that somebody said.
func passageOf(t tester, query, text string) string {
	t.Helper()
	hits := []backends.Hit{{Memory: backends.Memory{Kind: backends.KindEpisode, Text: text}}}
	newRanker(t, newStore(1)).Passages(query, hits)
	return hits[0].Passage
}

func TestAPassageHasWhatTheQueryAsksFor(t *testing.T) {
	filler := strings.Repeat("Many people like to travel in summer. The weather is nice then. ", 12)
	chinese := strings.Repeat("夏天很多人喜欢旅行。那时候天气很好。", 20)
	for _, c := range []struct{ name, query, text, want string }{
		{"in the middle", "Which tea does Ann drink?", filler + "Ann drinks jasmine tea. " + filler, "Ann drinks jasmine tea."},
		{"at the end", "Which tea does Ann drink?", filler + "Ann drinks jasmine tea.", "Ann drinks jasmine tea."},
		{"lines", "dentist", strings.Repeat("- a point of a list\n", 40) + "- call the dentist at 4.30 pm\n" + filler, "- call the dentist at 4.30 pm"},
		{"the rarer word", "travel to Oslo", filler + "Oslo was cold. " + filler, "Oslo was cold."},
		{"Chinese", "她对什么过敏？", chinese + "她对花生过敏。" + chinese, "她对花生过敏。"},
		{"a sentence without an end", "needle", strings.Repeat("hay ", 300) + "needle " + strings.Repeat("hay ", 300), "needle"},
		{"a word without an end", "needle", strings.Repeat("x", 3000) + " needle", "needle"},
		{"nothing of it", "piano", "The beginning. " + filler, "The beginning."},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := passageOf(t, c.query, c.text)
			require.Contains(t, got, c.want)
			require.LessOrEqual(t, utf8.RuneCountInString(got), passageUpto+4)
		})
	}
}

func TestPassagesAreOfLongTextsThatSomebodySaid(t *testing.T) {
	require.Empty(t, passageOf(t, "tea", strings.Repeat("a", passageUpto)))
	hits := []backends.Hit{{Memory: backends.Memory{Kind: backends.KindTask, Text: strings.Repeat("One step. ", 80)}}}
	newRanker(t, newStore(1)).Passages("step", hits)
	require.Empty(t, hits[0].Passage)
}

// Whatever the text, a passage is a piece of it of the promised length.
func TestAPassageIsAPieceOfTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"tea ", "Ann. ", "花生", "。", "\n", "x", "long-winded ", "\xff", "3.14", "! "}), 0, 600).Draw(t, "text")
		text := strings.Join(parts, "")
		passage := passageOf(t, "tea 花生", text)
		if passage == "" {
			require.LessOrEqual(t, utf8.RuneCountInString(text), passageUpto)
			return
		}
		bare := strings.TrimSuffix(strings.TrimPrefix(passage, "… "), " …")
		require.Contains(t, text, bare)
		require.LessOrEqual(t, utf8.RuneCountInString(bare), passageUpto)
	})
}
