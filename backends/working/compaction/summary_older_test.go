// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
)

// What no model has summarised is named in a summary, and counted where there is
// too much of it to name, however often the summary is made anew.
func TestASummaryCountsWhatItCannotName(t *testing.T) {
	for lang, older := range map[compaction.Language]string{
		compaction.LanguageEnglish: "- %d older stretches, which", compaction.LanguageChinese: "- 另有 %d 段更早的内容",
	} {
		t.Run(string(lang), func(t *testing.T) {
			m := testkit.New(harbour.calls(t))
			c, err := compaction.New(&compaction.Config{
				Budget: exactly(1600), Language: lang, Steps: []compaction.Step{compaction.SummarizeRounds{Model: m, SummaryWindow: 20_000}},
			})
			require.NoError(t, err)
			v, context := newVault(), []*schema.Message(nil)
			next := 0
			for turn, want := range []int{0, 8, 18} { // 10 stretches a time, 12 are named
				in := append(context, stretches(next, 10)...)
				next += 10
				in = append(in, chat(10, 400)[1:]...)
				r, err := c.Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
				require.NoError(t, err)
				context = r.Messages
				text := r.Messages[0].Content
				require.Equal(t, min(next, 12), strings.Count(text, "- [a stretch of "), "turn %d: %s", turn, text)
				require.Contains(t, text, fmt.Sprintf("[a stretch of %d]", next-1), "the newest")
				if want == 0 {
					require.NotContains(t, text, older[:strings.Index(older, "%d")]+"1")
					continue
				}
				require.Contains(t, text, fmt.Sprintf(older, want))
			}
		})
	}
}

// stretches are notices of what was not loaded.
func stretches(from, n int) []*schema.Message {
	var out []*schema.Message
	for i := range n {
		m := schema.UserMessage(fmt.Sprintf("[a stretch of %d]", from+i))
		einox.MarkSummary(m)
		out = append(out, einox.MarkRef(m, fmt.Sprintf("a-%020d", from+i)))
	}
	return out
}
