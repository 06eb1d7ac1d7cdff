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

// Nothing is cut within a sentence, where a passage has room for it.
func TestAPassageIsCutAtSentences(t *testing.T) {
	long := "The old lighthouse keeper, who had lived on the island for more than forty years, told the visitors about storms, ships, whales, lost sailors and the long winters, " +
		"until the last ferry left. "
	chinese := "在岛上住了四十多年的老灯塔守护人给游客们讲了风暴、船只、鲸鱼、失踪的水手和漫长的冬天，一直讲到最后一班渡轮离开码头为止，大家都听得入了迷，谁也不愿意先走。"
	for _, c := range []struct{ query, sentence, around string }{
		{"piano", "The piano cost 3.5 thousand euros, e.g. twice what Dr. Smith had said.", long},
		{"jasmine", "She said: \"Jasmine tea, please!\" and sat down.", long},
		{"dentist", "Call the dentist, i.e. Mrs. Jones, at 4.30 p.m. on Friday?", long},
		{"kayak", "The kayak was red (it was new.) and fast!", long},
		{"钢琴", "那架钢琴花了3.5万元！", chinese},
		{"茉莉花茶", "她说：“来一杯茉莉花茶。”", chinese},
		{"牙医", "星期五下午4.30去看牙医；", chinese},
		{"皮划艇", "皮划艇是红色的（新买的。）", chinese},
	} {
		got := passageOf(t, c.query, strings.Repeat(c.around, 4)+c.sentence+" "+strings.Repeat(c.around, 4))
		bare := strings.TrimSuffix(strings.TrimPrefix(got, "… "), " …")
		require.Contains(t, bare, c.sentence)
		for _, sentence := range []string{c.sentence, c.around} {
			bare = strings.ReplaceAll(bare, strings.TrimSpace(sentence), "")
		}
		require.Empty(t, strings.TrimSpace(bare), got)
		require.LessOrEqual(t, utf8.RuneCountInString(got), passageUpto+4)
	}
}

func TestASentenceThatIsTooLongIsCutAtACommaOrAWord(t *testing.T) {
	got := passageOf(t, "needle", strings.Repeat("hay and straw and chaff, ", 60)+"a needle, "+strings.Repeat("hay and straw and chaff, ", 60))
	require.Contains(t, got, "a needle,")
	require.Regexp(t, "^… .*chaff, …$|^… .*, …$", got)
}

func TestAPassageOfCodeKeepsItsLines(t *testing.T) {
	line := "x.total += prices[i] * 1.5; // all of them. Then the next\n"
	code := "Use this:\n```go\n" + strings.Repeat(line, 9) + "    needle(x)\n" + strings.Repeat(line, 9) + "```\nThat is it. " + strings.Repeat("It runs well. ", 20)
	got := passageOf(t, "needle", code)
	bare := strings.TrimSuffix(strings.TrimPrefix(got, "… "), " …")
	require.Regexp(t, "(?s)^```\n.*\n```$", bare)
	require.Contains(t, bare, "\n    needle(x)\n")
	for within := range strings.SplitSeq(strings.Trim(bare, "`\n"), "\n") {
		require.Contains(t, code, "\n"+within+"\n", "whole lines")
	}
	got = passageOf(t, "runs well", code)
	require.NotContains(t, got, "```\n```")
	require.Equal(t, 0, strings.Count(got, "```")%2, got)
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
