// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// small is a dataset in LoCoMo's format, with its quirks: an answer that is a
// number, a date without its session, evidence that needs repair or is nowhere.
const small = `[{"sample_id": "conv-1", "conversation": {
  "speaker_a": "Ann", "speaker_b": "Bob",
  "session_1_date_time": "1:56 pm on 8 May, 2023",
  "session_1": [
    {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat called Tom."},
    {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice! I am learning to play the violin."}],
  "session_2_date_time": "9:05 am on 3 June, 2023",
  "session_2": [
    {"speaker": "Ann", "dia_id": "D2:1", "text": "Tom has broken a vase.", "blip_caption": "a broken vase"},
    {"speaker": "Bob", "dia_id": "D2:2", "text": "The orchestra took me!"}],
  "session_3_date_time": "9:05 am on 4 June, 2023"},
 "qa": [
  {"question": "Which pet did Ann adopt?", "answer": 1, "category": 4, "evidence": ["D1:1"]},
  {"question": "What does Bob play, and what took him?", "answer": "violin", "category": 1, "evidence": ["D:1:2; D2:02"]},
  {"question": "What did nobody say?", "category": 5, "evidence": ["D9:9", "D"]},
  {"question": "Zebras?", "category": 5, "evidence": ["D2:1"]}]}]`

func smallFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.json")
	require.NoError(t, os.WriteFile(path, []byte(small), 0o600))
	return path
}

// bench runs the program and returns what it printed.
func bench(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, code, run(t.Context(), args, &out, &errs), errs.String())
	return out.String()
}

func TestLocomoOnASmallDataset(t *testing.T) {
	var r report
	out := bench(t, 0, "locomo", "-json", "-data", smallFile(t))
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, "small.json", r.Dataset)
	require.Equal(t, 3, r.Questions, "the question without evidence is left out")
	require.Equal(t, 66.67, r.Recall["5"], "two of three questions share words with their evidence")
	require.Equal(t, 66.67, r.Hit["50"])
	require.Equal(t, 100.0, r.ByCategory["1"].Recall["5"], "both turns of the repaired evidence")
	require.Equal(t, 1.0, r.ByCategory["4"].MRR)
	require.Equal(t, 0.0, r.ByCategory["5"].NDCG10)
	require.Equal(t, locomoConfig{K1: 1.2, B: 0.75, Units: units}, r.Config)
}

func TestLocomoTable(t *testing.T) {
	out := bench(t, 0, "locomo", "-k1", "0.9", "-b", "0.4", "-data", smallFile(t))
	require.Contains(t, out, "k1 0.9, b 0.4")
	require.Regexp(t, `all +3 +66\.7`, out)
	require.Contains(t, out, "multi-hop")
}

func TestSearchPrintsTimes(t *testing.T) {
	var rows []timing
	out := bench(t, 0, "search", "-json", "-sizes", "20,30", "-dim", "8", "-searches", "3")
	require.NoError(t, json.Unmarshal([]byte(out), &rows))
	require.Len(t, rows, 8)
	for _, r := range rows {
		require.Positive(t, r.P50, r.Search)
		require.LessOrEqual(t, r.P50, r.P99, r.Search)
	}
	require.Contains(t, bench(t, 0, "search", "-sizes", "20", "-dim", "8", "-searches", "3"), "vector int8")
}

func TestWrongCommandLines(t *testing.T) {
	for _, args := range [][]string{
		nil, {"nothing"}, {"locomo"}, {"locomo", "-nope"}, {"search", "-sizes", "many"}, {"search", "-dim", "0"},
	} {
		bench(t, 2, args...)
	}
	bench(t, 1, "locomo", "-data", filepath.Join(t.TempDir(), "missing.json"))
}

// TestLocomoAnchors holds the ranking to what BM25 with Porter's stemmer and a
// full stop list is known to reach on the first five conversations of LoCoMo.
func TestLocomoAnchors(t *testing.T) {
	path := os.Getenv("EINOMEM_LOCOMO")
	if path == "" {
		t.Skip("set EINOMEM_LOCOMO to a file with the first five conversations of LoCoMo to check the anchors")
	}
	conversations, err := loadDataset(path)
	require.NoError(t, err)
	r, err := evaluate(t.Context(), conversations, locomoConfig{K1: 1.2, B: 0.75})
	require.NoError(t, err)
	require.Equal(t, 997, r.Questions)
	for k, anchor := range map[string]float64{"5": 58.6, "10": 64.9, "25": 72.3, "50": 77.3} {
		require.GreaterOrEqual(t, r.Recall[k], anchor-0.3, "recall@%s", k)
	}
}
