// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
)

var harbour = answer{
	Goal: "find out about the harbour", Directives: []string{"answer briefly"}, Facts: []string{"the harbour is closed", "decided to wait because of the storm"},
	Failed: []string{"calling the harbour master: no answer"}, Open: []string{"when does it open?"}, Next: []string{"call again", "look at page 9"},
}

func TestSummarizeRounds(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	v := newVault()
	in := chat(10, 400) // about 2000 tokens
	r, err := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000}).Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
	require.NoError(t, err)
	require.Len(t, m.Calls(), 1)
	require.Equal(t, []string{
		"system: You are a helpful agent.", "user: summary of log-1-14",
		"user: question 8 about the harbour", "assistant: answer 8 about the harbour",
		"user: question 9 about the harbour", "assistant: answer 9 about the harbour",
		"user: question 10 about the harbour", "assistant: answer 10 about the harbour", "user: and now?",
	}, outline(r.Messages))
	require.Equal(t, `[Memory: this summary takes the place of 14 earlier messages of the conversation. It is a record of what was said, not a new request.]
## Goal
- find out about the harbour
## User directives
- answer briefly
## Facts and decisions
- the harbour is closed
- decided to wait because of the storm
## What failed
- calling the harbour master: no answer
## Open items
- when does it open?
## Next steps
- call again
- look at page 9
[The messages themselves are in the archive log-1-14: read_working_memory and grep_working_memory find every word.]`, r.Messages[1].Content)
	require.Equal(t, in[1:15], v.held["log-1-14"])
	require.EqualValues(t, 14, einox.SeqOf(r.Messages[1]))
	require.Equal(t, &compaction.Summary{Text: r.Messages[1].Content, Upto: 14}, r.Summary)
	require.Equal(t, 1, r.Usage.ModelCalls)
	require.Equal(t, []compaction.Report{{Step: "summarize_rounds", Replaced: 14, Saved: r.Before.Tokens - r.After.Tokens}}, r.Steps)
}

func TestSummarizeCurrent(t *testing.T) {
	m := testkit.New(harbour.calls(t))
	v := newVault()
	in := work(10, 800)
	r, err := compactorOf(t, 1600, compaction.SummarizeCurrent{Model: m, SummaryWindow: 10_000}).Compact(t.Context(), &compaction.Request{Messages: in, Archive: v})
	require.NoError(t, err)
	require.Equal(t, []string{
		"system: You are a helpful agent.", "user: Find the harbour master.", "user: summary of a-bbbbbbbbbbbbbbbbbbbb",
		`assistant: search{"page":8}`, "tool: page 8 says the harbour is closed",
		`assistant: search{"page":9}`, "tool: page 9 says the harbour is closed",
		`assistant: search{"page":10}`, "tool: page 10 says the harbour is closed",
	}, outline(r.Messages))
	require.Contains(t, r.Messages[2].Content, "## Tools called\n- search({\"page\":1})\n- search({\"page\":2})\n")
	require.Equal(t, in[2:16], v.held["a-bbbbbbbbbbbbbbbbbbbb"])
	require.Nil(t, r.Summary, "the session's beginning is not what was summarised")
	require.Zero(t, einox.SeqOf(r.Messages[2]))
}

func TestSummaryIsFolded(t *testing.T) {
	first, second := harbour, harbour
	second.Facts = []string{"the harbour is open again"}
	m := testkit.New(first.calls(t), second.calls(t))
	v := newVault()
	c := compactorOf(t, 1600, compaction.SummarizeRounds{Model: m, SummaryWindow: 10_000})
	r, err := c.Compact(t.Context(), &compaction.Request{Messages: chat(10, 400), Archive: v})
	require.NoError(t, err)
	more := append(append([]*schema.Message{}, r.Messages[:8]...), chat(18, 400)[21:]...)
	r, err = c.Compact(t.Context(), &compaction.Request{Messages: more, Archive: v})
	require.NoError(t, err)
	require.Equal(t, 1, len(m.Calls())-1)
	asked := m.Calls()[1][1].Content
	require.Contains(t, asked, "<former_summary>\n{\"role\":\"summary\",\"text\":\"## Goal\\n- find out about the harbour")
	require.NotContains(t, asked, "log-1-14", "references are none of the model's business")
	require.Equal(t, "user: summary of log-1-30", outline(r.Messages)[1])
	require.Contains(t, r.Messages[1].Content, "30 earlier messages")
	require.Contains(t, r.Messages[1].Content, "open again")
	require.EqualValues(t, 30, r.Summary.Upto)
	require.Equal(t, "user: summary of log-1-14", outline(v.held["log-1-30"])[0], "what was folded in is in the archive too")
}
