// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package speech_test

import (
	"strings"
	"testing"

	"github.com/einomem/einomem/internal/speech"
)

// The last two files are by authors whom the fit has not seen.
func TestWhoAsksToForgetIsUnderstood(t *testing.T) {
	for file, most := range map[string]struct{ missed, taken int }{"forget_build.txt": {0, 0}, "forget_others.txt": {42, 2}, "forget_counted.txt": {1, 4}} {
		missed, taken := judged(t, file, speech.AsksToForget)
		t.Logf("%s: %d missed, %d taken for a wish", file, len(missed), len(taken))
		if len(missed) > most.missed || len(taken) > most.taken {
			t.Errorf("%s: missed:\n%staken for a wish:\n%s", file, strings.Join(missed, ""), strings.Join(taken, ""))
		}
	}
}

func FuzzAsksToForget(f *testing.F) {
	for _, text := range []string{"Forget my address.", "忘掉我说的关于工作的事。", "I always forget my keys.", "> forget that\n\nWhat is this?"} {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) { speech.AsksToForget(text) })
}
