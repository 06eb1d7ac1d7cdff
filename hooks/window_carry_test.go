// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/transcript"
)

// digested puts one message in the place of all but the system prompt and the last
// exchange, as middlewares of others do that know nothing of marks.
func digested(messages []*schema.Message, marked bool) []*schema.Message {
	m := schema.UserMessage(fmt.Sprintf("Summary of %d messages.", len(messages)))
	if marked {
		m.Extra = map[string]any{"_eino_summarization_content_type": "summary"}
	}
	last := len(messages) - 2
	return append([]*schema.Message{messages[0], m}, messages[last:]...)
}

// Somebody else's summary takes the place of the user's message, marks and all:
// what follows joins the turn all the same, each message once, and the summary is
// nobody's words.
func TestATurnWhoseBeginningSomebodyElseSummarised(t *testing.T) {
	const pages, words = 9, 60
	for name, marked := range map[string]bool{"marked by Eino": true, "not marked": false} {
		for _, steps := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", small ", steps), func(t *testing.T) {
				ctx := context.Background()
				d := newDesk(t, setting{tokens: 2500, window: func(c *window.Config) {
					if steps {
						c.Steps = []compaction.Step{compaction.OffloadTools{Over: 50}, compaction.ArchiveCurrent{}}
						c.Trigger = 0.2
					}
				}})
				require.NoError(t, d.Finish(ctx, append(say("before"), assistant("yes"))))
				want := []string{"user: before", "assistant: yes", "user: read"}
				now := append([]*schema.Message{schema.SystemMessage("You read.")}, say("read")...)
				for n := range pages {
					if n%3 == 2 {
						now = digested(now, marked)
					}
					var err error
					now, err = d.Prepare(ctx, now)
					require.NoError(t, err)
					require.NoError(t, transcript.Check(now), outline(now))
					_, said := readPages(n, n+1, words)
					want = append(want, said...)
					now = append(now, exchange(n, words)...)
				}
				require.NoError(t, d.Finish(ctx, append(now, assistant("done"))))
				require.Equal(t, append(want, "assistant: done"), d.logged())
				all, done := d.turns()
				require.Equal(t, []int{2, 2}, []int{all, done})
				d.fine()
			})
		}
	}
}
