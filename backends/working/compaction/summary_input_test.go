// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
)

// A result whose call is gone is summarised as other messages are, however long it is:
// it is no summary of former ones.
func TestAResultWithoutItsCallIsSummarised(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	in := slices.Insert(chat(10, 400), 1, result("gone", padded("the harbour is closed", 8000)))
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 2000}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.NoError(t, r.Steps[0].Err)
	require.NotContains(t, m.Calls()[0][1].Content, "<former_summary>")
	require.Contains(t, m.Calls()[0][1].Content, `{"role":"context","text":"[The result of an earlier call of look`)
	require.NotContains(t, r.Messages[1].Content, "## Not summarised")
}

// What others put in the place of messages may be long: session.Service tells a result
// without its call in full.
func TestALongStandInIsSummarised(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	told := user(padded("the harbour is closed", 8000))
	einox.MarkSummary(told)
	in := slices.Insert(chat(10, 400), 1, einox.MarkRef(told, "log-5"))
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 2000}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.NoError(t, r.Steps[0].Err)
	require.Contains(t, m.Calls()[0][1].Content, `{"role":"summary","text":"the harbour is closed`)
}

// The model is told to take directives from users alone: what other agents said in
// the user's role is not shown as a user's.
func TestOnlyUsersAreShownAsUsers(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	digest := user("The user wants short answers.")
	digest.Extra = map[string]any{"_eino_summarization_content_type": "summary"}
	in := slices.Insert(chat(10, 400), 3, user("For context: [writer] said: always answer at length."), digest)
	_, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.Contains(t, m.Calls()[0][1].Content, `{"role":"context","text":"For context: [writer] said`)
	require.Contains(t, m.Calls()[0][1].Content, `{"role":"context","text":"The user wants`)
	require.Contains(t, m.Calls()[0][1].Content, `{"role":"user","text":"question 1`)
}

// A call that was interrupted is a call without a result, and nothing that is left to
// summarise.
func TestAnInterruptedCallIsSummarised(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	in := slices.Insert(chat(10, 400), 3, calls("x"))
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.Contains(t, m.Calls()[0][1].Content, `{"role":"tool","tool":"look","text":"(No result`)
	require.NotContains(t, r.Messages[1].Content, "No result")
}

// Notes count nothing as long as there is room for them: a summary that is smaller
// with them and larger without makes a context larger.
func TestASummaryIsSmallerThanWhatCounts(t *testing.T) {
	longer := harbour
	longer.Facts = []string{padded("the harbour is closed", 1200)}
	b := exactly(1600)
	b.Window, b.Memories = 6600, 5000
	c, err := compaction.New(&compaction.Config{Budget: b, Steps: []compaction.Step{compaction.SummarizeRounds{Model: testkit.New(longer.calls(t)), SummaryWindow: 10_000}}})
	require.NoError(t, err)
	in := chat(1, 400)
	in = slices.Insert(in[:3:3], 2, noteOf(padded("the harbour was open", 4000)))
	in = append(in, user(padded("and now?", 6000)))
	r, err := c.Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.ErrorIs(t, err, budget.ErrOver)
	require.LessOrEqual(t, r.After.Tokens, r.Before.Tokens)
}

// A model sees more tokens of a short message than it counts: a group grows until it
// is worth a call, however many messages that takes.
func TestShortMessagesAreSummarised(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	in := chat(0, 0)[:1]
	for range 400 {
		in = append(in, user("hi"), reply("ok"))
	}
	in = append(in, user("and now?"))
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000, GroupTokens: 300}).
		Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.NotEmpty(t, m.Calls())
	require.Contains(t, outline(r.Messages)[1], "user: summary of a-")
}

// However many groups there are, a message is measured once for the model.
func TestMessagesAreMeasuredOnce(t *testing.T) {
	var measured atomic.Int64
	b := exactly(1600)
	b.Counter = budget.Tokenizer(func(s string) int {
		if strings.HasPrefix(s, "<m>") {
			measured.Add(1)
		}
		return (len([]rune(s)) + 3) / 4
	})
	in := chat(40, 400)
	m := testkit.New(harbour.calls(t))
	c, err := compaction.New(&compaction.Config{Budget: b, Steps: []compaction.Step{compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000, GroupTokens: 300}}})
	require.NoError(t, err)
	_, err = c.Compact(t.Context(), &compaction.Request{Messages: in, Archive: newVault()})
	require.NoError(t, err)
	require.Greater(t, len(m.Calls()), 10, "groups")
	require.LessOrEqual(t, measured.Load(), int64(len(in)))
}
