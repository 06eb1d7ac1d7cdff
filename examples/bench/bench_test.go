// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/testredis"
	"github.com/einomem/einomem/internal/transcript"
)

// program runs the program and returns what it printed.
func program(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, code, run(t.Context(), args, &out, &errs), errs.String())
	return out.String()
}

// write returns the path of a new file.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.json")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestInvalidCommandLines(t *testing.T) {
	for _, line := range []string{"", "nothing", "locomo -nope", "transcript x"} {
		program(t, 2, strings.Fields(line)...)
	}
	gone := miniredis.RunT(t)
	url := "redis://" + gone.Addr()
	gone.Close()
	for _, line := range []string{
		"locomo", "locomo -data missing.json", "reme -data missing",
		"redis -redis http://localhost", "redis -redis " + url, "sessions -redis " + url, "reme -redis " + url,
	} {
		program(t, 1, strings.Fields(line)...)
	}
}

// conversations is in LoCoMo's format, with its quirks: an answer that is a number, a date
// without its session, evidence that needs repair or does not exist.
const conversations = `[{"sample_id": "conv-1", "conversation": {
  "speaker_a": "Ann", "speaker_b": "Bob",
  "session_1_date_time": "1:56 pm on 8 May, 2023",
  "session_1": [
    {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat called Tom."},
    {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice! I am learning to play the violin."}],
  "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "It rains."}],
  "session_2_date_time": "9:05 am on 3 June, 2023",
  "session_2": [
    {"speaker": "Ann", "dia_id": "D2:1", "text": "Tom has broken a vase.", "blip_caption": "a broken vase"},
    {"speaker": "Bob", "dia_id": "D2:2", "text": "The orchestra took me!"}],
  "session_3_date_time": "9:05 am on 4 June, 2023"},
 "qa": [
  {"question": "Which pet did Ann adopt?", "answer": 1, "category": 4, "evidence": ["D1:1", "D1:1"]},
  {"question": "What does Bob play, and what took him?", "answer": "violin", "category": 1, "evidence": ["D:1:2; D2:02"]},
  {"question": "What was not said?", "category": 5, "evidence": ["D9:9", "D"]},
  {"question": "Zebras?", "category": 5, "evidence": ["D2:1"]}]}]`

func TestLocomo(t *testing.T) {
	path := write(t, conversations)
	all, err := loadConversations(path)
	require.NoError(t, err)
	var ids []string
	for _, turn := range all[0].turns {
		ids = append(ids, turn.id)
	}
	require.Equal(t, []string{"D1:1", "D1:2", "D2:1", "D2:2", "D10:1"}, ids, "in the order of the sessions' numbers")
	require.Equal(t, "2023-06-03 09:05", all[0].turns[2].time.Format("2006-01-02 15:04"))
	require.True(t, all[0].turns[4].time.IsZero(), "a session without a date")
	require.Equal(t, []string{"D1:2", "D2:2"}, all[0].questions[1].evidence)

	total, err := locomo(t.Context(), path)
	require.NoError(t, err)
	assert.Equal(t, 3, total.queries, "the question without evidence is left out")
	assert.InDelta(t, 66.67, total.at(5), 0.01, "two of three questions share words with their evidence, one with both turns of the repaired evidence")
	assert.Regexp(t, `\n\| 3 \| [0-9.]+ / 66\.7 / .* \| 0\.667 \|\n$`, program(t, 0, "locomo", "-data", path))
	for _, content := range []string{
		`[{`, `{"qa": []}`, `[{"conversation": {"session_1": "none"}}]`,
		`[{"conversation": {"session_1": [], "session_1_date_time": "yesterday"}}]`, `[{"conversation": {"session_1": [], "session_1_date_time": 7}}]`,
	} {
		program(t, 1, "locomo", "-data", write(t, content))
	}
}

// The ranking reaches what BM25 with Porter's stemmer and a full stop list is known to
// reach on the first five conversations of LoCoMo.
func TestLocomoAnchors(t *testing.T) {
	path := os.Getenv("EINOMEM_LOCOMO")
	if path == "" {
		t.Skip("set EINOMEM_LOCOMO to a file with the first five conversations of LoCoMo to check the anchors")
	}
	total, err := locomo(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, 997, total.queries)
	for k, known := range map[int]float64{5: 58.6, 10: 64.9, 25: 72.3, 50: 77.3} {
		require.GreaterOrEqual(t, total.at(k), known-0.3, "recall@%d", k)
	}
}

