// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTranscriptComparesCompaction(t *testing.T) {
	var r transcriptReport
	out := bench(t, 0, "transcript", "-json", "-turns", "25", "-window", "8000")
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, 25, r.Turns)
	require.Equal(t, 6000, r.Limit, "less what is kept free")
	none := r.Rows[0]
	require.Equal(t, "none", none.Compaction)
	require.Positive(t, none.Over, "the window is too small for all of it")
	require.Zero(t, none.Saved)
	require.Greater(t, none.Last, none.Mean)
	summaries := 0
	for _, row := range r.Rows[1:] {
		require.Zero(t, row.Over, row.Compaction)
		require.Equal(t, none.Calls, row.Calls, row.Compaction)
		require.Less(t, row.Sent, none.Sent/2, row.Compaction)
		require.Equal(t, none.Sent-row.Sent-row.SummaryIn-row.SummaryOut, row.Saved, row.Compaction)
		require.LessOrEqual(t, row.Mean, row.P95, row.Compaction)
		summaries += row.Summaries
		if row.Summaries == 0 {
			require.Zero(t, row.SummaryIn+row.SummaryOut)
		} else {
			require.Greater(t, row.SummaryIn, row.SummaryOut)
		}
	}
	require.Len(t, r.Rows, 5)
	require.Positive(t, summaries, "some ask a model")
}

func TestTranscriptTable(t *testing.T) {
	out := bench(t, 0, "transcript", "-turns", "3")
	table := out[strings.Index(out, "|"):]
	for line := range strings.Lines(table) {
		require.Equal(t, 13, strings.Count(line, "|"), line)
	}
	require.Contains(t, out, "| none |")
}

func TestTranscriptWrongCommandLines(t *testing.T) {
	for _, wrong := range [][]string{{"-turns", "0"}, {"-window", "0"}, {"-nope"}} {
		bench(t, 2, append([]string{"transcript"}, wrong...)...)
	}
}

func TestExcerpts(t *testing.T) {
	words := strings.Repeat("one two three four five six seven eight nine ten ", 50)
	for _, tokens := range []int{1, 150, 600} {
		got := excerpts(words, tokens)
		require.Len(t, got, max(1, tokens/24))
		for _, e := range got {
			require.Contains(t, words, e)
		}
	}
	require.Equal(t, []string{"short"}, excerpts("short", 20))
}
