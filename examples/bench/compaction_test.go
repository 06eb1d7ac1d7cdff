// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/transcript"
)

func runCompaction(t *testing.T, more ...string) *compactionReport {
	t.Helper()
	var r compactionReport
	out := bench(t, 0, append([]string{"compaction", "-json", "-runs", "2", "-outputs", "3", "-tokens", "3000", "-limit", "2500"}, more...)...)
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	return &r
}

func TestCompactionFitsWithoutAModel(t *testing.T) {
	r := runCompaction(t)
	require.Len(t, r.Rows, 2*2, "two stores, with and without a log")
	for _, row := range r.Rows {
		require.Equal(t, 2+588+3*2, row.Messages, "with the system prompt and the last question")
		require.Greater(t, row.Before, 3*2500+588*20)
		require.LessOrEqual(t, row.After, 2500)
		require.Positive(t, row.Replaced)
		require.Zero(t, row.Calls)
		require.Positive(t, row.Took.P50)
	}
}

func TestCompactionOfADataset(t *testing.T) {
	r := runCompaction(t, "-data", smallFile(t), "-limit", "700")
	require.Len(t, r.Rows, 4)
	require.Equal(t, "conv-1", r.Rows[0].History)
	require.Contains(t, bench(t, 0, "compaction", "-runs", "1", "-outputs", "1", "-tokens", "100", "-data", smallFile(t)), "model calls")
}

// The results are spread, and providers take the list.
func TestOutputsAreSpread(t *testing.T) {
	cfg := &compactionConfig{outputs: 4, tokens: 50}
	messages := cfg.withOutputs("x", transcript.Chat(40, 20)).messages
	require.NoError(t, transcript.Check(messages))
	var at []int
	for i, m := range messages {
		if m.Role == schema.Tool {
			at = append(at, i)
		}
	}
	require.Len(t, at, 4)
	require.Less(t, at[0], 15)
	require.Greater(t, at[2], 25)
	require.Equal(t, len(messages)-1, at[3])
}

func TestCompactionThatCannotBeMeasured(t *testing.T) {
	bench(t, 2, "compaction", "-runs", "0")
	bench(t, 2, "compaction", "-nope")
	bench(t, 1, "compaction", "-data", filepath.Join(t.TempDir(), "missing.json"))
	bench(t, 1, "compaction", "-runs", "1", "-limit", "5")
}

// The conversations of LoCoMo with ten results of 50,000 tokens.
func TestCompactionOfLoCoMo(t *testing.T) {
	path := os.Getenv("EINOMEM_LOCOMO")
	if path == "" {
		t.Skip("set EINOMEM_LOCOMO to a file in LoCoMo's format")
	}
	var r compactionReport
	require.NoError(t, json.Unmarshal([]byte(bench(t, 0, "compaction", "-json", "-runs", "1", "-data", path)), &r))
	for _, row := range r.Rows {
		require.Greater(t, row.Before, 400_000)
		require.LessOrEqual(t, row.After, 20_000)
		require.Zero(t, row.Calls)
	}
}