func TestScores(t *testing.T) {
	var s scores
	require.Zero(t, s.at(5), "no division by zero")
	s.add([]string{"x", "a", "y", "b"}, []string{"a", "b", "c"}) // two of three, the first at place 2
	s.add(nil, []string{"a"})
	s.add(append(make([]string, 5), "a"), []string{"a"}) // at place 6
	require.Equal(t, "3 | 0.0 / 22.2 / 55.6 / 55.6 / 55.6 | 0.222 |\n", s.String(), "(1/2 + 0 + 1/6) / 3")
}

func TestRedis(t *testing.T) {
	srv := testredis.Need(t).Start(t)
	stores, err := places(t.Context(), srv.URL())
	require.NoError(t, err)
	m := &redisTimes{dim: 96, queries: 20, clients: []int{1, 4}, writes: 40, sqlite: 100}
	for _, size := range [][2]int{{60, 1}, {600, 1}, {20, 5}} {
		rows, err := m.searches(t.Context(), stores, size[0], size[1])
		require.NoError(t, err)
		beside := size[0]*size[1] <= m.sqlite
		require.Len(t, rows, len(contents)*map[bool]int{true: 2, false: 1}[beside])
		byName := map[string]*trial.Search{}
		for _, s := range rows {
			require.Positive(t, min(s.Cold.P50, s.Warm.P50), s.How)
			require.LessOrEqual(t, s.Warm.P50, s.Warm.P99)
			require.Positive(t, s.Stored, "%s %s", s.Where, s.How)
			if strings.HasPrefix(s.Where, "redis") {
				require.Equal(t, beside, s.Times > 0)
				byName[s.How] = s
			}
		}
		require.Less(t, byName["int8"].Stored, byName["float32"].Stored)
		require.Nil(t, byName["lexical"].Recall10)
		if size[1] == 1 {
			require.InDelta(t, 1, *byName["float32"].Recall10, 0, "all vectors are compared, none is rounded")
			require.Greater(t, *byName["int8"].Recall10, 0.9)
		}
	}
	for _, p := range stores {
		writes, err := m.measureWrites(t.Context(), p)
		require.NoError(t, err)
		require.Len(t, writes, 2*3, "two sorts, and one client, four, and four on one user")
		for _, w := range writes {
			require.Positive(t, w.PerSec)
		}
	}
	left, err := srv.Client(t).DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, left, "nothing is left on the server")
}

// What goes over the wire does not depend on how long a session is.
func TestSessions(t *testing.T) {
	srv := testredis.Need(t).Start(t)
	stores, err := places(t.Context(), srv.URL())
	require.NoError(t, err)
	m := &sessions{n: 3, turns: []int{5, 25}, window: 4, rounds: 2}
	for i, p := range stores {
		got, err := m.measure(t.Context(), p)
		require.NoError(t, err)
		require.Len(t, got, 2*2, "two lengths, with one client and with three")
		for _, row := range got {
			require.Positive(t, min(row.save.P50, row.load.P50))
			if i == 0 {
				require.Zero(t, row.load.received, "SQLite has no wire")
				continue
			}
			require.Greater(t, row.save.sent, int64(1000), "a turn of 300 tokens")
			require.Greater(t, row.load.received, int64(4000), "four such turns")
			require.InEpsilon(t, got[0].save.sent, row.save.sent, 0.1)
			require.InEpsilon(t, got[0].load.received, row.load.received, 0.1)
		}
	}
	left, err := srv.Client(t).DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, left, "nothing is left on the server")
}

func TestCompactionFitsWithoutAModel(t *testing.T) {
	m := &compactionTimes{outputs: 3, tokens: 3000, limit: 2500, runs: 2}
	chat := m.withOutputs(transcript.Chat(locomoTurns, locomoTokens))
	require.Len(t, chat, 2+588+3*2, "with the system prompt and the last question")
	row, err := m.compact(t.Context(), chat)
	require.NoError(t, err)
	require.Greater(t, row.before, 3*2500)
	require.LessOrEqual(t, row.after, 2500)
	require.Positive(t, row.replaced)
	m.limit = 5
	_, err = m.compact(t.Context(), chat)
	require.ErrorIs(t, err, compaction.ErrOver)
}

