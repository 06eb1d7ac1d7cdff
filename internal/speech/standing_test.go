// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech_test

import (
	"os"
	"strings"
	"testing"

	"github.com/einomem/einomem/internal/speech"
)

// judged returns how many sentences of a file there are, and those that Standing judges wrongly.
func judged(t *testing.T, file string) (n int, wrong []string) {
	t.Helper()
	all, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(all)) {
		mark, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if mark != "+" && mark != "-" {
			continue
		}
		n++
		if speech.Standing(text) != (mark == "+") {
			wrong = append(wrong, line)
		}
	}
	return n, wrong
}

func TestStandingKnowsMostSentences(t *testing.T) {
	for file, most := range map[string]int{"standing_build.txt": 6, "standing_unseen.txt": 3} {
		n, wrong := judged(t, file)
		for _, line := range wrong {
			if strings.HasPrefix(line, "-") {
				t.Errorf("%s: what does not always apply is taken for it: %s", file, line)
			}
		}
		if n < 40 || len(wrong) > most {
			t.Errorf("%s: %d of %d sentences are judged wrong:\n%s", file, len(wrong), n, strings.Join(wrong, ""))
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
	for _, text := range []string{"Hi! Answer in German.", "The user is allergic to peanuts.", "用户对花生过敏", "My name is Ann, please answer in German."} {
		if !speech.Standing(text) {
			t.Errorf("%q is not taken for standing", text)
		}
	}
}
