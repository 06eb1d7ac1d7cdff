// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/testredis"
)

// program runs the program and returns what it printed.
func program(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, code, run(t.Context(), args, &out, &errs), errs.String())
	return out.String()
}

func TestInvalidCommandLines(t *testing.T) {
	for _, line := range []string{"", "nothing", "locomo -nope", "locomo x"} {
		program(t, 2, strings.Fields(line)...)
	}
	program(t, 0, "locomo", "-help")
	gone := miniredis.RunT(t)
	url := "redis://" + gone.Addr()
	gone.Close()
	for _, line := range []string{
		"locomo", "locomo -data missing.json", "notes -data missing.json", "reme -data missing",
		"redis -redis http://localhost", "redis -redis " + url, "reme -redis " + url,
	} {
		program(t, 1, strings.Fields(line)...)
	}
}

func TestLocomo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small.json")
	require.NoError(t, os.WriteFile(path, []byte(`[{"sample_id": "conv-1", "conversation": {
  "session_1": [
    {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat called Tom."},
    {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice! I am learning to play the violin."}],
  "session_2_date_time": "9:05 am on 3 June, 2023",
  "session_2": [
    {"speaker": "Ann", "dia_id": "D2:1", "text": "Tom has broken a vase."},
    {"speaker": "Bob", "dia_id": "D2:2", "text": "The orchestra took me!"}]},
 "qa": [
  {"question": "Which pet did Ann adopt?", "evidence": ["D1:1"]},
  {"question": "What does Bob play, and what took him?", "evidence": ["D1:2", "D2:2"]},
  {"question": "Zebras?", "evidence": ["D2:1"]}]}]`), 0o600))
	printed := program(t, 0, "locomo", "-data", path)
	require.Regexp(t, `\n\| all signals \| 3 \| [0-9.]+ / 66\.7 / .* \| 0\.667 \|\n`, printed, "two of three questions share words with their evidence")
	require.Contains(t, printed, "| session alone | 3 |")
	require.Contains(t, printed, "| all, conv-1 | 3 |")
}

func TestNotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small.json")
	require.NoError(t, os.WriteFile(path, []byte(`[{"sample_id": "conv-1", "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [
    {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat called Tom from the shelter."},
    {"speaker": "Bob", "dia_id": "D1:2", "text": "I am learning to play the violin."}]},
 "qa": [
  {"question": "Which cat did Ann adopt from the shelter?", "evidence": ["D1:1"], "category": 4},
  {"question": "What is Bob learning to play?", "evidence": ["D1:1"], "category": 1},
  {"question": "Which cat did Bob adopt from the shelter?", "evidence": ["D1:1"], "category": 5}]},
 {"sample_id": "conv-2", "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [
    {"speaker": "Eve", "dia_id": "D1:1", "text": "We sailed around Iceland last summer, and I found it hard to learn."}]},
 "qa": [
  {"question": "Where did Eve sail last summer?", "evidence": ["D1:1"], "category": 2}]}]`), 0o600))
	printed := program(t, 0, "notes", "-data", path)
	// Of three answerable questions one names the turn beside the one that answers it, of three
	// foreign ones one shares a word with the conversation.
	require.Regexp(t, `\n\| -1 \| 0\.0 \| 66\.7 \| 100\.0 \| 0\.0 \| 100\.0 \| \d+ \|\n`, printed)
	require.Regexp(t, `\n\| 0\.25 \| 0\.0 \| 100\.0 \| 100\.0 \| 0\.0 \| 66\.7 \| \d+ \|\n`, printed)
	require.Equal(t, 2+len(thresholds), strings.Count(printed, "\n|"), "a row for each threshold")
	require.NoError(t, os.WriteFile(path, []byte(`[{"sample_id": "conv-1"}]`), 0o600))
	program(t, 1, "notes", "-data", path)
	many := slices.Repeat([]trial.Question{{Category: 1}, {Category: trial.Adversarial}}, 100)
	require.Len(t, spread(many, true), perConversation)
	require.Len(t, spread(many[:6], false), 3)
}

// The ranking on the first five conversations of LoCoMo. BM25 with Porter's stemmer and a full
// stop list, without signals, is known to reach 58.6, 64.9, 72.3 and 77.3 %.
func TestLocomoAnchors(t *testing.T) {
	path := os.Getenv("EINOMEM_LOCOMO")
	if path == "" {
		t.Skip("set EINOMEM_LOCOMO to a file with the first five conversations of LoCoMo to check the anchors")
	}
	require.Contains(t, program(t, 0, "locomo", "-data", path), "| all signals | 997 | 44.2 / 72.4 / 80.7 / 86.4 / 89.9 | 0.615 |\n")
}

