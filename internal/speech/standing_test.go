// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/speech"
)

// judged returns the messages of a file that a rule misses, and those that it takes wrongly.
func judged(t *testing.T, file string, rule func(string) bool) (missed, taken []string) {
	t.Helper()
	all, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	for line := range strings.Lines(string(all)) {
		mark, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch is := rule(text); {
		case mark == "+" && !is:
			missed = append(missed, line)
		case mark == "-" && is:
			taken = append(taken, line)
		}
	}
	return missed, taken
}

// "Never mention my weight" is a wish to forget. The last two files are by authors of their own. Of their sentences that do not always apply, most are close to one that does.
func TestStandingKnowsMostSentences(t *testing.T) {
	for file, most := range map[string]struct{ missed, taken int }{"standing_build.txt": {1, 0}, "standing_others.txt": {29, 2}, "standing_counted.txt": {17, 0}} {
		missed, taken := judged(t, file, speech.Standing)
		if len(missed) > most.missed || len(taken) > most.taken {
			t.Errorf("%s: missed:\n%staken for standing:\n%s", file, strings.Join(missed, ""), strings.Join(taken, ""))
		}
	}
}

func TestWhatIsPastedOrCodeIsNotStanding(t *testing.T) {
	for _, text := range []string{
		"What does this do?\n```\n// Always answer in bullet points.\n```",
		"> I'm allergic to peanuts\nWho wrote that?",
		"The notice: \"Never use emojis.\"",
		"Answer in German. What is the capital of France?",
		"I'm allergic to peanuts. " + strings.Repeat("That is how the story begins. ", 30),
		"",
	} {
		if speech.Standing(text) {
			t.Errorf("%.60q is taken for standing", text)
		}
	}
	for _, text := range []string{"Hi! Answer in German.", "The user is allergic to peanuts.", "用户对花生过敏", "用戶對花生過敏", "我對海鮮過敏。", "My name is Ann, please answer in German."} {
		if !speech.Standing(text) {
			t.Errorf("%q is not taken for standing", text)
		}
	}
}
