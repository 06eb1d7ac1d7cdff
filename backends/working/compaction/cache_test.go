// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/testkit"
)

// A context that nobody keeps compacted is summarised once.
func TestSameMessagesAreSummarisedOnce(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	v := newVault()
	c := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000, KeepRecent: 7})
	first, err := c.Compact(t.Context(), &compaction.Request{Messages: chat(10, 400), Archive: v})
	require.NoError(t, err)
	again, err := c.Compact(t.Context(), &compaction.Request{Messages: chat(10, 400), Archive: v})
	require.NoError(t, err)
	require.Len(t, m.Calls(), 1)
	require.Equal(t, first.Messages, again.Messages)
	require.Equal(t, first.Summary, again.Summary)
	require.Zero(t, again.Usage)
	require.Equal(t, []string{"log-1-14", "log-1-14"}, v.order, "what is replaced is archived all the same")

	in := chat(10, 400)
	in[3] = schema.UserMessage(padded("another question", 400))
	_, err = c.Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
	require.NoError(t, err)
	require.Len(t, m.Calls(), 2, "another past")
}

// What the model could not summarise, it is not asked for again; whether it was
// there to be asked is another matter.
func TestFailuresAreRemembered(t *testing.T) {
	for name, tc := range map[string]struct {
		reply testkit.Reply
		calls int
		err   error
	}{
		"not understood": {testkit.Text("no"), 2, backends.ErrModel},
		"unavailable":    {testkit.Fail(errRateLimit), 3, errRateLimit},
	} {
		t.Run(name, func(t *testing.T) {
			m := testkit.New(tc.reply)
			c := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000})
			for range 3 {
				r, _ := c.Compact(t.Context(), &compaction.Request{Messages: chat(10, 400), Archive: newVault()})
				require.ErrorIs(t, r.Steps[0].Err, tc.err)
			}
			require.Len(t, m.Calls(), tc.calls)
		})
	}
}

func TestCacheSize(t *testing.T) {
	for _, tc := range []struct{ size, calls int }{{0, 2}, {1, 4}, {2, 2}, {-1, 4}} {
		m := testkit.New(harbour.calls(t))
		c := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000, CacheSize: tc.size})
		for _, rounds := range []int{10, 12, 10, 12} {
			_, err := c.Compact(t.Context(), &compaction.Request{Messages: chat(rounds, 400), Archive: newVault()})
			require.NoError(t, err)
		}
		require.Len(t, m.Calls(), tc.calls, tc.size)
	}
}

// The one that was used last leaves last.
func TestCacheForgetsWhatWasUsedLeast(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	c := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000, CacheSize: 2})
	for i, rounds := range []int{10, 11, 10, 12, 10, 11} {
		_, err := c.Compact(t.Context(), &compaction.Request{Messages: chat(rounds, 400), Archive: newVault()})
		require.NoError(t, err)
		require.Len(t, m.Calls(), []int{1, 2, 2, 3, 3, 4}[i], i)
	}
}

// One compactor serves many sessions at once.
func TestConcurrentSummaries(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	c := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000, CacheSize: 4}, compaction.SummarizeCurrent{Model: m})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			r, err := c.Compact(t.Context(), &compaction.Request{Messages: chat(10+i%6, 400), Archive: newVault()})
			assert.NoError(t, err)
			assert.NotNil(t, r.Summary)
		})
	}
	wg.Wait()
}