func TestTranscriptComparesCompaction(t *testing.T) {
	got, err := replayAll(t.Context(), 25, compaction.Budget{Window: 8000})
	require.NoError(t, err)
	require.Len(t, got, 5)
	none, summaries := got[0], 0
	require.Equal(t, "none", none.compaction)
	require.Positive(t, none.over, "the window is too small for all of it")
	for _, row := range got[1:] {
		require.Zero(t, row.over, row.compaction)
		require.Less(t, row.sent+row.spent, none.sent/2, row.compaction)
		require.LessOrEqual(t, row.mean, row.p95, row.compaction)
		require.Equal(t, row.summaries > 0, row.spent > 0)
		summaries += row.summaries
	}
	require.Positive(t, summaries, "some ask a model")
	_, err = replayAll(t.Context(), 1, compaction.Budget{})
	require.Error(t, err)
	require.Equal(t, []string{"short"}, snippets("short", 20))
	require.Len(t, snippets(strings.Repeat("one two three ", 200), 600), 25)
}

// smallPool has two tasks, one with two memories.
const smallPool = `{"memory_id": "a", "when_to_use": "When rating songs", "content": "Look up the list of songs first.", "metadata": {"task_query": "Rate all my songs"}}
{"memory_id": "b", "when_to_use": "When tokens are refused", "content": "Log in again.", "metadata": {"task_query": "Rate all my songs"}}
{"memory_id": "c", "when_to_use": "When booking a flight", "content": "Compare the prices of flights.", "metadata": {"task_query": "Book the cheapest flight to Lisbon"}}
`

// poolFolder returns a folder in which each pool, and the library, is content.
func poolFolder(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append([]string{remeLibrary}, remeFiles...) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

func TestReme(t *testing.T) {
	stores, err := places(t.Context(), "redis://"+miniredis.RunT(t).Addr())
	require.NoError(t, err)
	path := filepath.Join(poolFolder(t, smallPool), remeFiles[1])
	got, err := remeScores(t.Context(), path, stores)
	require.NoError(t, err)
	require.Len(t, got, 2*2, "fields, rankings")
	ours := got[len(got)-1]
	require.Equal(t, []any{"bfcl_qwen3_8b", whenAndContent, oursName, 3, 2}, []any{ours.pool, ours.fields, ours.ranking, ours.memories, ours.queries})
	require.InDelta(t, 75, ours.at(1), 0, "half of one task's memories, all of the other's")
	for _, p := range stores {
		l, err := p.load(t.Context(), madeUpLibrary(500))
		require.NoError(t, err)
		require.Equal(t, 500, l.memories)
		require.Positive(t, min(l.took.Seconds(), l.peak))
	}
	for _, folder := range []string{t.TempDir(), poolFolder(t, "{"), poolFolder(t, `{"memory_id": "a"}`)} {
		program(t, 1, "reme", "-data", folder)
	}
}

// The ranking reaches what it is known to reach on the two pools of ReMe's paper, above
// BM25 with a stop list and a stemmer, which reaches 28.6 and 65.6 with the content; and
// all stores rank alike.
func TestRemeAnchors(t *testing.T) {
	folder := os.Getenv("EINOMEM_REME")
	if folder == "" {
		t.Skip("set EINOMEM_REME to a folder with ReMe's libraries, paper/ among them, to check the anchors")
	}
	stores, err := places(t.Context(), "redis://"+miniredis.RunT(t).Addr())
	require.NoError(t, err)
	known := map[string][4]float64{ // recall@1 / 5 / 10 / 25 by pool and fields
		"appworld_qwen3_8b when_to_use":           {9.9, 25.0, 35.1, 47.1},
		"appworld_qwen3_8b when_to_use + content": {12.7, 31.9, 38.9, 51.1},
		"bfcl_qwen3_8b when_to_use":               {33.3, 61.5, 71.9, 78.1},
		"bfcl_qwen3_8b when_to_use + content":     {37.5, 67.7, 79.2, 89.6},
	}
	for i, published := range []float64{28.6, 65.6} {
		got, err := remeScores(t.Context(), filepath.Join(folder, remeFiles[i]), stores)
		require.NoError(t, err)
		require.InDelta(t, published, got[2].at(5), 0.05, "%s with the content", got[2].ranking)
		require.Greater(t, got[3].at(5), got[2].at(5))
		for _, r := range []remeRow{got[1], got[3]} {
			for k, want := range known[r.pool+" "+r.fields] {
				require.GreaterOrEqual(t, r.at(depths[k]), want-0.05, "%s %s", r.pool, r.fields)
			}
		}
	}
}
