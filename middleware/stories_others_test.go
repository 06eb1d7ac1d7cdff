// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware/stories"
)

// The stories in testdata/others are by three authors who had seen neither these rules nor the other
// stories. Around each stand some forty messages about other things. The least shares are what was
// seen, a little lower. When the rules were changed, valid.txt was read, and held.txt was counted.
// new.txt was written after them; what it taught is that the newest come first in a whole memory.
func TestStoriesOfOthers(t *testing.T) {
	if !testkit.Long() {
		t.Skip("EINOMEM_LONG is not set")
	}
	for _, arm := range []struct {
		name    string
		noModel bool
		least   float64
	}{{"with a model", false, leastOthersWithModel}, {"without a model", true, leastOthersWithoutModel}} {
		for _, file := range []string{"valid", "held", "new"} {
			t.Run(arm.name+", "+file, func(t *testing.T) {
				all, err := stories.Parse(strings.NewReader(amongOthers(t, "testdata/others/"+file)))
				require.NoError(t, err)
				right := map[string]int{}
				for _, s := range all {
					t.Run(s.Name, func(t *testing.T) {
						if len(wrongNotes(t, toldToSQLite, s, arm.noModel)) == 0 {
							right["all"]++
							right[s.Name[:1]]++
						} else {
							t.Log("wrong")
						}
					})
				}
				t.Logf("%d of %d stories: %v", right["all"], len(all), right)
				assert.GreaterOrEqual(t, float64(right["all"]), arm.least*float64(len(all)))
			})
		}
	}
}

const (
	leastOthersWithModel    = 0.92
	leastOthersWithoutModel = 0.78
)

// amongOthers returns the stories of a file, each behind six days of other messages. Their lines
// are "message|fact|about", or a message that states nothing.
func amongOthers(t *testing.T, file string) string {
	text, err := os.ReadFile(file + ".txt")
	require.NoError(t, err)
	others := map[string][]string{}
	for _, language := range []string{"en", "zh"} {
		lines, err := os.ReadFile(file + "." + language)
		require.NoError(t, err)
		others[language] = strings.Split(strings.TrimSpace(string(lines)), "\n")
	}
	draw := rand.New(rand.NewPCG(1, 2))
	head, rest, _ := strings.Cut(string(text), "\n## ")
	out := []string{head}
	for story := range strings.SplitSeq(rest, "\n## ") {
		name, body, _ := strings.Cut(story, "\n")
		out = append(out, "\n## "+name)
		if at, behind, ok := strings.Cut(strings.TrimPrefix(body, "clock: "), "\n"); ok && strings.HasPrefix(body, "clock: ") {
			day, clock, _ := strings.Cut(at[len("Mon "):], " ")
			begins, err := time.Parse(time.DateOnly, day)
			require.NoError(t, err, name)
			out, body = append(out, "clock: "+begins.AddDate(0, 0, -6).Format("Mon 2006-01-02 ")+clock), behind
		}
		pool := slices.Clone(others[strings.Fields(name)[1]])
		for line := range strings.Lines(body) { // no other message has the words that are looked for
			if mark, words, _ := strings.Cut(strings.TrimSpace(line), ": "); slices.Contains([]string{"says", "first", "never", "stale"}, mark) {
				for word := range strings.SplitSeq(words, " | ") {
					pool = slices.DeleteFunc(pool, func(line string) bool { return strings.Contains(line, word) })
				}
			}
		}
		draw.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		for i, line := range pool[:min(42, len(pool))] {
			said, fact, _ := strings.Cut(line, "|")
			out = append(out, "user: "+said)
			if fact, about, ok := strings.Cut(fact, "|"); ok {
				out = append(out, fmt.Sprintf("  + %s [about: %s]", fact, about))
			}
			if i%7 == 6 {
				out = append(out, "-- 1 day")
			}
		}
		out = append(out, body)
	}
	return strings.Join(out, "\n")
}