func TestScores(t *testing.T) {
	var s scores
	require.Equal(t, []any{0, "0.0 / 0.0 / 0.0 / 0.0 / 0.0", "0.000"}, s.cells(), "no division by zero")
	s.add([]string{"x", "a", "y", "b"}, []string{"a", "b", "c"}) // two of three, the first at place 2
	s.add(nil, []string{"a"})
	s.add(append(make([]string, 5), "a"), []string{"a"}) // at place 6
	require.Equal(t, []any{3, "0.0 / 22.2 / 55.6 / 55.6 / 55.6", "0.222"}, s.cells(), "(1/2 + 0 + 1/6) / 3")
}

func TestReme(t *testing.T) {
	dir := t.TempDir()
	write := func(content string) {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "paper"), 0o700))
		for _, name := range remePools {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "paper", name+".jsonl"), []byte(content), 0o600))
		}
	}
	write(`{"memory_id": "a", "when_to_use": "When rating songs", "content": "First list all songs.", "metadata": {"task_query": "Rate all my songs"}}
{"memory_id": "b", "when_to_use": "When tokens are refused", "content": "Log in again.", "metadata": {"task_query": "Rate all my songs"}}
{"memory_id": "c", "when_to_use": "When booking", "content": "Compare flights.", "metadata": {"task_query": "Find the cheapest flight to Lisbon"}}
`)
	printed := program(t, 0, "reme", "-data", dir, "-redis", "redis://"+miniredis.RunT(t).Addr())
	for _, pool := range remePools {
		for _, where := range []string{"sqlite", "redis"} {
			require.Contains(t, printed, "| "+pool+" | 3 | when_to_use | "+where+" | 2 | 25.0 / 25.0 /", "half of one task's memories")
			require.Contains(t, printed, "| "+pool+" | 3 | with content | "+where+" | 2 | 75.0 / 75.0 /", "and all of the other's")
		}
	}
	for _, content := range []string{"{", `{"memory_id": "a"}`} {
		write(content)
		program(t, 1, "reme", "-data", dir)
	}
}

// The ranking reaches what it is known to reach on the two pools of ReMe's paper, in each
// store: above BM25 with a stop list and a stemmer, which has a recall@5 of 28.6 and 65.6 %
// with the content.
func TestRemeAnchors(t *testing.T) {
	folder := os.Getenv("EINOMEM_REME")
	if folder == "" {
		t.Skip("set EINOMEM_REME to a folder with ReMe's libraries, paper/ among them, to check the anchors")
	}
	printed := program(t, 0, "reme", "-data", folder, "-redis", "redis://"+miniredis.RunT(t).Addr())
	for _, where := range []string{"sqlite", "redis"} {
		for _, row := range []string{
			"| appworld_qwen3_8b | 207 | when_to_use | " + where + " | 120 | 9.9 / 25.0 / 35.1 / 47.1 / 52.6 | 0.267 |",
			"| appworld_qwen3_8b | 207 | with content | " + where + " | 120 | 12.7 / 31.9 / 38.9 / 51.1 / 60.9 | 0.342 |",
			"| bfcl_qwen3_8b | 96 | when_to_use | " + where + " | 96 | 33.3 / 61.5 / 71.9 / 78.1 / 80.2 | 0.459 |",
			"| bfcl_qwen3_8b | 96 | with content | " + where + " | 96 | 37.5 / 67.7 / 79.2 / 89.6 / 90.6 | 0.515 |",
		} {
			require.Contains(t, printed, row)
		}
	}
}

func TestRedis(t *testing.T) {
	srv := testredis.Need(t).Start(t)
	m := &trial.Comparison{Sizes: [][2]int{{600, 1}, {20, 5}}, Clients: []int{1, 4}, Dim: 96, Queries: 20, Writes: 40}
	all, err := systems(t.Context(), srv.URL())
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, m.Print(t.Context(), &out, all))
	cells := map[string][]string{} // of the rows of searches
	for line := range strings.Lines(out.String()) {
		if row := strings.Split(line, " | "); len(row) == 8 {
			cells[row[0]+" "+row[1]+" "+row[2]] = row
		} else if len(row) == 4 {
			require.NotContains(t, row[3], "| 0 (")
		}
	}
	number := func(cell string) int {
		n, err := strconv.Atoi(cell)
		require.NoError(t, err)
		return n
	}
	require.Len(t, cells, 1+2*3*2, "a head, places, contents, sizes")
	for _, where := range []string{"| sqlite", "| redis"} {
		lexical, float32s, int8s := cells[where+" 600 × 1 lexical"], cells[where+" 600 × 1 float32"], cells[where+" 600 × 1 int8"]
		require.Equal(t, "1.000 |\n", float32s[7], "all vectors are compared, none is rounded")
		require.Greater(t, int8s[7], "0.9")
		require.Empty(t, strings.Trim(lexical[7], " |\n"), "nothing to compare with")
		require.Greater(t, number(float32s[6]), 4*m.Dim, "bytes in the process")
		require.Greater(t, number(float32s[5]), number(int8s[5]), "bytes")
		require.Greater(t, number(int8s[5]), number(lexical[5]), "bytes")
	}
	left, err := srv.Client(t).DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, left, "nothing is left on the server")
}
