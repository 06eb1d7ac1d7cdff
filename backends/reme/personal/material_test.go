// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
)

func TestLettersTellTextsOfOtherWordsApart(t *testing.T) {
	pieces := []string{"Tea", "tea", " ", "  ", "\n", ".", "Ｔea", "K", "K", "é", "é", "茶", "。", "9", "-"}
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 4), 2, 2).Draw(t, "texts")
		a, b := strings.Join(texts[0], ""), strings.Join(texts[1], "")
		same := wordsOf(&backends.Memory{Text: a}) == wordsOf(&backends.Memory{Text: b})
		if n, m := letters(a), letters(b); same && n >= 0 && m >= 0 && n != m {
			t.Fatalf("%q and %q are the same words", a, b)
		}
	})
}

// bare returns flows that can only look at material.
func bare(t require.TestingT, limits flow.Limits) *Flows {
	models, err := flow.New(&flow.Config{Name: "test", Limits: limits})
	require.NoError(t, err)
	return &Flows{config: Config{Models: models, Location: time.UTC, Prompts: &Prompts{}}}
}

func TestDEF20EveryPassageIsAskedAboutOnceAndWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := bare(t, flow.Limits{Prompt: rapid.IntRange(1, 2000).Draw(t, "room")})
		var in intake
		for i := range rapid.IntRange(0, 150).Draw(t, "messages") {
			text := strings.Repeat(rapid.SampledFrom([]string{"word ", "天气很好。", "A sentence ends here. "}).Draw(t, "text"), rapid.IntRange(1, 60).Draw(t, "length"))
			u := &utterance{role: "user", text: text, time: time.Unix(int64(i), 0)}
			if rapid.Bool().Draw(t, "asked") {
				p := &passage{utterance: u, n: len(in.passages), text: text, part: 1, parts: 1}
				in.passages = append(in.passages, p)
				in.lines = append(in.lines, &line{utterance: u, text: text, passage: p})
				continue
			}
			in.lines = append(in.lines, &line{utterance: u, text: text})
		}
		var asked []int
		for _, stretch := range f.questions(in.lines, flow.English, func(*passage) bool { return true }) {
			numbered, used := numbers(stretch), 0
			for _, l := range stretch {
				used += f.size(l)
				if l.N != nil {
					require.Equal(t, in.passages[*l.N].text, l.Text)
				}
			}
			require.NotEmpty(t, numbered)
			require.LessOrEqual(t, len(numbered), maxNumbered)
			if room := max(f.config.Models.Limits().Prompt, 4*least); len(numbered) > 1 {
				require.LessOrEqual(t, used, room)
			}
			asked = append(asked, numbered...)
		}
		require.Len(t, asked, len(in.passages))
		require.True(t, slices.IsSorted(asked))
		require.Equal(t, asked, slices.Compact(slices.Clone(asked)))
	})
}

func TestDEF20WhatIsClippedSaysSo(t *testing.T) {
	f := bare(t, flow.Limits{})
	text := strings.Repeat("abc ", 500)
	got := f.clip(text, 100, "characters left out")
	before, rest, ok := strings.Cut(got, " […")
	require.True(t, ok)
	number, after, ok := strings.Cut(rest, " characters left out…] ")
	require.True(t, ok)
	assert.Equal(t, fmt.Sprint(len(text)-len(before)-len(after)), number)
	assert.True(t, strings.HasPrefix(text, before) && strings.HasSuffix(text, after))
	assert.Less(t, len(got), 600)
	assert.Equal(t, "short", f.clip("short", 100, "x"))
}

func TestMaterialIsShownWithTimesAndNames(t *testing.T) {
	f := bare(t, flow.Limits{})
	u := &utterance{role: "user", speaker: "Ann", text: "yesterday", time: time.Date(2024, 3, 13, 1, 2, 3, 0, time.UTC)}
	p := &passage{utterance: u, n: 7, text: "yesterday", part: 2, parts: 3}
	got := section("conversation", f.questions([]*line{{utterance: u, text: p.text, passage: p}}, flow.English, func(*passage) bool { return true })[0])
	assert.Equal(t, `<conversation>
{"n":7,"part":"2/3","time":"2024-03-13 01:02 Wed","role":"user","name":"Ann","dates":["yesterday = 2024-03-12"],"text":"yesterday"}
</conversation>
`, got)
}
